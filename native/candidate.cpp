#include "candidate.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace cidery {

void spell(std::span<const std::uint32_t> words, std::span<const std::uint32_t> translation,
           std::vector<std::uint32_t>& out) {
  out.resize(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) out[i] = translation[words[i]];
}

void check_candidates(const Captions& candidates, std::span<const std::uint32_t> images,
                      std::size_t image_count, const Translation& translation) {
  if (images.size() != candidates.size())
    throw std::invalid_argument("one image per candidate is needed");
  for (const auto image : images) {
    if (image >= image_count)
      throw std::invalid_argument("a candidate names an image beyond the references");
  }
  if (translation.words.size() != candidates.vocabulary->size()) {
    throw std::invalid_argument("the translation was made for another vocabulary");
  }
}

void ScratchMap::reset(std::size_t keys) {
  const std::size_t wanted = std::bit_ceil(std::max<std::size_t>(16, keys * 2));
  if (wanted > slots_.size() || ++stamp_ == 0) {
    slots_.assign(std::max(wanted, slots_.size()), {0, 0, 0});
    stamp_ = 1;
  }
  seen_ = 0;
  shift_ = 64 - static_cast<unsigned>(std::bit_width(slots_.size() - 1));
}

void Tally::assign(std::span<const std::uint32_t> keys) {
  map_.reset(keys.size());
  items_.clear();
  for (const std::uint32_t key : keys) {
    const auto [item, fresh] = map_.insert(key, static_cast<std::uint32_t>(items_.size()));
    if (fresh) {
      items_.push_back({key, 1});
    } else {
      ++items_[item].count;
    }
  }
  hits_.assign(items_.size(), 0);
}

void CaptionTrie::start(std::span<const std::uint32_t> words) {
  text_ = words;
  if (levels_.empty()) levels_.resize(1);
  levels_[0].items.clear();
  levels_[0].item_at.resize(words.size());
  if (hits_.size() < words.size()) {
    hits_.resize(words.size(), 0);
    met_.resize(words.size() + 1);
  }
  if (!is_short()) {
    start_long();
    return;
  }
  words_.assign(words);
  levels_[0].places.clear();
  places_.resize(words.size());
  for (std::size_t at = 0; at < words.size(); ++at) {
    places_[at] = words_.find(words[at]);
    add_short(1, at, places_[at], kNone);
  }
}

void CaptionTrie::start_long() {
  auto& [items, item_at, places, map] = levels_[0];
  long_words_.reset(text_.size());
  for (std::size_t at = 0; at < text_.size(); ++at) {
    const auto [item, fresh] =
        long_words_.insert(text_[at], static_cast<std::uint32_t>(items.size()));
    if (fresh) {
      items.push_back({text_[at], 1, kNone});
    } else {
      ++items[item].count;
    }
    item_at[at] = item;
  }
}

void CaptionTrie::lengthen(unsigned n) {
  if (levels_.size() < n) levels_.resize(n);
  const Level& shorter = levels_[n - 2];
  Level& level = levels_[n - 1];
  level.items.clear();
  level.item_at.resize(text_.size() < n ? 0 : text_.size() - n + 1);
  if (!is_short()) {
    lengthen_long(n);
    return;
  }
  level.places.clear();
  for (std::size_t at = 0; at < level.item_at.size(); ++at) {
    const std::uint32_t parent = shorter.item_at[at];
    add_short(n, at, shorter.places[parent] & places_[at + n - 1] >> (n - 1), parent);
  }
}

void CaptionTrie::lengthen_long(unsigned n) {
  auto& [items, item_at, places, map] = levels_[n - 1];
  map.reset(item_at.size());
  for (std::size_t at = 0; at < item_at.size(); ++at) {
    const std::uint32_t parent = levels_[n - 2].item_at[at];
    const std::uint32_t word = text_[at + n - 1];
    const auto [item, fresh] =
        map.insert(std::uint64_t{parent} << 32 | word, static_cast<std::uint32_t>(items.size()));
    if (fresh) {
      items.push_back({word, 1, parent});
    } else {
      ++items[item].count;
    }
    item_at[at] = item;
  }
}

void CaptionTrie::place_long(unsigned n, std::span<const std::uint32_t> other, Places& places) {
  std::size_t kept = 0;
  if (n == 1) {
    if (places.places_.size() < other.size()) places.places_.resize(other.size());
    for (std::uint32_t at = 0; at < other.size(); ++at) {
      const std::uint32_t item = find(other[at]);
      if (item != kNone) places.places_[kept++] = {item, at};
    }
  } else {
    for (std::size_t i = 0; i < places.count_; ++i) {
      const auto [parent, at] = places.places_[i];
      const std::size_t end = at + std::size_t{n} - 1;
      if (end >= other.size()) break;
      const std::uint32_t item = find(n, static_cast<std::uint32_t>(parent), other[end]);
      if (item != kNone) places.places_[kept++] = {item, at};
    }
  }
  places.count_ = kept;
}

RepeatCounter::RepeatCounter(std::size_t vocabulary) : first_of_word_(vocabulary, 0) {}

std::span<const std::uint32_t> RepeatCounter::start(std::span<const std::uint32_t> words) {
  if (words.size() > kNone - begin_ - 1) {
    std::fill(first_of_word_.begin(), first_of_word_.end(), 0u);
    begin_ = 0;
  }
  suspects_.clear();
  for (std::uint32_t at = 0; at < words.size(); ++at) {
    std::uint32_t& first = first_of_word_[words[at]];
    if (first > begin_) {
      repeat(first - begin_ - 1, at, words.size(), suspects_);
    } else {
      first = begin_ + at + 1;
    }
  }
  begin_ += static_cast<std::uint32_t>(words.size());
  return finish();
}

std::span<const std::uint32_t> RepeatCounter::count(std::span<const std::uint32_t> ids) {
  if (suspects_.empty()) return {};
  still_.clear();
  first_.reset(suspects_.size());
  for (const std::uint32_t at : suspects_) {
    if (at >= ids.size()) continue;
    const auto [first, fresh] = first_.insert(ids[at], at);
    if (!fresh) repeat(first, at, ids.size(), still_);
  }
  suspects_.swap(still_);
  return finish();
}

void RepeatCounter::repeat(std::uint32_t first, std::uint32_t again, std::size_t size,
                           std::vector<std::uint32_t>& found) {
  if (found.empty()) counts_.assign(size, 1);
  if (counts_[first] == 1) found.push_back(first);
  ++counts_[first];
  counts_[again] = 0;
  found.push_back(again);
}

std::span<const std::uint32_t> RepeatCounter::finish() {
  if (suspects_.empty()) return {};
  std::sort(suspects_.begin(), suspects_.end());  // first occurrences must be met first
  return counts_;
}

void CandidateNgrams::assign(const NgramIndex& index, std::span<const std::uint32_t> words,
                             unsigned order, const Weights* weights,
                             std::span<const std::uint32_t> frequency_words) {
  if (order > index.order()) throw std::invalid_argument("the references hold too short n-grams");
  if (levels_.size() < order) levels_.resize(order);
  trie_.start(words);
  for (unsigned n = 1; n <= order; ++n) {
    if (n > 1) trie_.lengthen(n);
    look_up(index, n);
    if (weights == nullptr) continue;
    if (weights->trie() != nullptr) enter(*weights, n, frequency_words);
    weigh(n, *weights);
  }
}

void CandidateNgrams::look_up(const NgramIndex& index, unsigned n) {
  const auto items = trie_.items(n);
  std::vector<std::uint32_t>& ids = levels_[n - 1].ids;
  ids.resize(items.size());
  if (n == 1) {
    for (std::size_t i = 0; i < items.size(); ++i) ids[i] = items[i].word;
    return;
  }
  const Level& shorter = levels_[n - 2];
  Level& level = levels_[n - 1];
  const std::uint32_t shorter_bound = index.id_bound(n - 1);
  const std::uint32_t word_bound = index.id_bound(1);
  // The tables are larger than the cache: what is looked up is asked for all at once.
  level.tables.resize(items.size());
  level.slots.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::uint32_t parent = shorter.ids[items[i].parent];
    const bool known = parent < shorter_bound && items[i].word < word_bound;
    level.tables[i] = !known   ? kNone
                      : n == 2 ? index.table_of(parent, items[i].word)
                               : shorter.tables[items[i].parent];
    if (!known) continue;
    level.slots[i] = index.slot(n, level.tables[i], parent, items[i].word);
    prefetch_memory(level.slots[i]);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (level.tables[i] != kNone) index.prefetch_entry(n, level.tables[i], level.slots[i]);
  }
  std::uint32_t unseen = index.id_bound(n);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::uint32_t id = level.tables[i] == kNone
                                 ? kNone
                                 : index.find(n, level.tables[i], level.slots[i],
                                              shorter.ids[items[i].parent], items[i].word);
    ids[i] = id == kNone ? unseen++ : id;
  }
}

/// Finds the n-grams in the frequency set.
void CandidateNgrams::enter(const Weights& weights, unsigned n,
                            std::span<const std::uint32_t> frequency_words) {
  const auto items = trie_.items(n);
  const auto item_at = trie_.item_at(n);
  Level& level = levels_[n - 1];
  const std::uint32_t bound = weights.index().id_bound(n);
  level.entries.resize(items.size());
  level.asked.clear();
  std::size_t next = 0;
  for (std::size_t at = 0; next < items.size(); ++at) {
    if (item_at[at] != next) continue;  // items are in order of first occurrence
    const std::uint32_t word = frequency_words[at + n - 1];
    std::uint32_t& entry = level.entries[next];
    if (n == 1) {
      entry = word;
    } else if (level.ids[next] < bound) {
      entry = weights.entry(n, level.ids[next]);
    } else {
      const std::uint32_t parent = levels_[n - 2].entries[items[next].parent];
      entry = kNone;
      if (parent != kNone && word != kNone)
        level.asked.push_back({parent, word, static_cast<std::uint32_t>(next)});
    }
    ++next;
  }
  // The set is larger than the cache: what is looked up is asked for all at once.
  const FrequencyTrie& trie = *weights.trie();
  for (const Asked& each : level.asked) trie.prefetch(n, each.parent);
  for (const Asked& each : level.asked) trie.prefetch_child(n, each.parent);
  for (const auto& [parent, word, item] : level.asked)
    level.entries[item] = trie.child(n, parent, word);
}

void CandidateNgrams::weigh(unsigned n, const Weights& weights) {
  Level& level = levels_[n - 1];
  const std::uint32_t bound = weights.index().id_bound(n);
  const auto known = weights.of_order(n);
  const double unknown = weights.of_count(0);
  level.weights.resize(level.ids.size());
  for (std::size_t i = 0; i < level.ids.size(); ++i) {
    if (level.ids[i] < bound) {
      level.weights[i] = known(level.ids[i]);
    } else if (weights.trie() != nullptr && level.entries[i] != kNone) {
      // An n-gram outside the references may still be known to the frequency set.
      level.weights[i] = weights.of_count(weights.trie()->count(n, level.entries[i]));
    } else {
      level.weights[i] = unknown;
    }
  }
}

}  // namespace cidery
