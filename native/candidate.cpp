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

void RepeatCounter::start(std::size_t words) {
  all_places(words, suspects_);
}

std::span<const std::uint32_t> RepeatCounter::count(std::span<const std::uint32_t> ids) {
  still_.clear();
  first_.reset(suspects_.size());
  for (const std::uint32_t at : suspects_) {
    if (at >= ids.size()) continue;
    const auto [first, fresh] = first_.insert(ids[at], at);
    if (fresh) continue;
    if (still_.empty()) counts_.assign(ids.size(), 1);
    if (counts_[first] == 1) still_.push_back(first);
    ++counts_[first];
    counts_[at] = 0;
    still_.push_back(at);
  }
  suspects_.swap(still_);
  if (suspects_.empty()) return {};
  std::sort(suspects_.begin(), suspects_.end());  // first occurrences must be met first
  return counts_;
}

void CandidateNgrams::assign(const NgramIndex& index, std::span<const std::uint32_t> words,
                             unsigned order, const Weights* weights,
                             std::span<const std::uint32_t> frequency_words) {
  if (order > index.order()) throw std::invalid_argument("the references hold too short n-grams");
  const bool walk = weights != nullptr && weights->trie() != nullptr;
  if (levels_.size() < order) levels_.resize(order);
  for (unsigned n = 1; n <= order; ++n) {
    Level& level = levels_[n - 1];
    level.ids.clear();
    level.entries.clear();
    if (n == 1) {
      level.ids.assign(words.begin(), words.end());
      if (walk) level.entries.assign(frequency_words.begin(), frequency_words.end());
    } else if (words.size() >= n) {
      const Level& shorter = levels_[n - 2];
      const std::uint32_t bound = index.id_bound(n);
      std::uint32_t unseen = bound;
      unseen_.reset(words.size());
      const auto is_known = [&](std::size_t at) {
        return shorter.ids[at] < index.id_bound(n - 1) && words[at + n - 1] < index.id_bound(1);
      };
      // The tables are larger than the cache: what is looked up is asked for all at once.
      for (std::size_t at = 0; at + n <= words.size(); ++at) {
        if (is_known(at)) index.prefetch(n, shorter.ids[at], words[at + n - 1]);
      }
      for (std::size_t at = 0; at + n <= words.size(); ++at) {
        const std::uint32_t parent = shorter.ids[at];
        const std::uint32_t last = words[at + n - 1];
        std::uint32_t id = is_known(at) ? index.find(n, parent, last) : kNone;
        if (id == kNone) {
          const auto [temporary, fresh] =
              unseen_.insert(std::uint64_t{parent} << 32 | last, unseen);
          id = temporary;
          unseen += fresh;
        }
        level.ids.push_back(id);
        if (!walk) continue;
        const std::uint32_t entry = shorter.entries[at];
        const std::uint32_t word = frequency_words[at + n - 1];
        level.entries.push_back(id < bound ? weights->entry(n, id)
                                           : (entry == kNone || word == kNone
                                                  ? kNone
                                                  : weights->trie()->child(n, entry, word)));
      }
    }
    level.tally.assign(level.ids);
    if (weights != nullptr) weigh(n, *weights);
  }
}

void CandidateNgrams::weigh(unsigned n, const Weights& weights) {
  Level& level = levels_[n - 1];
  const auto items = level.tally.items();
  const std::uint32_t bound = weights.index().id_bound(n);
  level.weights.assign(items.size(), weights.of_count(0));
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].key < bound) level.weights[i] = weights.of_id(n, items[i].key);
  }
  if (weights.trie() == nullptr) return;
  // An n-gram outside the references may still be known to the frequency set.
  std::size_t next = 0;
  for (std::size_t at = 0; at < level.ids.size() && next < items.size(); ++at) {
    if (level.ids[at] != items[next].key) continue;  // items are in order of first occurrence
    const std::uint32_t entry = level.entries[at];
    if (items[next].key >= bound && entry != kNone) {
      level.weights[next] = weights.of_count(weights.trie()->count(n, entry));
    }
    ++next;
  }
}

}  // namespace cidery
