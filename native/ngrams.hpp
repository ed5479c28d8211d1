#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "arena.hpp"
#include "captions.hpp"

namespace cidery {

/// All n-grams (1 … order) of grouped captions with exact ids and document frequencies.
///
/// An n-gram is its first n-1 words' id plus its last word, one 64-bit key: exact for any
/// vocabulary, no hash is trusted. Ids of one order are dense up to the imbalance of the partitions
/// that were filled in parallel; they and the counts do not depend on the number of threads.
class NgramIndex {
 public:
  static constexpr unsigned kMaxOrder = 8;

  /// Captions of image i are [image_offsets[i], image_offsets[i + 1]).
  NgramIndex(std::shared_ptr<const Captions> captions, std::vector<std::uint64_t> image_offsets,
             unsigned order, unsigned threads);
  NgramIndex(const NgramIndex&) = delete;  // large, and shared
  NgramIndex& operator=(const NgramIndex&) = delete;

  const Captions& captions() const { return *captions_; }
  std::size_t images() const { return image_offsets_.size() - 1; }
  std::uint64_t first_caption(std::size_t image) const { return image_offsets_[image]; }
  unsigned order() const { return order_; }

  /// Ids of caption's n-grams, by position.
  std::span<const std::uint32_t> ids(unsigned n, std::size_t caption) const;
  /// The id of `parent` (an n-1-gram) followed by `word`, or kNone; n >= 2.
  std::uint32_t find(unsigned n, std::uint32_t parent, std::uint32_t word) const;
  /// Brings to the processor's cache what `find` of the same arguments reads.
  void prefetch(unsigned n, std::uint32_t parent, std::uint32_t word) const;
  /// One past the largest id of order n.
  std::uint32_t id_bound(unsigned n) const {
    return static_cast<std::uint32_t>(levels_[n - 1].frequency.size());
  }
  /// In how many images each n-gram occurs, by id.
  std::span<const std::uint32_t> frequency(unsigned n) const { return levels_[n - 1].frequency; }

  struct Entry {
    std::uint32_t id, parent, word;
  };
  /// Every n-gram of order n >= 2 with its prefix and last word.
  std::vector<Entry> entries(unsigned n) const;

 private:
  struct Slot {
    std::uint64_t key;
    std::uint32_t id;
    std::uint32_t last_image;  // so that an image counts once
  };
  struct Partition {
    Slot* slots = nullptr;  // open addressing; the arena's
    std::size_t mask = 0;   // their number, a power of two, less 1
    std::vector<std::uint32_t>
        frequency;  // by id / partitions; moved into the level when all are filled

    void allocate(std::size_t size, Arena& arena);
  };
  struct Level {
    std::vector<std::uint32_t> ids;  // by word position
    std::vector<std::uint32_t> frequency;
    std::vector<Partition> partitions;
    std::unique_ptr<Arena> arena;
    unsigned partition_bits = 0;
  };
  struct Occurrence {
    std::uint64_t key;
    std::uint32_t position;
    std::uint32_t image;
  };

  /// One worker's occurrences by partition; the orders use the same memory one after another.
  using Batch = std::vector<Occurrence, ArenaAllocator<Occurrence>>;
  using Batches = std::vector<Batch>;

  void count_words();
  void fill_level(unsigned n, unsigned workers, std::vector<Batches>& batches);
  static void fill_partition(Partition& partition, unsigned number, unsigned bits, Arena& arena,
                             std::span<const Batch* const> batches,
                             std::vector<std::uint32_t>& ids);

  std::shared_ptr<const Captions> captions_;
  std::vector<std::uint64_t> image_offsets_;
  unsigned order_;
  std::vector<Level> levels_;
};

}  // namespace cidery
