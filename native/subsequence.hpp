#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "candidate.hpp"

namespace cidery {

/// Length of the longest common subsequence of one caption with many others.
///
/// Bit-parallel (Hyyrö 2004): 64 words of the caption are compared with a word of the other at
/// once.
class CommonSubsequence {
 public:
  void assign(std::span<const std::uint32_t> words);
  std::size_t length(std::span<const std::uint32_t> other);

 private:
  std::size_t words_ = 0;
  std::size_t blocks_ = 0;
  WordPlaces places_;                  // of a short caption, which needs nothing else
  ScratchMap rows_;                    // word -> row of masks_
  std::vector<std::uint64_t> masks_;   // [distinct words, blocks]: where the word stands
  std::vector<std::uint64_t> vector_;  // [blocks]: zeros mark the subsequence
};

/// The weighted longest common subsequence of Lin (2004): runs of k words in a row count
/// k^exponent.
class WeightedSubsequence {
 public:
  double weight(std::span<const std::uint32_t> one, std::span<const std::uint32_t> other,
                double exponent);

 private:
  std::vector<double> weights_, above_;
  std::vector<std::uint32_t> runs_, runs_above_;
  std::vector<double> powers_;
};

/// Skip-bigrams: ordered pairs of words with at most `skip` words between them; negative: any
/// number.
class SkipPairs {
 public:
  void assign(std::span<const std::uint32_t> words, int skip);
  /// Σ min(count here, count in other) over all pairs.
  double common(std::span<const std::uint32_t> other);
  static double count(std::size_t words, int skip);

 private:
  double common_near(std::span<const std::uint32_t> other);
  double common_any(std::span<const std::uint32_t> other);

  std::vector<std::uint32_t> words_;
  int skip_ = 0;
  ScratchMap pairs_;  // of limited skip: pair -> index into here_
  std::vector<std::uint32_t> here_, there_, met_;
  Tally tally_;
};

}  // namespace cidery
