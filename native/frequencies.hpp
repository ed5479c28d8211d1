#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ngrams.hpp"
#include "vocabulary.hpp"

namespace cidery {

/// A read-only set of document frequencies: a trie in flat arrays, so that a mapped file serves as
/// it lies.
///
/// Order 1 is the vocabulary in byte order. An entry of order n >= 2 is a child of an entry of
/// order n-1: its last word, its count; the children of one parent lie together, sorted by word.
class FrequencyTrie {
 public:
  struct Level {
    std::span<const std::uint8_t>
        words;  ///< little-endian, word_width bytes each; empty for order 1
    std::span<const std::uint8_t> counts;  ///< 255 means: see `large`
    std::span<const std::uint32_t>
        first_child;  ///< entries + 1 offsets into the next order; empty for the last
    std::span<const std::uint32_t> large_entries;  ///< sorted
    std::span<const std::uint32_t> large_counts;
  };

  /// Checks every offset, so that no lookup can leave the arrays. `owner` keeps them alive.
  FrequencyTrie(std::span<const std::string_view> words, unsigned word_width,
                std::vector<Level> levels, std::shared_ptr<const void> owner);

  unsigned order() const { return static_cast<unsigned>(levels_.size()); }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// How many n-grams of order n there are.
  std::size_t size(unsigned n) const { return levels_[n - 1].counts.size(); }
  std::uint32_t count(unsigned n, std::uint32_t entry) const;
  /// The order-n entry that follows `parent` (of order n-1) by `word`, or kNone; n >= 2.
  std::uint32_t child(unsigned n, std::uint32_t parent, std::uint32_t word) const;
  /// Brings to the processor's cache where the children of `parent` (of order n-1) begin.
  void prefetch(unsigned n, std::uint32_t parent) const;
  /// The same for the child that `child` looks at first.
  void prefetch_child(unsigned n, std::uint32_t parent) const;
  std::uint32_t word(unsigned n, std::uint32_t entry) const;

 private:
  Vocabulary vocabulary_;
  unsigned word_width_;
  std::vector<Level> levels_;
  std::shared_ptr<const void> owner_;
};

/// The inverse document frequency log|I| - log max(1, df) of every n-gram that can meet: those of
/// the references by id, those of candidates by walking the trie.
class Weights {
 public:
  /// For n-grams of orders 1 … order. Without a trie the index's own frequencies count. `uniform`
  /// gives every n-gram the weight 1.
  Weights(std::shared_ptr<const NgramIndex> index, std::shared_ptr<const FrequencyTrie> trie,
          unsigned order, double log_image_count, bool uniform);

  const NgramIndex& index() const { return *index_; }
  const FrequencyTrie* trie() const { return trie_.get(); }
  double of_count(std::uint32_t count) const {
    return count < of_small_count_.size() ? of_small_count_[count] : compute(count);
  }
  double of_id(unsigned n, std::uint32_t id) const { return of_count(counts_[n - 1][id]); }
  /// of_id for one order, for loops over many ids.
  auto of_order(unsigned n) const {
    return
        [this, counts = counts_[n - 1].data()](std::uint32_t id) { return of_count(counts[id]); };
  }
  /// The trie's entry for an n-gram of the index, or kNone.
  std::uint32_t entry(unsigned n, std::uint32_t id) const {
    return trie_ ? entries_[n - 1][id] : kNone;
  }

 private:
  double compute(std::uint32_t count) const {
    return uniform_ ? 1.0 : log_image_count_ - std::log(count);
  }
  void look_up(unsigned n, std::span<const std::uint32_t> trie_word);

  std::shared_ptr<const NgramIndex> index_;
  std::shared_ptr<const FrequencyTrie> trie_;
  double log_image_count_;
  bool uniform_;
  std::vector<double> of_small_count_;
  std::vector<std::span<const std::uint32_t>> counts_;
  std::vector<std::vector<std::uint32_t>> looked_up_;  // what counts_ shows when a trie is used
  std::vector<std::vector<std::uint32_t>> entries_;
};

}  // namespace cidery
