#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ngrams.hpp"

namespace cidery {

/// For each image of m captions the products MᵀM of its word-caption matrix, [m, m], one after
/// another: entry (i, j) is Σ_w f_w(c_i) f_w(c_j). Words w with ignored[w] != 0 do not count.
std::vector<double> word_products(const NgramIndex& index, std::span<const std::uint8_t> ignored,
                                  unsigned threads);

}  // namespace cidery
