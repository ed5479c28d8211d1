#include "overlap.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "parallel.hpp"
#include "subsequence.hpp"

namespace cidery {
namespace {

using Words = std::span<const std::uint32_t>;

constexpr std::uint64_t kNoCaption = ~std::uint64_t{0};

/// Calls measure(scratch, words, image, row) for each candidate, in parallel; a row has `columns`
/// values.
template <class Scratch, class Measure>
std::vector<double> rows_of(const NgramIndex& index, const Captions& candidates,
                            std::span<const std::uint32_t> images, const Translation& translation,
                            std::size_t columns, unsigned threads, const Measure& measure) {
  check_candidates(candidates, images, index.images(), translation);
  std::vector<double> rows(candidates.size() * columns);
  constexpr std::size_t kWorthAThread = 128;
  parallel_shares(candidates.size(), worker_count(threads, candidates.size() / kWorthAThread),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    Scratch scratch;
                    std::vector<std::uint32_t> words;
                    for (std::size_t i = begin; i < end; ++i) {
                      spell(candidates[i], translation.words, words);
                      if (index.first_caption(images[i]) == index.first_caption(images[i] + 1)) {
                        throw std::invalid_argument("an image has no references");
                      }
                      measure(scratch, Words(words), images[i],
                              std::span(rows).subspan(i * columns, columns));
                    }
                  });
  return rows;
}

/// Best precision and best recall over the references, each perhaps from another one: equations
/// (10)-(11), (13)-(14).
template <class Prepare, class Compare>
void best_of_references(const NgramIndex& index, std::size_t image, std::span<double> row,
                        const Prepare& prepare, const Compare& compare) {
  prepare();
  for (std::uint64_t r = index.first_caption(image); r < index.first_caption(image + 1); ++r) {
    const auto [precision, recall] = compare(index.captions()[r]);
    row[0] = std::max(row[0], precision);
    row[1] = std::max(row[1], recall);
  }
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

double ngram_count(std::size_t words, unsigned n) {
  return words >= n ? static_cast<double>(words - n + 1) : 0.0;
}

/// `left_out` is a reference that does not count, if it is one of the image's.
double reference_length(const NgramIndex& index, std::size_t image, double candidate,
                        Overlap::ReferenceLength option, std::uint64_t left_out = kNoCaption) {
  double chosen = -1;
  double sum = 0;
  double count = 0;
  for (std::uint64_t r = index.first_caption(image); r < index.first_caption(image + 1); ++r) {
    if (r == left_out) continue;
    const double length = static_cast<double>(index.captions()[r].size());
    sum += length;
    ++count;
    if (chosen < 0) {
      chosen = length;
    } else if (option == Overlap::ReferenceLength::shortest) {
      chosen = std::min(chosen, length);
    } else {  // closest; of two equally close ones the shorter
      const double near = std::abs(length - candidate);
      const double so_far = std::abs(chosen - candidate);
      if (near < so_far || (near == so_far && length < chosen)) chosen = length;
    }
  }
  return option == Overlap::ReferenceLength::average ? sum / count : chosen;
}

/// Clipped matches of a candidate with the references of its image, order by order. An n-gram can
/// only match where its first n-1 words do, so from order to order fewer places need a look.
class ClippedMatches {
 public:
  /// Sets matches[n - 1] to Σ min(count in the candidate, most in a reference) over its n-grams.
  void count(const NgramIndex& index, Words words, std::size_t image, std::span<double> matches) {
    const std::uint64_t first = index.first_caption(image);
    const std::size_t references = index.first_caption(image + 1) - first;
    if (places_.size() < references) places_.resize(references);
    trie_.start(words);
    bool any = true;
    for (unsigned n = 1; n <= matches.size() && any; ++n) {
      if (n > 1) trie_.lengthen(n);
      const auto items = trie_.items(n);
      most_.assign(items.size(), 0);
      any = false;
      for (std::size_t r = 0; r < references; ++r) {
        if (n > 1 && places_[r].empty()) continue;
        trie_.match(n, index.captions()[first + r], places_[r],
                    [&](std::uint32_t i, std::uint32_t count) {
                      most_[i] = std::max(most_[i], count);
                      any = true;
                    });
      }
      for (std::size_t i = 0; i < most_.size(); ++i)
        matches[n - 1] += std::min(most_[i], items[i].count);
    }
  }

 private:
  CaptionTrie trie_;
  std::vector<std::uint32_t> most_;
  std::vector<CaptionTrie::Places> places_;  // by reference
};

}  // namespace

Translation Overlap::translate(const Vocabulary& words) const {
  Translation translation;
  translation.words = cidery::translate(words, *index_->captions().vocabulary);
  return translation;
}

std::vector<double> Overlap::bleu(const Captions& candidates, std::span<const std::uint32_t> images,
                                  const Translation& translation, unsigned order,
                                  ReferenceLength option, unsigned threads) const {
  if (order < 1 || order > index_->order())
    throw std::invalid_argument("the references hold too short n-grams");
  const NgramIndex& index = *index_;
  return rows_of<ClippedMatches>(
      index, candidates, images, translation, 2 + 2 * std::size_t{order}, threads,
      [&](ClippedMatches& matches, Words words, std::size_t image, std::span<double> row) {
        row[0] = static_cast<double>(words.size());
        row[1] = reference_length(index, image, row[0], option);
        matches.count(index, words, image, row.subspan(2, order));
        for (unsigned n = 1; n <= order; ++n) row[1 + order + n] = ngram_count(words.size(), n);
      });
}

std::vector<double> Overlap::bleu_left_out(unsigned order, ReferenceLength option,
                                           unsigned threads) const {
  const NgramIndex& index = *index_;
  if (order < 1 || order > index.order())
    throw std::invalid_argument("the references hold too short n-grams");
  struct Occurrence {
    std::uint32_t id, caption, count;
  };
  const std::size_t columns = 2 + 2 * std::size_t{order};
  std::vector<double> rows(index.captions().size() * columns);

  const auto fill_lengths = [&](std::size_t image, std::uint64_t caption) {
    const std::size_t words = index.captions()[caption].size();
    double* row = &rows[caption * columns];
    row[0] = static_cast<double>(words);
    row[1] = reference_length(index, image, row[0], option, caption);
    for (unsigned n = 1; n <= order; ++n) row[1 + order + n] = ngram_count(words, n);
  };
  // The most that any *other* caption has of an n-gram is the most of all, or, for the caption that
  // has the most, the second most.
  const auto add_matches = [&](std::span<const Occurrence> same_id, unsigned n) {
    std::uint32_t most = 0, second = 0, owner = kNone;
    for (const auto& occurrence : same_id) {
      if (occurrence.count > most) {
        second = std::exchange(most, occurrence.count);
        owner = occurrence.caption;
      } else {
        second = std::max(second, occurrence.count);
      }
    }
    for (const auto& [id, caption, count] : same_id)
      rows[caption * columns + 1 + n] += std::min(count, caption == owner ? second : most);
  };

  constexpr std::size_t kWorthAThread = 64;
  parallel_shares(
      index.images(), worker_count(threads, index.images() / kWorthAThread),
      [&](std::size_t begin, std::size_t end, unsigned) {
        Tally tally;
        std::vector<Occurrence> all;
        for (std::size_t image = begin; image < end; ++image) {
          const std::uint64_t first = index.first_caption(image);
          const std::uint64_t last = index.first_caption(image + 1);
          if (last - first < 2)
            throw std::invalid_argument("an image has no other reference to compare with");
          for (std::uint64_t caption = first; caption < last; ++caption)
            fill_lengths(image, caption);
          for (unsigned n = 1; n <= order; ++n) {
            all.clear();
            for (std::uint64_t caption = first; caption < last; ++caption) {
              tally.assign(index.ids(n, caption));
              for (const auto& item : tally.items())
                all.push_back({item.key, static_cast<std::uint32_t>(caption), item.count});
            }
            std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
              return a.id != b.id ? a.id < b.id : a.caption < b.caption;
            });
            for (std::size_t at = 0; at < all.size();) {
              const std::size_t from = at;
              while (at < all.size() && all[at].id == all[from].id) ++at;
              add_matches(std::span(all).subspan(from, at - from), n);
            }
          }
        }
      });
  return rows;
}

std::vector<double> Overlap::rouge_n(const Captions& candidates,
                                     std::span<const std::uint32_t> images,
                                     const Translation& translation, unsigned n,
                                     unsigned threads) const {
  const NgramIndex& index = *index_;
  if (n < 1 || n > index.order())
    throw std::invalid_argument("the references hold too short n-grams");
  return rows_of<CaptionTrie>(
      index, candidates, images, translation, 3, threads,
      [&](CaptionTrie& trie, Words words, std::size_t image, std::span<double> row) {
        trie.start(words);
        for (unsigned longer = 2; longer <= n; ++longer) trie.lengthen(longer);
        for (std::uint64_t r = index.first_caption(image); r < index.first_caption(image + 1);
             ++r) {
          trie.match(n, index.captions()[r], [&](std::uint32_t i, std::uint32_t count) {
            row[0] += std::min(count, trie.items(n)[i].count);
          });
          row[1] += ngram_count(index.captions()[r].size(), n);
          row[2] += ngram_count(words.size(), n);
        }
      });
}

std::vector<double> Overlap::rouge_l(const Captions& candidates,
                                     std::span<const std::uint32_t> images,
                                     const Translation& translation, bool empty_is_a_word,
                                     unsigned threads) const {
  const NgramIndex& index = *index_;
  return rows_of<CommonSubsequence>(
      index, candidates, images, translation, 2, threads,
      [&](CommonSubsequence& subsequence, Words words, std::size_t image, std::span<double> row) {
        best_of_references(
            index, image, row, [&] { subsequence.assign(words); },
            [&](Words reference) -> std::pair<double, double> {
              if (empty_is_a_word && (words.empty() || reference.empty())) {
                const double same = words.empty() && reference.empty() ? 1.0 : 0.0;
                return {same, same};
              }
              const auto common = static_cast<double>(subsequence.length(reference));
              return {ratio(common, static_cast<double>(words.size())),
                      ratio(common, static_cast<double>(reference.size()))};
            });
      });
}

std::vector<double> Overlap::rouge_w(const Captions& candidates,
                                     std::span<const std::uint32_t> images,
                                     const Translation& translation, double exponent,
                                     unsigned threads) const {
  const NgramIndex& index = *index_;
  struct Scratch {
    WeightedSubsequence subsequence;
  };
  return rows_of<Scratch>(
      index, candidates, images, translation, 2, threads,
      [&](Scratch& scratch, Words words, std::size_t image, std::span<double> row) {
        best_of_references(
            index, image, row, [] {},
            [&](Words reference) -> std::pair<double, double> {
              const double common = scratch.subsequence.weight(words, reference, exponent);
              // f⁻¹(common / f(length)), with f(k) = k^exponent
              return {std::pow(ratio(common, std::pow(words.size(), exponent)), 1 / exponent),
                      std::pow(ratio(common, std::pow(reference.size(), exponent)), 1 / exponent)};
            });
      });
}

std::vector<double> Overlap::rouge_s(const Captions& candidates,
                                     std::span<const std::uint32_t> images,
                                     const Translation& translation, int skip,
                                     unsigned threads) const {
  const NgramIndex& index = *index_;
  return rows_of<SkipPairs>(
      index, candidates, images, translation, 2, threads,
      [&](SkipPairs& pairs, Words words, std::size_t image, std::span<double> row) {
        best_of_references(
            index, image, row, [&] { pairs.assign(words, skip); },
            [&](Words reference) -> std::pair<double, double> {
              const double common = pairs.common(reference);
              return {ratio(common, SkipPairs::count(words.size(), skip)),
                      ratio(common, SkipPairs::count(reference.size(), skip))};
            });
      });
}

}  // namespace cidery
