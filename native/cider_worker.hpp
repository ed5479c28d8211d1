#pragma once

// What the parts of Cider share: cider.cpp, cider_kernels.cpp, cider_credit.cpp.
#include <cstdint>
#include <vector>

#include "cider.hpp"

namespace cidery {

/// How many n-grams of orders 1 … order a caption of so many words has: Σ h of equation (1).
inline double ngram_total(std::size_t words, unsigned order) {
  double total = 0;
  for (unsigned n = 1; n <= order; ++n)
    total += words >= n ? static_cast<double>(words - n + 1) : 0.0;
  return total;
}

/// One thread's scratch space.
struct Cider::Worker {
  CandidateNgrams ngrams;
  CaptionTrie parts;
  std::vector<std::uint32_t> words, frequency_words, part_words;
  CaptionTrie::Places places;  // of a reference, where the candidate's n-grams stand
  std::vector<double> norms;
};

}  // namespace cidery
