#include "subsequence.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cidery {
namespace {

/// How many of the last `bits` bits, 1 to 64, are 0.
std::size_t count_zeros(std::uint64_t vector, std::size_t bits) {
  return static_cast<std::size_t>(std::popcount(~vector << (64 - bits)));
}

std::uint64_t pair_key(std::uint32_t first, std::uint32_t second) {
  return std::uint64_t{first} << 32 | second;
}

/// Calls visit(first, second) for each pair of words with at most `skip` words between.
template <class Visit>
void each_near_pair(std::span<const std::uint32_t> words, std::size_t skip, const Visit& visit) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t end = std::min(words.size(), i + skip + 2);
    for (std::size_t j = i + 1; j < end; ++j) visit(words[i], words[j]);
  }
}

}  // namespace

void CommonSubsequence::assign(std::span<const std::uint32_t> words) {
  words_ = words.size();
  blocks_ = (words.size() + 63) / 64;
  if (blocks_ <= 1) {
    places_.assign(words);
    return;
  }
  rows_.reset(words.size());
  masks_.clear();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto fresh =
        static_cast<std::uint32_t>(masks_.size() / std::max<std::size_t>(1, blocks_));
    const auto [row, added] = rows_.insert(words[i], fresh);
    if (added) masks_.resize(masks_.size() + blocks_, 0);
    masks_[row * blocks_ + i / 64] |= std::uint64_t{1} << (i % 64);
  }
}

std::size_t CommonSubsequence::length(std::span<const std::uint32_t> other) {
  if (words_ == 0) return 0;
  if (blocks_ == 1) {
    std::uint64_t v = ~std::uint64_t{0};
    for (const std::uint32_t word : other) {
      const std::uint64_t u = v & places_.find(word);
      v = (v + u) | (v - u);
    }
    return count_zeros(v, words_);
  }
  vector_.assign(blocks_, ~std::uint64_t{0});
  for (const std::uint32_t word : other) {
    const std::uint32_t row = rows_.find(word);
    if (row == kNone) continue;
    const std::uint64_t* mask = &masks_[row * blocks_];
    std::uint64_t carry = 0;
    for (std::size_t b = 0; b < blocks_; ++b) {
      const std::uint64_t v = vector_[b];
      const std::uint64_t u = v & mask[b];
      const std::uint64_t sum = v + u;
      const std::uint64_t carried = sum + carry;
      carry = (sum < v) | (carried < sum);
      vector_[b] = carried | (v - u);
    }
  }
  std::size_t length = 0;
  for (std::size_t b = 0; b < blocks_; ++b) {
    length += count_zeros(vector_[b], std::min<std::size_t>(64, words_ - b * 64));
  }
  return length;
}

double WeightedSubsequence::weight(std::span<const std::uint32_t> one,
                                   std::span<const std::uint32_t> other, double exponent) {
  const std::size_t longest_run = std::min(one.size(), other.size());
  powers_.resize(longest_run + 1);
  for (std::size_t k = 0; k <= longest_run; ++k)
    powers_[k] = std::pow(static_cast<double>(k), exponent);
  above_.assign(other.size() + 1, 0.0);
  runs_above_.assign(other.size() + 1, 0);
  weights_.assign(other.size() + 1, 0.0);
  runs_.assign(other.size() + 1, 0);
  for (const std::uint32_t word : one) {
    for (std::size_t j = 1; j <= other.size(); ++j) {
      if (word == other[j - 1]) {
        const std::uint32_t run = runs_above_[j - 1];
        weights_[j] = above_[j - 1] + powers_[run + 1] - powers_[run];
        runs_[j] = run + 1;
      } else {
        weights_[j] = std::max(above_[j], weights_[j - 1]);
        runs_[j] = 0;
      }
    }
    above_.swap(weights_);
    runs_above_.swap(runs_);
  }
  return above_.back();
}

double SkipPairs::count(std::size_t words, int skip) {
  const double n = static_cast<double>(words);
  if (words < 2) return 0;
  if (skip < 0) return n * (n - 1) / 2;
  const double reach = std::min(n - 1, static_cast<double>(skip) + 1);
  return reach * n - reach * (reach + 1) / 2;
}

void SkipPairs::assign(std::span<const std::uint32_t> words, int skip) {
  words_.assign(words.begin(), words.end());
  skip_ = skip;
  if (skip_ < 0) {
    tally_.assign(words);
    return;
  }
  const auto near = static_cast<std::size_t>(skip_);
  pairs_.reset(static_cast<std::size_t>(count(words.size(), skip_)) + 1);
  here_.clear();
  each_near_pair(words, near, [&](std::uint32_t first, std::uint32_t second) {
    const auto [at, fresh] =
        pairs_.insert(pair_key(first, second), static_cast<std::uint32_t>(here_.size()));
    if (fresh) {
      here_.push_back(1);
    } else {
      ++here_[at];
    }
  });
  there_.assign(here_.size(), 0);
}

double SkipPairs::common(std::span<const std::uint32_t> other) {
  return skip_ < 0 ? common_any(other) : common_near(other);
}

double SkipPairs::common_near(std::span<const std::uint32_t> other) {
  met_.clear();
  each_near_pair(other, static_cast<std::size_t>(skip_),
                 [&](std::uint32_t first, std::uint32_t second) {
                   const std::uint32_t at = pairs_.find(pair_key(first, second));
                   if (at == kNone) return;
                   if (there_[at]++ == 0) met_.push_back(at);
                 });
  double sum = 0;
  for (const std::uint32_t at : met_) {
    sum += std::min(here_[at], there_[at]);
    there_[at] = 0;
  }
  return sum;
}

double SkipPairs::common_any(std::span<const std::uint32_t> other) {
  // Pairs are too many to list in a long caption; but with the first word fixed, one scan counts
  // all second words.
  std::vector<std::uint32_t> shared_here,
      shared_there;  // captions reduced to shared words, as item numbers
  std::vector<bool> shared(tally_.items().size(), false);
  ScratchMap items;
  items.reset(tally_.items().size());
  for (std::uint32_t i = 0; i < tally_.items().size(); ++i) items.insert(tally_.items()[i].key, i);
  for (const std::uint32_t word : other) {
    const std::uint32_t item = items.find(word);
    if (item == kNone) continue;
    shared[item] = true;
    shared_there.push_back(item);
  }
  for (const std::uint32_t word : words_) {
    const std::uint32_t item = items.find(word);
    if (shared[item]) shared_here.push_back(item);
  }
  const auto follow = [](const std::vector<std::uint32_t>& words, std::uint32_t first,
                         std::vector<double>& counts) {
    std::fill(counts.begin(), counts.end(), 0.0);
    double seen = 0;
    for (const std::uint32_t word : words) {
      counts[word] += seen;
      if (word == first) ++seen;
    }
  };
  std::vector<double> counts_here(shared.size()), counts_there(shared.size());
  double sum = 0;
  for (std::uint32_t first = 0; first < shared.size(); ++first) {
    if (!shared[first]) continue;
    follow(shared_here, first, counts_here);
    follow(shared_there, first, counts_there);
    for (std::size_t second = 0; second < shared.size(); ++second) {
      sum += std::min(counts_here[second], counts_there[second]);
    }
  }
  return sum;
}

}  // namespace cidery
