#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frequencies.hpp"
#include "ngrams.hpp"

namespace cidery {

/// How a vocabulary's words are spelt in a prepared metric's own ids; made once, used for many
/// calls.
struct Translation {
  std::vector<std::uint32_t> words;  ///< id among the references' words; unknown ones lie above
  std::vector<std::uint32_t>
      frequency;  ///< id among the frequency set's words, or kNone; empty without a set
  std::vector<std::uint32_t>
      parts;  ///< the same as `words` for the repetition penalty's vocabulary
};

/// A caption's words under a translation, into `out`.
void spell(std::span<const std::uint32_t> words, std::span<const std::uint32_t> translation,
           std::vector<std::uint32_t>& out);

/// Throws unless there is one image in range per candidate and a translation for every word.
void check_candidates(const Captions& candidates, std::span<const std::uint32_t> images,
                      std::size_t image_count, const Translation& translation);

/// A small open-addressing map from 64-bit keys to 32-bit values that is emptied in constant time.
class ScratchMap {
 public:
  /// Empties the map and makes room for `keys` keys.
  void reset(std::size_t keys);
  /// The value of `key`, set to `fresh` if it was absent; second is true then.
  std::pair<std::uint32_t, bool> insert(std::uint64_t key, std::uint32_t fresh) {
    const std::uint64_t hash = mix(key);
    seen_ |= std::uint64_t{1} << (hash >> 58);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash >> shift_;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.stamp != stamp_) {
        slot = {key, fresh, stamp_};
        return {fresh, true};
      }
      if (slot.key == key) return {slot.value, false};
    }
  }
  /// The value of `key`, or kNone. Most keys asked for are absent, and one bit tells most of those.
  std::uint32_t find(std::uint64_t key) const {
    const std::uint64_t hash = mix(key);
    if ((seen_ >> (hash >> 58) & 1) == 0) return kNone;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash >> shift_;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.stamp != stamp_) return kNone;
      if (slot.key == key) return slot.value;
    }
  }

 private:
  struct Slot {
    std::uint64_t key;
    std::uint32_t value;
    std::uint32_t stamp;
  };
  static std::uint64_t mix(std::uint64_t key) { return key * 0x9E3779B97F4A7C15u; }

  std::vector<Slot> slots_;
  std::uint32_t stamp_ = 0;
  unsigned shift_ = 63;
  std::uint64_t seen_ = 0;  // one bit per sixty-fourth of the hashes
};

/// Distinct keys of a sequence with their counts, in order of first occurrence, and how often each
/// one is met in another sequence. One object serves a worker for all its captions.
class Tally {
 public:
  struct Item {
    std::uint32_t key;
    std::uint32_t count;
  };
  void assign(std::span<const std::uint32_t> keys);
  std::span<const Item> items() const { return items_; }
  /// The place of a key among the items, or kNone.
  std::uint32_t find(std::uint32_t key) const { return map_.find(key); }
  /// Counts the keys of `other` that are here; visit(item index, count there) for each, in order of
  /// first meeting.
  template <class Visit>
  void match(std::span<const std::uint32_t> other, const Visit& visit) {
    met_.clear();
    for (const std::uint32_t key : other) meet(map_.find(key));
    visit_met(visit);
  }
  /// The same for the n-grams of a caption, order after order: only those at `places` are looked
  /// at, and only the places of those that are here are kept. A longer n-gram cannot be here where
  /// its first words are not.
  template <class Visit>
  void match(std::span<const std::uint32_t> other, std::vector<std::uint32_t>& places,
             const Visit& visit) {
    met_.clear();
    std::size_t kept = 0;
    for (const std::uint32_t at : places) {
      if (at >= other.size()) break;
      const std::uint32_t item = map_.find(other[at]);
      places[kept] = at;
      kept += item != kNone;
      meet(item);
    }
    places.resize(kept);
    visit_met(visit);
  }

 private:
  void meet(std::uint32_t item) {
    if (item != kNone && hits_[item]++ == 0) met_.push_back(item);
  }
  template <class Visit>
  void visit_met(const Visit& visit) {
    for (const std::uint32_t item : met_) {
      visit(item, hits_[item]);
      hits_[item] = 0;
    }
  }

  ScratchMap map_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> hits_, met_;
};

/// Sets `places` to 0, 1, …, words - 1, where `Tally::match` begins.
inline void all_places(std::size_t words, std::vector<std::uint32_t>& places) {
  places.resize(words);
  for (std::size_t i = 0; i < words; ++i) places[i] = static_cast<std::uint32_t>(i);
}

/// Counts of a caption's n-grams, order by order, without a hash of every one: an n-gram can only
/// stand twice where its first n-1 words do, so from order to order fewer positions need a look.
class RepeatCounter {
 public:
  /// Begins a caption of so many words.
  void start(std::size_t words);
  /// Counts by position for the next order: how often the n-gram occurs where it stands first, 0
  /// where it stands again; empty where every n-gram stands once. To be called for orders 1, 2, 3,
  /// … in turn.
  std::span<const std::uint32_t> count(std::span<const std::uint32_t> ids);

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> suspects_, still_;  // positions whose n-gram may stand elsewhere too
  ScratchMap first_;
};

/// A candidate's n-grams of every order in the ids of a reference index; n-grams the index lacks
/// get ids above it.
class CandidateNgrams {
 public:
  /// `frequency_words` gives the trie's word per position where `weights` has a trie.
  void assign(const NgramIndex& index, std::span<const std::uint32_t> words, unsigned order,
              const Weights* weights = nullptr,
              std::span<const std::uint32_t> frequency_words = {});

  Tally& tally(unsigned n) { return levels_[n - 1].tally; }
  /// The n-grams' ids, by position.
  std::span<const std::uint32_t> ids(unsigned n) const { return levels_[n - 1].ids; }
  /// The weight of each of tally(n)'s items.
  std::span<const double> weights(unsigned n) const { return levels_[n - 1].weights; }

 private:
  struct Level {
    Tally tally;
    std::vector<std::uint32_t> ids;      // by position
    std::vector<std::uint32_t> entries;  // of the trie, by position
    std::vector<double> weights;         // by tally item
  };
  void weigh(unsigned n, const Weights& weights);

  std::vector<Level> levels_;
  ScratchMap unseen_;
};

}  // namespace cidery
