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

/// Σ rows[i] or Σ other[i], each row taken from one or the other side by a fair coin: sums of the
/// first side, then of the second, [resamples, 2, columns]. For paired permutation tests.
std::vector<double> permute_sums(std::span<const double> rows, std::span<const double> other,
                                 std::size_t columns, std::size_t resamples, std::uint64_t seed,
                                 unsigned threads);

}  // namespace cidery
