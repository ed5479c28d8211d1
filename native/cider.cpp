#include "cider.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cider_worker.hpp"
#include "parallel.hpp"

namespace cidery {
namespace {

/// `counts` are those of RepeatCounter.
double norm(const Weights& weights, unsigned n, std::span<const std::uint32_t> ids,
            std::span<const std::uint32_t> counts) {
  const auto weight = weights.of_order(n);
  double sum = 0;
  if (counts.empty()) {  // no n-gram stands twice
    for (const std::uint32_t id : ids) sum += weight(id) * weight(id);
    return std::sqrt(sum);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const double value = counts[i] * weight(ids[i]);  // 0 where it stands again
    sum += value * value;
  }
  return std::sqrt(sum);
}

std::vector<double> reference_norms(const Weights& weights, unsigned order, unsigned threads) {
  const NgramIndex& index = weights.index();
  const std::size_t captions = index.captions().size();
  std::vector<double> norms(captions * order);
  constexpr std::size_t kWorthAThread = 512;
  parallel_shares(captions, worker_count(threads, captions / kWorthAThread),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    RepeatCounter repeats(index.captions().vocabulary->size());
                    for (std::size_t caption = begin; caption < end; ++caption) {
                      for (unsigned n = 1; n <= order; ++n) {
                        const auto ids = index.ids(n, caption);
                        norms[caption * order + n - 1] =
                            norm(weights, n, ids, n == 1 ? repeats.start(ids) : repeats.count(ids));
                      }
                    }
                  });
  return norms;
}

}  // namespace

Cider::Cider(std::shared_ptr<const NgramIndex> index, std::shared_ptr<const FrequencyTrie> trie,
             double log_image_count, CiderSettings settings, std::shared_ptr<const Captions> parts,
             unsigned threads)
    : settings_(std::move(settings)), parts_(std::move(parts)) {
  if (order() < 1 || order() > index->order()) {
    throw std::invalid_argument("the references hold too short n-grams");
  }
  Weights weights(std::move(index), std::move(trie), order(), log_image_count,
                  settings_.uniform_idf);
  auto norms = reference_norms(weights, order(), threads);
  base_ = std::make_shared<const Base>(Base{std::move(weights), std::move(norms)});
  check_parts();
}

Cider::Cider(std::shared_ptr<const Base> base, CiderSettings settings,
             std::shared_ptr<const Captions> parts)
    : base_(std::move(base)), settings_(std::move(settings)), parts_(std::move(parts)) {
  check_parts();
}

void Cider::check_parts() const {
  if (settings_.penalty == LengthPenalty::relative &&
      (!parts_ || parts_->size() != index().captions().size())) {
    throw std::invalid_argument("the repetition penalty needs the words of every reference");
  }
}

Cider Cider::variant(CiderSettings settings, std::shared_ptr<const Captions> parts) const {
  if (settings.order_weights.size() != settings_.order_weights.size() ||
      settings.uniform_idf != settings_.uniform_idf) {
    throw std::invalid_argument("a variant has the same order and the same kind of weights");
  }
  return Cider(base_, std::move(settings), std::move(parts));
}

Translation Cider::translate(const Vocabulary& words, const Vocabulary* parts) const {
  Translation translation;
  translation.words = cidery::translate(words, *index().captions().vocabulary);
  if (const FrequencyTrie* trie = base_->weights.trie()) {
    translation.frequency.reserve(words.size());
    for (std::uint32_t id = 0; id < words.size(); ++id)
      translation.frequency.push_back(trie->vocabulary().find(words[id]));
  }
  if (parts != nullptr && parts_)
    translation.parts = cidery::translate(*parts, *parts_->vocabulary);
  return translation;
}

/// The logarithm of equation (6).
double Cider::log_repetition(Worker& worker, std::size_t reference) const {
  const auto items = worker.parts.items(1);
  if (items.empty()) return 0.0;
  // f(w) as if no word were shared, then corrected for the shared ones. Most words stand once.
  double log_sum = 0;
  double length = 0;  // l(c)
  for (const auto& item : items) {
    length += item.count;
    if (item.count > 1) log_sum -= std::log(item.count);
  }
  worker.parts.match(1, (*parts_)[reference], [&](std::uint32_t i, std::uint32_t there) {
    if (items[i].count == 1 && there == 1) return;
    const double here = items[i].count;
    log_sum += std::log(here) - std::log(1.0 + std::abs(here - static_cast<double>(there)));
  });
  return log_sum / (settings_.mean_repetition ? static_cast<double>(items.size()) : length);
}

void Cider::assign_parts(Worker& worker, std::span<const std::uint32_t> parts,
                         const Translation& translation) const {
  spell(parts, translation.parts, worker.part_words);
  worker.parts.start(worker.part_words);
}

void Cider::assign(Worker& worker, std::span<const std::uint32_t> candidate,
                   const Translation& translation) const {
  spell(candidate, translation.words, worker.words);
  if (base_->weights.trie()) spell(candidate, translation.frequency, worker.frequency_words);
  worker.ngrams.assign(index(), worker.words, order(), &base_->weights, worker.frequency_words);
  worker.norms.assign(order(), 0.0);
  for (unsigned n = 1; n <= order(); ++n) {
    const auto items = worker.ngrams.items(n);
    const auto weights = worker.ngrams.weights(n);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const double weight = items[i].count * weights[i];
      worker.norms[n - 1] += weight * weight;
    }
    worker.norms[n - 1] = std::sqrt(worker.norms[n - 1]);
  }
}

double Cider::clip_ratio(std::size_t words, std::size_t reference_words) const {
  // Only the ratio of the two totals matters: both norms carry them too.
  return settings_.relative_counts && reference_words > 0
             ? ngram_total(words, order()) / ngram_total(reference_words, order())
             : 1.0;
}

double Cider::similarity(Worker& worker, std::uint64_t reference) const {
  const NgramIndex& references = index();
  const double ratio = clip_ratio(worker.words.size(), references.captions()[reference].size());
  double similarity = 0;
  const auto words = references.captions()[reference];
  for (unsigned n = 1; n <= order(); ++n) {
    const double product = worker.norms[n - 1] * base_->norms[reference * order() + n - 1];
    const auto items = worker.ngrams.items(n);
    const auto weights = worker.ngrams.weights(n);
    double dot = 0;
    worker.ngrams.trie().match(n, words, worker.places, [&](std::uint32_t i, std::uint32_t count) {
      const double here = items[i].count * weights[i];
      const double there = count * weights[i];
      dot += (settings_.clip ? std::min(here, there * ratio) : here) * there;
    });
    if (product != 0) similarity += settings_.order_weights[n - 1] * (dot / product);
    if (worker.places.empty()) break;
  }
  return similarity;
}

double Cider::penalty(Worker& worker, std::size_t words, std::uint64_t reference) const {
  if (settings_.penalty == LengthPenalty::none) return 1.0;
  const auto length = static_cast<double>(index().captions()[reference].size());
  if (length == 0) return 1.0;  // nothing is similar to an empty reference
  const double square = std::pow(static_cast<double>(words) - length, 2);
  if (settings_.penalty == LengthPenalty::gaussian) {
    return std::exp(-square / (2 * settings_.sigma * settings_.sigma));
  }
  const double k = settings_.repetition_weight;
  return std::exp(k * log_repetition(worker, reference) - (1 - k) * square / (length * length));
}

double Cider::combine(Worker& worker, std::size_t words, std::uint64_t first,
                      std::span<const double> similarities) const {
  double sum = 0;
  double best = 0;
  for (std::size_t i = 0; i < similarities.size(); ++i) {
    double value = similarities[i];
    if (value != 0) value *= penalty(worker, words, first + i);
    sum += value;
    best = i == 0 ? value : std::max(best, value);
  }
  return settings_.scale *
         (settings_.best_reference ? best : sum / static_cast<double>(similarities.size()));
}

std::vector<std::size_t> Cider::similarity_offsets(std::span<const std::uint32_t> images) const {
  std::vector<std::size_t> offsets{0};
  offsets.reserve(images.size() + 1);
  for (const std::uint32_t image : images) {
    const std::uint64_t count = index().first_caption(image + 1) - index().first_caption(image);
    if (count == 0) throw std::invalid_argument("an image has no references");
    offsets.push_back(offsets.back() + count);
  }
  return offsets;
}

void Cider::check(const Captions& candidates, const Captions* parts,
                  std::span<const std::uint32_t> images, const Translation& translation) const {
  check_candidates(candidates, images, index().images(), translation);
  if (settings_.penalty == LengthPenalty::relative &&
      (parts == nullptr || parts->size() != candidates.size() ||
       translation.parts.size() != parts->vocabulary->size())) {
    throw std::invalid_argument("the repetition penalty needs the words of every candidate");
  }
}

std::vector<double> Cider::similarities(const Captions& candidates,
                                        std::span<const std::uint32_t> images,
                                        const Translation& translation, unsigned threads) const {
  check_candidates(candidates, images, index().images(), translation);
  const auto offsets = similarity_offsets(images);
  std::vector<double> values(offsets.back());
  constexpr std::size_t kWorthAThread = 256;  // a caption takes 2 µs, starting a thread some 50
  parallel_shares(images.size(), worker_count(threads, images.size() / kWorthAThread),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    Worker worker;
                    for (std::size_t i = begin; i < end; ++i) {
                      assign(worker, candidates[i], translation);
                      const std::uint64_t first = index().first_caption(images[i]);
                      for (std::size_t at = offsets[i]; at < offsets[i + 1]; ++at) {
                        values[at] = similarity(worker, first + (at - offsets[i]));
                      }
                    }
                  });
  return values;
}

std::vector<double> Cider::measure(const Captions& candidates, const Captions* parts,
                                   std::span<const std::uint32_t> images,
                                   const Translation& translation,
                                   std::span<const double> similarities, unsigned threads) const {
  check(candidates, parts, images, translation);
  const auto offsets = similarity_offsets(images);
  if (similarities.size() != offsets.back()) {
    throw std::invalid_argument("one similarity per candidate and reference is needed");
  }
  std::vector<double> values(candidates.size());
  constexpr std::size_t kWorthAThread = 1024;
  parallel_shares(values.size(), worker_count(threads, values.size() / kWorthAThread),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    Worker worker;
                    for (std::size_t i = begin; i < end; ++i) {
                      if (settings_.penalty == LengthPenalty::relative) {
                        assign_parts(worker, (*parts)[i], translation);
                      }
                      values[i] =
                          combine(worker, candidates[i].size(), index().first_caption(images[i]),
                                  similarities.subspan(offsets[i], offsets[i + 1] - offsets[i]));
                    }
                  });
  return values;
}

}  // namespace cidery
