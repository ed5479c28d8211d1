#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

/// Where each word of a short caption stands: a bit per place.
class WordPlaces {
 public:
  static constexpr std::size_t kMostWords = 64;

  void assign(std::span<const std::uint32_t> words) {
    for (std::size_t i = 1; i <= used_; ++i) heads_[words_[i].word % heads_.size()] = 0;
    used_ = 0;
    for (std::size_t at = 0; at < words.size(); ++at) add(words[at], at);
  }
  /// The places of a word; 0 where the caption lacks it.
  std::uint64_t find(std::uint32_t word) const {
    // Without branches: whether the caption has the word cannot be foretold.
    const Word* entry = &words_[heads_[word % heads_.size()]];
    while (entry->word != word && entry->next != 0) entry = &words_[entry->next];
    return entry->places & (std::uint64_t{0} - (entry->word == word));
  }

 private:
  struct Word {
    std::uint64_t places = 0;
    std::uint32_t word = kNone;
    std::uint32_t next = 0;  // the one found before with the same head, or 0
  };
  void add(std::uint32_t word, std::size_t at) {
    std::uint8_t& head = heads_[word % heads_.size()];
    std::size_t entry = head;
    while (words_[entry].word != word && entry != 0) entry = words_[entry].next;
    if (entry == 0) {
      entry = ++used_;
      words_[entry] = {0, word, head};
      head = static_cast<std::uint8_t>(entry);
    }
    words_[entry].places |= std::uint64_t{1} << at;
  }

  std::array<std::uint8_t, 256> heads_{};
  std::array<Word, kMostWords + 1> words_;  // from 1 on; the first one stands for no word
  std::size_t used_ = 0;
};

/// The n-grams of one caption as a trie, and how often they stand in others. One object serves a
/// worker for all its captions.
///
/// Where an n-gram of a short caption stands is a number with a bit per place. The places of a
/// longer one are those of its first words, without those where another word follows.
class CaptionTrie {
 public:
  /// An n-gram of the caption: its last word, and the one that lacks it.
  struct Item {
    std::uint32_t word;
    std::uint32_t count;
    std::uint32_t parent;  ///< among the items of the order before; kNone for single words
  };
  /// Places in another caption where n-grams of this one begin.
  class Places {
   public:
    bool empty() const { return count_ == 0; }

   private:
    friend class CaptionTrie;
    struct Place {
      std::uint64_t found;  // the places here, or, where the caption is long, the item
      std::uint32_t at;
    };
    std::vector<std::uint64_t> words_;  // by place there: the places here; then some 0
    std::vector<Place> places_;
    std::size_t count_ = 0;
  };

  /// Takes a caption and finds its words.
  void start(std::span<const std::uint32_t> words);
  /// Finds the n-grams of the next order: 2, 3, … in turn.
  void lengthen(unsigned n);
  /// The different n-grams of order n, in order of first occurrence.
  std::span<const Item> items(unsigned n) const { return levels_[n - 1].items; }
  /// Which of items(n) stands where, by position.
  std::span<const std::uint32_t> item_at(unsigned n) const { return levels_[n - 1].item_at; }

  /// The item of a word, or kNone.
  std::uint32_t find(std::uint32_t word) const {
    return is_short() ? first_of(1, words_.find(word)) : long_words_.find(word);
  }
  /// The item of order n that is `parent`, of the order before, and a word; or kNone.
  std::uint32_t find(unsigned n, std::uint32_t parent, std::uint32_t word) const {
    if (!is_short()) return levels_[n - 1].map.find(std::uint64_t{parent} << 32 | word);
    return first_of(n, levels_[n - 2].places[parent] & words_.find(word) >> (n - 1));
  }

  /// Visits the n-grams that `other` shares, visit(item, count there), in order of first meeting.
  /// Places are those of the order before, and become those of this one: a longer n-gram cannot
  /// stand where its first words do not.
  template <class Visit>
  void match(unsigned n, std::span<const std::uint32_t> other, Places& places, const Visit& visit) {
    if (is_short()) {
      place_short(n, other, places);
    } else {
      place_long(n, other, places);
    }
    const std::uint32_t* const item_at = levels_[n - 1].item_at.data();
    std::size_t met = 0;
    for (std::size_t i = 0; i < places.count_; ++i) {
      const std::uint64_t found = places.places_[i].found;
      const auto item =
          is_short() ? item_at[std::countr_zero(found)] : static_cast<std::uint32_t>(found);
      met_[met] = item;
      met += hits_[item]++ == 0;
    }
    for (std::size_t i = 0; i < met; ++i) {
      visit(met_[i], hits_[met_[i]]);
      hits_[met_[i]] = 0;
    }
  }
  /// The same for one order by itself.
  template <class Visit>
  void match(unsigned n, std::span<const std::uint32_t> other, const Visit& visit) {
    for (unsigned shorter = 1; shorter < n; ++shorter)
      match(shorter, other, own_places_, [](std::uint32_t, std::uint32_t) {});
    match(n, other, own_places_, visit);
  }

 private:
  struct Level {
    std::vector<Item> items;
    std::vector<std::uint32_t> item_at;
    std::vector<std::uint64_t> places;  // by item, of short captions
    ScratchMap map;                     // of long ones: (parent, word) to the item
  };
  bool is_short() const { return text_.size() <= WordPlaces::kMostWords; }
  std::uint32_t first_of(unsigned n, std::uint64_t places) const {
    return places == 0 ? kNone : levels_[n - 1].item_at[std::countr_zero(places)];
  }
  void start_long();
  void lengthen_long(unsigned n);
  /// Adds the n-gram at a place to the items, unless it stood before.
  void add_short(unsigned n, std::size_t at, std::uint64_t places, std::uint32_t parent) {
    Level& level = levels_[n - 1];
    const auto first = static_cast<std::size_t>(std::countr_zero(places));
    if (first == at) {
      level.item_at[at] = static_cast<std::uint32_t>(level.items.size());
      const bool once = (places & (places - 1)) == 0;
      const auto count = once ? 1u : static_cast<std::uint32_t>(std::popcount(places));
      level.items.push_back({text_[at + n - 1], count, parent});
      level.places.push_back(places);
    } else {
      level.item_at[at] = level.item_at[first];
    }
  }
  void place_short(unsigned n, std::span<const std::uint32_t> other, Places& places) {
    std::size_t kept = 0;
    if (n == 1) {
      if (places.words_.size() < other.size() + NgramIndex::kMaxOrder) {
        places.words_.resize(other.size() + NgramIndex::kMaxOrder);
        places.places_.resize(other.size());
      }
      for (std::uint32_t at = 0; at < other.size(); ++at) {
        const std::uint64_t found = words_.find(other[at]);
        places.words_[at] = found;
        places.places_[kept] = {found, at};
        kept += found != 0;
      }
      std::fill_n(places.words_.begin() + static_cast<std::ptrdiff_t>(other.size()),
                  NgramIndex::kMaxOrder, 0u);
    } else {
      const std::uint64_t* const last_words = places.words_.data() + n - 1;
      for (std::size_t i = 0; i < places.count_; ++i) {
        const auto [shorter, at] = places.places_[i];
        const std::uint64_t found = shorter & last_words[at] >> (n - 1);
        places.places_[kept] = {found, at};
        kept += found != 0;
      }
    }
    places.count_ = kept;
  }
  void place_long(unsigned n, std::span<const std::uint32_t> other, Places& places);

  std::span<const std::uint32_t> text_;
  WordPlaces words_;
  ScratchMap long_words_;  // of long captions: to items of order 1
  std::vector<Level> levels_;
  std::vector<std::uint64_t> places_;  // by position of a short caption: those of the word there
  std::vector<std::uint32_t> hits_, met_;
  Places own_places_;
};

/// Counts of a caption's n-grams, order by order, without a hash of every one: an n-gram can only
/// stand twice where its first n-1 words do, so from order to order fewer positions need a look.
class RepeatCounter {
 public:
  explicit RepeatCounter(std::size_t vocabulary);
  /// Begins a caption and counts its words, as `count` does.
  std::span<const std::uint32_t> start(std::span<const std::uint32_t> words);
  /// Counts by position for the next order: how often the n-gram occurs where it stands first, 0
  /// where it stands again; empty where every n-gram stands once. To be called for orders 2, 3, …
  /// in turn.
  std::span<const std::uint32_t> count(std::span<const std::uint32_t> ids);

 private:
  /// Notes that what stands at `first` stands `again`.
  void repeat(std::uint32_t first, std::uint32_t again, std::size_t size,
              std::vector<std::uint32_t>& found);
  std::span<const std::uint32_t> finish();

  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> suspects_, still_;  // positions whose n-gram may stand elsewhere too
  // By word, where it was first seen in its last caption, counted over all captions from 1 on: what
  // is not above begin_ was seen in an earlier one.
  std::vector<std::uint32_t> first_of_word_;
  std::uint32_t begin_ = 0;
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

  CaptionTrie& trie() { return trie_; }
  /// The different n-grams, in order of first occurrence.
  std::span<const CaptionTrie::Item> items(unsigned n) const { return trie_.items(n); }
  /// The id of each of items(n).
  std::span<const std::uint32_t> ids(unsigned n) const { return levels_[n - 1].ids; }
  /// The weight of each of items(n).
  std::span<const double> weights(unsigned n) const { return levels_[n - 1].weights; }

 private:
  struct Asked {
    std::uint32_t parent, word;  // an entry of the order before, and the word that follows
    std::uint32_t item;
  };
  struct Level {
    std::vector<std::uint32_t> ids;
    std::vector<std::uint32_t> tables;        // of the index, where they are looked up, or kNone
    std::vector<const std::uint32_t*> slots;  // where in these
    std::vector<std::uint32_t> entries;       // of the frequency set
    std::vector<Asked> asked;                 // what is looked up there
    std::vector<double> weights;
  };
  void look_up(const NgramIndex& index, unsigned n);
  void enter(const Weights& weights, unsigned n, std::span<const std::uint32_t> frequency_words);
  void weigh(unsigned n, const Weights& weights);

  CaptionTrie trie_;
  std::vector<Level> levels_;
};

}  // namespace cidery
