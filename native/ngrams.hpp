#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "arena.hpp"
#include "captions.hpp"
#include "compiler.hpp"

namespace cidery {

/// All n-grams (1 … order) of grouped captions with exact ids and document frequencies.
///
/// The n-grams are a trie: one of order n >= 2 is the n-gram that it continues, and a word. N-grams
/// are shared out by their first two words among tables that fit into the processor's cache; a
/// table is filled by one thread, for all orders. Hashes say where to look, and none is trusted.
/// Ids of one order lie below a bound, which is the number of places where two words stand; not all
/// are used. They do not depend on the number of threads.
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
  /// The table of the n-grams that begin with two words.
  std::uint32_t table_of(std::uint32_t first, std::uint32_t second) const {
    return table_of(first, second, table_mask_);
  }
  /// Where in a table the n-gram that is `parent` (of order n-1) and a word is looked for; n >= 2.
  const std::uint32_t* slot(unsigned n, std::uint32_t table, std::uint32_t parent,
                            std::uint32_t word) const {
    const Table& within = levels_[n - 1].tables[table];
    return within.slots + within.place(join(parent, word));
  }
  /// Its id, or kNone.
  std::uint32_t find(unsigned n, std::uint32_t table, const std::uint32_t* slot,
                     std::uint32_t parent, std::uint32_t word) const {
    const Level& level = levels_[n - 1];
    const Table& within = level.tables[table];
    const std::uint64_t key = join(parent, word);
    for (auto at = static_cast<std::size_t>(slot - within.slots);; at = (at + 1) & within.mask) {
      if (within.slots[at] == 0) return kNone;
      const std::uint32_t id = first_ids_[table] + within.slots[at] - 1;
      if (level.keys[id] == key) return id;
    }
  }
  /// Brings to the processor's cache what the slot, which is there, leads to.
  void prefetch_entry(unsigned n, std::uint32_t table, const std::uint32_t* slot) const {
    if (*slot == 0) return;
    prefetch_memory(&levels_[n - 1].keys[first_ids_[table] + *slot - 1]);
    prefetch_memory(&levels_[n - 1].frequency[first_ids_[table] + *slot - 1]);
  }
  /// One past the largest id of order n.
  std::uint32_t id_bound(unsigned n) const {
    return static_cast<std::uint32_t>(levels_[n - 1].frequency.size());
  }
  /// In how many images each n-gram occurs, by id.
  std::span<const std::uint32_t> frequency(unsigned n) const { return levels_[n - 1].frequency; }

  struct Entry {
    std::uint32_t id, parent, word;
  };
  /// Every n-gram of order n >= 2 with its prefix and last word, in order of ids.
  std::vector<Entry> entries(unsigned n) const;

 private:
  /// The n-grams of one order that begin with some words.
  struct Table {
    std::uint32_t* slots = nullptr;  // 1 + an id less the first one of the table, or 0
    std::uint32_t used = 0;          // how many there are
    std::uint32_t mask = 0;          // one less than the slots, a power of two
    unsigned shift = 0;

    std::size_t place(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift; }
  };
  struct Level {
    std::span<std::uint32_t> ids;        // by word position
    std::span<std::uint32_t> frequency;  // by id
    std::span<std::uint64_t> keys;       // by id: the n-gram it continues, and its last word
    std::vector<Table> tables;
  };
  class Builder;  // what is needed only while the levels are filled

  static std::uint32_t table_of(std::uint32_t first, std::uint32_t second, std::uint32_t mask) {
    // Other bits than those that choose a slot.
    return static_cast<std::uint32_t>(join(first, second) * 0xD6E8FEB86659FD93u >> 32) & mask;
  }
  static std::uint64_t join(std::uint32_t parent, std::uint32_t word) {
    return std::uint64_t{parent} << 32 | word;
  }

  std::shared_ptr<const Captions> captions_;
  std::vector<std::uint64_t> image_offsets_;
  unsigned order_;
  std::uint32_t table_mask_ = 0;          // one less than the tables, a power of two
  std::vector<std::uint32_t> first_ids_;  // by table, and one more: the bound of all ids
  std::vector<std::uint32_t> word_frequency_;
  std::vector<Level> levels_;
  std::unique_ptr<Arena> arena_;  // what the levels lie in
};

}  // namespace cidery
