#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "candidate.hpp"

namespace cidery {

/// Metrics without frequencies, all over the same references: BLEU and the ROUGE family.
/// Every function gives rows in the order of the candidates.
class Overlap {
 public:
  explicit Overlap(std::shared_ptr<const NgramIndex> index) : index_(std::move(index)) {}

  const NgramIndex& index() const { return *index_; }
  Translation translate(const Vocabulary& words) const;

  enum class ReferenceLength { closest, shortest, average };

  /// Rows of BLEU: candidate length, reference length, then clipped matches and n-grams for each
  /// order.
  std::vector<double> bleu(const Captions& candidates, std::span<const std::uint32_t> images,
                           const Translation& translation, unsigned order,
                           ReferenceLength reference_length, unsigned threads) const;
  /// The same rows for every reference as a candidate against its image's other references.
  std::vector<double> bleu_left_out(unsigned order, ReferenceLength reference_length,
                                    unsigned threads) const;
  /// Rows of ROUGE-N, equation (9): matches, the references' n-grams, the candidate's n-grams times
  /// references.
  std::vector<double> rouge_n(const Captions& candidates, std::span<const std::uint32_t> images,
                              const Translation& translation, unsigned n, unsigned threads) const;
  /// Rows of ROUGE-L: best precision and best recall of the longest common subsequence over the
  /// references. coco: `empty_is_a_word`, since "".split(" ") is one empty word.
  std::vector<double> rouge_l(const Captions& candidates, std::span<const std::uint32_t> images,
                              const Translation& translation, bool empty_is_a_word,
                              unsigned threads) const;
  /// Rows of ROUGE-W: best precision and recall of the weighted subsequence, f(k) = k^exponent.
  std::vector<double> rouge_w(const Captions& candidates, std::span<const std::uint32_t> images,
                              const Translation& translation, double exponent,
                              unsigned threads) const;
  /// Rows of ROUGE-S: best precision and recall of word pairs with at most `skip` words between;
  /// negative: any.
  std::vector<double> rouge_s(const Captions& candidates, std::span<const std::uint32_t> images,
                              const Translation& translation, int skip, unsigned threads) const;

 private:
  std::shared_ptr<const NgramIndex> index_;
};

}  // namespace cidery
