#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "captions.hpp"
#include "compiler.hpp"

namespace cidery {

/// All n-grams (1 … order) of grouped captions with exact ids and document frequencies.
///
/// The n-grams are a trie: those of order n that begin with the same n-1 words lie side by side,
/// sorted by their last word. No hash is needed to build it and none is trusted. Ids of one order
/// are dense and do not depend on the number of threads.
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
  std::uint32_t find(unsigned n, std::uint32_t parent, std::uint32_t word) const {
    const Level& level = levels_[n - 1];
    const std::uint32_t begin = level.first_child[parent];
    const std::uint32_t end = level.first_child[parent + 1];
    if (begin == end) return kNone;
    // Without branches: which half it is cannot be foretold. The words before `place` are smaller.
    const std::uint32_t* place = &level.words[begin];
    for (std::uint32_t length = end - begin; length > 1;) {
      const std::uint32_t half = length / 2;
      place += half & (0u - static_cast<std::uint32_t>(place[half - 1] < word));
      length -= half;
    }
    return *place == word ? static_cast<std::uint32_t>(place - level.words.data()) : kNone;
  }
  /// Brings to the processor's cache where the n-grams that begin with `parent` are.
  void prefetch(unsigned n, std::uint32_t parent) const {
    prefetch_memory(&levels_[n - 1].first_child[parent]);
  }
  /// The same for those n-grams themselves, when that is there.
  void prefetch_children(unsigned n, std::uint32_t parent) const {
    const Level& level = levels_[n - 1];
    prefetch_memory(level.words.data() + level.first_child[parent]);
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
  /// Every n-gram of order n >= 2 with its prefix and last word, by id.
  std::vector<Entry> entries(unsigned n) const;

 private:
  struct Level {
    std::vector<std::uint32_t> ids;  // by word position
    std::vector<std::uint32_t> frequency;
    std::vector<std::uint32_t> words;        // the last one, by id
    std::vector<std::uint32_t> first_child;  // by id of order n-1, and one more: its n-grams' ids
  };
  class Builder;  // what is needed only while the levels are filled

  std::shared_ptr<const Captions> captions_;
  std::vector<std::uint64_t> image_offsets_;
  unsigned order_;
  std::vector<Level> levels_;
};

}  // namespace cidery
