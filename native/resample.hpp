#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cidery {

/// Sums of rows over bootstrap samples: [resamples, columns]. Sample b draws as many rows as there
/// are, with replacement, from its own generator seeded by (seed, b): the same for any number of
/// threads and for every array of the same height, so that samples of several systems are paired.
std::vector<double> resample_sums(std::span<const double> rows, std::size_t columns,
                                  std::size_t resamples, std::uint64_t seed, unsigned threads);

/// Σ ±rows[i]: [resamples, columns]. Row i is added with probability thresholds[i] / 65536 and
/// subtracted otherwise. For paired permutation tests, where rows are differences of two systems.
std::vector<double> signed_sums(std::span<const double> rows, std::size_t columns,
                                std::span<const std::uint32_t> thresholds, std::size_t resamples,
                                std::uint64_t seed, unsigned threads);

}  // namespace cidery
