#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "candidate.hpp"

namespace cidery {

enum class LengthPenalty {
  none,      ///< CIDEr
  gaussian,  ///< CIDEr-D, equation (4): exp(-d² / 2σ²)
  relative,  ///< CIDEr-R, equations (5)-(7): repetition^k · exp(-d² / l(s)²)^(1-k)
};

struct CiderSettings {
  std::vector<double> order_weights;  ///< w_n of equation (3); as many as orders
  double scale = 1.0;                 ///< 10 for CIDEr-D and CIDEr-R
  bool uniform_idf = false;           ///< "CIDEr no idf"
  bool clip = false;                  ///< min(g(c), g(s)) in the numerator
  bool relative_counts =
      false;  ///< divide counts by the caption's n-grams before clipping, as (1) does
  bool best_reference = false;  ///< "CIDEr max"
  LengthPenalty penalty = LengthPenalty::none;
  double sigma = 6.0;
  double repetition_weight = 0.8;  ///< k_r
  bool mean_repetition =
      false;  ///< coco: geometric mean over distinct words instead of the 1/l(c) power
};

/// What one n-gram of a caption brought and took; the sum over all n-grams is the caption's score.
struct NgramCredit {
  std::uint32_t order;  ///< n
  std::uint32_t start;  ///< where in the caption it first stands
  std::uint32_t count;  ///< how often it stands there
  double earned;        ///< >= 0: its share of the similarity, had the caption only shared n-grams
  double cost;          ///< <= 0: its share of what the others lose to a longer vector
};

/// The same score split over words: an n-gram's part is shared equally by the words of all its
/// occurrences.
struct WordShares {
  std::vector<double> values;          ///< by word of the candidates
  std::vector<std::uint32_t> holders;  ///< how many references of its image have the word
  /// By word of the references of each candidate's image, one candidate after another: at most 0,
  /// the part of the reference's vector that belongs to n-grams which the candidate lacks.
  std::vector<double> lacks;
  std::vector<std::uint8_t> lacking;  ///< whether the candidate lacks that word itself
};

/// References prepared for the CIDEr family; immutable, so that threads may share it.
class Cider {
 public:
  /// `parts` are the references in the words whose repetition is punished (null unless the penalty
  /// is relative).
  Cider(std::shared_ptr<const NgramIndex> index, std::shared_ptr<const FrequencyTrie> trie,
        double log_image_count, CiderSettings settings, std::shared_ptr<const Captions> parts,
        unsigned threads);

  /// The same references and frequencies under other settings of the same order: nothing is counted
  /// anew.
  Cider variant(CiderSettings settings, std::shared_ptr<const Captions> parts) const;

  Translation translate(const Vocabulary& words, const Vocabulary* parts) const;

  /// Similarity of each candidate with each reference of its image, before penalties, one candidate
  /// after another. Variants with the same order weights and clipping have the same.
  std::vector<double> similarities(const Captions& candidates,
                                   std::span<const std::uint32_t> images,
                                   const Translation& translation, unsigned threads) const;

  /// One value per candidate; images[i] is the image that candidate i describes.
  std::vector<double> measure(const Captions& candidates, const Captions* parts,
                              std::span<const std::uint32_t> images, const Translation& translation,
                              std::span<const double> similarities, unsigned threads) const;
  std::vector<double> measure(const Captions& candidates, const Captions* parts,
                              std::span<const std::uint32_t> images, const Translation& translation,
                              unsigned threads) const {
    return measure(candidates, parts, images, translation,
                   similarities(candidates, images, translation, threads), threads);
  }

  /// For each image the similarities of its m references with each other, [m, m], one after
  /// another.
  ///
  /// They are scaled to 1 between a caption and itself. Where the metric tells candidate from
  /// reference, a pair has the mean of both directions, or, with `one_way`, its earlier caption is
  /// the candidate.
  std::vector<double> kernels(bool one_way, unsigned threads) const;
  /// Each candidate's score split over its n-grams, in order of n and first occurrence; up to
  /// rounding.
  std::vector<std::vector<NgramCredit>> credit(const Captions& candidates, const Captions* parts,
                                               std::span<const std::uint32_t> images,
                                               const Translation& translation) const;

  /// Each candidate's score split over its words; up to rounding.
  WordShares word_shares(const Captions& candidates, const Captions* parts,
                         std::span<const std::uint32_t> images, const Translation& translation,
                         unsigned threads) const;

  const NgramIndex& index() const { return base_->weights.index(); }
  unsigned order() const { return static_cast<unsigned>(settings_.order_weights.size()); }

  struct Worker;  // one thread's scratch space

 private:
  /// What all variants share.
  struct Base {
    Weights weights;
    std::vector<double> norms;  // of the references, [captions, order]
  };

  Cider(std::shared_ptr<const Base> base, CiderSettings settings,
        std::shared_ptr<const Captions> parts);
  void assign(Worker& worker, std::span<const std::uint32_t> candidate,
              const Translation& translation) const;
  void assign_parts(Worker& worker, std::span<const std::uint32_t> parts,
                    const Translation& translation) const;
  void check_parts() const;
  double combine(Worker& worker, std::size_t words, std::uint64_t first,
                 std::span<const double> similarities) const;
  std::vector<std::size_t> similarity_offsets(std::span<const std::uint32_t> images) const;
  double similarity(Worker& worker, std::uint64_t reference) const;
  void check(const Captions& candidates, const Captions* parts,
             std::span<const std::uint32_t> images, const Translation& translation) const;
  double clip_ratio(std::size_t words, std::size_t reference_words) const;
  double penalty(Worker& worker, std::size_t words, std::uint64_t reference) const;
  struct ReferenceRange {
    std::uint64_t first, last;
  };
  /// The references that an image's scores come from: all, or the one most similar to the
  /// candidate.
  ReferenceRange compared(Worker& worker, std::size_t image) const;
  std::vector<NgramCredit> credit_one(Worker& worker, ReferenceRange references) const;
  void share_lacks(Worker& worker, std::uint64_t reference, double share, std::span<double> lacks,
                   std::span<std::uint8_t> lacking) const;
  void share_out(Worker& worker, unsigned n, std::uint64_t reference, double share,
                 std::span<NgramCredit> credits) const;
  double log_repetition(Worker& worker, std::size_t reference) const;
  class SetKernel;  // what `kernels` keeps of one image

  std::shared_ptr<const Base> base_;
  CiderSettings settings_;
  std::shared_ptr<const Captions> parts_;
};

}  // namespace cidery
