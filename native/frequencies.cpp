#include "frequencies.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "compiler.hpp"

namespace cidery {
namespace {

constexpr std::uint8_t kLarge = 255;

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("damaged document frequencies: ") + what);
}

/// log max(1, count) for small counts, computed once.
std::span<const double> small_logarithms() {
  static const std::vector<double> logarithms = [] {
    std::vector<double> values(4096);
    for (std::uint32_t count = 0; count < values.size(); ++count)
      values[count] = std::log(std::max(1u, count));
    return values;
  }();
  return logarithms;
}

}  // namespace

FrequencyTrie::FrequencyTrie(std::span<const std::string_view> words, unsigned word_width,
                             std::vector<Level> levels, std::shared_ptr<const void> owner)
    : word_width_(word_width), levels_(std::move(levels)), owner_(std::move(owner)) {
  require(word_width_ == 2 || word_width_ == 4, "the word width is neither 2 nor 4");
  require(!levels_.empty() && levels_.size() <= NgramIndex::kMaxOrder, "the order is not 1 to 8");
  for (const auto word : words) vocabulary_.intern(word);
  require(vocabulary_.size() == words.size(), "a word is listed twice");
  require(levels_[0].counts.size() == words.size(), "not one count per word");
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const Level& level = levels_[i];
    const std::size_t entries = level.counts.size();
    require(level.large_entries.size() == level.large_counts.size(), "large counts do not fit");
    require(i == 0 ? level.words.empty() : level.words.size() == entries * word_width_,
            "words do not fit");
    for (std::uint32_t e = 0; i > 0 && e < entries; ++e) {
      require(word(static_cast<unsigned>(i + 1), e) < words.size(), "a word is out of range");
    }
    if (i + 1 == levels_.size()) {
      require(level.first_child.empty(), "the last order has children");
      continue;
    }
    require(level.first_child.size() == entries + 1, "child offsets do not fit");
    require(level.first_child[0] == 0 && level.first_child[entries] == levels_[i + 1].counts.size(),
            "child offsets do not cover the next order");
    require(std::is_sorted(level.first_child.begin(), level.first_child.end()),
            "child offsets descend");
  }
}

std::uint32_t FrequencyTrie::word(unsigned n, std::uint32_t entry) const {
  const std::uint8_t* bytes = levels_[n - 1].words.data() + std::size_t{entry} * word_width_;
  std::uint32_t word = bytes[0] | std::uint32_t{bytes[1]} << 8;
  if (word_width_ == 4) word |= std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24;
  return word;
}

std::uint32_t FrequencyTrie::count(unsigned n, std::uint32_t entry) const {
  const Level& level = levels_[n - 1];
  if (level.counts[entry] != kLarge) return level.counts[entry];
  const auto at = std::lower_bound(level.large_entries.begin(), level.large_entries.end(), entry);
  if (at == level.large_entries.end() || *at != entry) return kLarge;
  return level.large_counts[static_cast<std::size_t>(at - level.large_entries.begin())];
}

void FrequencyTrie::prefetch(unsigned n, std::uint32_t parent) const {
  prefetch_memory(&levels_[n - 2].first_child[parent]);
}

void FrequencyTrie::prefetch_child(unsigned n, std::uint32_t parent) const {
  const std::uint32_t begin = levels_[n - 2].first_child[parent];
  const std::uint32_t end = levels_[n - 2].first_child[parent + 1];
  if (begin == end) return;
  const std::size_t middle = begin + (end - begin) / 2;
  prefetch_memory(levels_[n - 1].words.data() + middle * word_width_);
}

std::uint32_t FrequencyTrie::child(unsigned n, std::uint32_t parent, std::uint32_t word_id) const {
  const std::uint32_t begin = levels_[n - 2].first_child[parent];
  const std::uint32_t end = levels_[n - 2].first_child[parent + 1];
  if (begin == end) return kNone;
  // Without branches: which half it is cannot be foretold. The words before `place` are smaller.
  std::uint32_t place = begin;
  for (std::uint32_t length = end - begin; length > 1;) {
    const std::uint32_t half = length / 2;
    place += word(n, place + half - 1) < word_id ? half : 0;
    length -= half;
  }
  return word(n, place) == word_id ? place : kNone;
}

Weights::Weights(std::shared_ptr<const NgramIndex> index, std::shared_ptr<const FrequencyTrie> trie,
                 unsigned order, double log_image_count, bool uniform)
    : index_(std::move(index)),
      trie_(std::move(trie)),
      log_image_count_(log_image_count),
      uniform_(uniform) {
  // No count is larger than the number of images, except in sets from elsewhere.
  constexpr std::size_t kMost = 1 << 16;
  const double images = std::exp(log_image_count);
  const std::size_t size =
      images < kMost ? std::max(small_logarithms().size(), static_cast<std::size_t>(images) + 2)
                     : kMost;
  of_small_count_.reserve(size);
  for (const double logarithm : small_logarithms())
    of_small_count_.push_back(uniform ? 1.0 : log_image_count - logarithm);
  while (of_small_count_.size() < size)
    of_small_count_.push_back(compute(static_cast<std::uint32_t>(of_small_count_.size())));
  if (order > index_->order()) throw std::invalid_argument("the references hold too short n-grams");
  if (trie_ == nullptr || uniform_) {
    trie_ = nullptr;
    for (unsigned n = 1; n <= order; ++n) counts_.push_back(index_->frequency(n));
    return;
  }
  if (trie_->order() < order)
    throw std::invalid_argument("the document frequencies hold too short n-grams");

  const Vocabulary& vocabulary = *index_->captions().vocabulary;
  std::vector<std::uint32_t> trie_word(vocabulary.size());
  for (std::uint32_t id = 0; id < trie_word.size(); ++id)
    trie_word[id] = trie_->vocabulary().find(vocabulary[id]);
  looked_up_.resize(order);
  entries_.resize(order);
  entries_[0] = trie_word;
  looked_up_[0].reserve(trie_word.size());
  for (const auto entry : trie_word)
    looked_up_[0].push_back(entry == kNone ? 0 : trie_->count(1, entry));
  for (unsigned n = 2; n <= order; ++n) {
    entries_[n - 1].assign(index_->id_bound(n), kNone);
    looked_up_[n - 1].assign(index_->id_bound(n), 0);
    look_up(n, trie_word);
  }
  for (const auto& counts : looked_up_) counts_.push_back(counts);
}

/// Finds the n-grams of order n in the trie.
void Weights::look_up(unsigned n, std::span<const std::uint32_t> trie_word) {
  struct Wanted {
    std::uint32_t parent, word, id;
  };
  std::vector<Wanted> wanted;
  const auto ngrams = index_->entries(n);
  wanted.reserve(ngrams.size());
  for (const auto& ngram : ngrams) {
    const std::uint32_t parent = entries_[n - 2][ngram.parent];
    const std::uint32_t last = trie_word[ngram.word];
    if (parent != kNone && last != kNone) wanted.push_back({parent, last, ngram.id});
  }
  // The trie may be far larger than the processor's caches: its parts are gone through one after
  // another, so that one part lies there while all that is wanted of it is looked up.
  constexpr unsigned kPartBits = 9;
  const auto width = static_cast<unsigned>(std::bit_width(trie_->size(n - 1)));
  const unsigned shift = width > kPartBits ? width - kPartBits : 0;
  std::array<std::size_t, (std::size_t{1} << kPartBits) + 1> starts{};
  for (const Wanted& each : wanted) ++starts[(each.parent >> shift) + std::size_t{1}];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<Wanted> parted(wanted.size());
  for (const Wanted& each : wanted) parted[starts[each.parent >> shift]++] = each;

  // Where children begin is asked for long before they are looked at, and the middle one, where
  // the search begins, a little before.
  constexpr std::size_t kLong = 24, kShort = 10;
  for (std::size_t i = 0; i < parted.size(); ++i) {
    if (i + kLong < parted.size()) trie_->prefetch(n, parted[i + kLong].parent);
    if (i + kShort < parted.size()) trie_->prefetch_child(n, parted[i + kShort].parent);
    const auto [parent, word, id] = parted[i];
    const std::uint32_t entry = trie_->child(n, parent, word);
    if (entry == kNone) continue;
    entries_[n - 1][id] = entry;
    looked_up_[n - 1][id] = trie_->count(n, entry);
  }
}

}  // namespace cidery
