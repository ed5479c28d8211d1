#include "cider.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "parallel.hpp"

namespace cidery {
namespace {

/// How many n-grams of orders 1 … order a caption of so many words has: Σ h of equation (1).
double ngram_total(std::size_t words, unsigned order) {
  double total = 0;
  for (unsigned n = 1; n <= order; ++n)
    total += words >= n ? static_cast<double>(words - n + 1) : 0.0;
  return total;
}

}  // namespace

struct Cider::Worker {
  CandidateNgrams ngrams;
  Tally parts;
  std::vector<std::uint32_t> words, frequency_words, part_words;
  std::vector<double> norms;
};

Cider::Cider(std::shared_ptr<const NgramIndex> index, std::shared_ptr<const FrequencyTrie> trie,
             double log_image_count, CiderSettings settings, std::shared_ptr<const Captions> parts,
             unsigned threads)
    : weights_(index, std::move(trie), static_cast<unsigned>(settings.order_weights.size()),
               log_image_count, settings.uniform_idf),
      settings_(std::move(settings)),
      parts_(std::move(parts)) {
  if (order() < 1 || order() > index->order())
    throw std::invalid_argument("the references hold too short n-grams");
  const std::size_t captions = index->captions().size();
  if (settings_.penalty == LengthPenalty::relative && (!parts_ || parts_->size() != captions)) {
    throw std::invalid_argument("the repetition penalty needs the words of every reference");
  }
  norms_.resize(captions * order());
  constexpr std::size_t kWorthAThread = 512;
  parallel_shares(captions, worker_count(threads, captions / kWorthAThread),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    RepeatCounter repeats;
                    for (std::size_t caption = begin; caption < end; ++caption) {
                      repeats.start(index->captions()[caption].size());
                      for (unsigned n = 1; n <= order(); ++n) {
                        norms_[caption * order() + n - 1] =
                            norm(n, index->ids(n, caption), repeats);
                      }
                    }
                  });
}

double Cider::norm(unsigned n, std::span<const std::uint32_t> ids, RepeatCounter& repeats) const {
  const auto counts = repeats.count(ids);
  const auto weight = weights_.of_order(n);
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

Translation Cider::translate(const Vocabulary& words, const Vocabulary* parts) const {
  Translation translation;
  translation.words = cidery::translate(words, *index().captions().vocabulary);
  if (const FrequencyTrie* trie = weights_.trie()) {
    translation.frequency.reserve(words.size());
    for (std::uint32_t id = 0; id < words.size(); ++id)
      translation.frequency.push_back(trie->vocabulary().find(words[id]));
  }
  if (parts != nullptr && parts_)
    translation.parts = cidery::translate(*parts, *parts_->vocabulary);
  return translation;
}

double Cider::length_penalty(double difference, double reference_length) const {
  if (settings_.penalty == LengthPenalty::gaussian) {
    return std::exp(-(difference * difference) / (2 * settings_.sigma * settings_.sigma));
  }
  if (reference_length == 0) return difference == 0 ? 1.0 : 0.0;
  return std::exp(-(difference * difference) / (reference_length * reference_length));
}

double Cider::repetition_penalty(Worker& worker, std::size_t reference) const {
  const auto items = worker.parts.items();
  if (items.empty()) return 1.0;
  // f(w) of equation (6) as if no word were shared, then corrected for the shared ones.
  double log_sum = 0;
  for (const auto& item : items) log_sum -= std::log(item.count);
  worker.parts.match((*parts_)[reference], [&](std::uint32_t i, std::uint32_t there) {
    const double here = items[i].count;
    log_sum += std::log(here) - std::log(1.0 + std::abs(here - static_cast<double>(there)));
  });
  double root = static_cast<double>(items.size());
  if (!settings_.mean_repetition) {
    root = 0;
    for (const auto& item : items) root += item.count;  // l(c)
  }
  return std::exp(log_sum / root);
}

void Cider::assign(Worker& worker, std::span<const std::uint32_t> candidate,
                   std::span<const std::uint32_t> parts, const Translation& translation) const {
  spell(candidate, translation.words, worker.words);
  if (weights_.trie()) spell(candidate, translation.frequency, worker.frequency_words);
  if (settings_.penalty == LengthPenalty::relative) {
    spell(parts, translation.parts, worker.part_words);
    worker.parts.assign(worker.part_words);
  }
  worker.ngrams.assign(index(), worker.words, order(), &weights_, worker.frequency_words);
  worker.norms.assign(order(), 0.0);
  for (unsigned n = 1; n <= order(); ++n) {
    const auto items = worker.ngrams.tally(n).items();
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
  for (unsigned n = 1; n <= order(); ++n) {
    const double product = worker.norms[n - 1] * norms_[reference * order() + n - 1];
    if (product == 0) continue;
    const auto items = worker.ngrams.tally(n).items();
    const auto weights = worker.ngrams.weights(n);
    double dot = 0;
    worker.ngrams.tally(n).match(
        references.ids(n, reference), [&](std::uint32_t i, std::uint32_t count) {
          const double here = items[i].count * weights[i];
          const double there = count * weights[i];
          dot += (settings_.clip ? std::min(here, there * ratio) : here) * there;
        });
    similarity += settings_.order_weights[n - 1] * (dot / product);
  }
  return similarity;
}

double Cider::penalty(Worker& worker, std::uint64_t reference) const {
  if (settings_.penalty == LengthPenalty::none) return 1.0;
  const auto length = static_cast<double>(worker.words.size());
  const auto reference_length = static_cast<double>(index().captions()[reference].size());
  const double by_length = length_penalty(length - reference_length, reference_length);
  if (settings_.penalty == LengthPenalty::gaussian) return by_length;
  return std::pow(repetition_penalty(worker, reference), settings_.repetition_weight) *
         std::pow(by_length, 1 - settings_.repetition_weight);
}

double Cider::measure_one(Worker& worker, std::size_t image) const {
  const std::uint64_t first = index().first_caption(image);
  const std::uint64_t last = index().first_caption(image + 1);
  if (first == last) throw std::invalid_argument("an image has no references");
  double sum = 0;
  double best = 0;
  for (std::uint64_t reference = first; reference < last; ++reference) {
    double value = similarity(worker, reference);
    if (value != 0) value *= penalty(worker, reference);
    sum += value;
    best = reference == first ? value : std::max(best, value);
  }
  return settings_.scale *
         (settings_.best_reference ? best : sum / static_cast<double>(last - first));
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

std::vector<double> Cider::measure(const Captions& candidates, const Captions* parts,
                                   std::span<const std::uint32_t> images,
                                   const Translation& translation, unsigned threads) const {
  check(candidates, parts, images, translation);
  std::vector<double> values(candidates.size());
  constexpr std::size_t kWorthAThread = 256;  // a caption takes 2 µs, starting a thread some 50
  parallel_shares(values.size(), worker_count(threads, values.size() / kWorthAThread),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    Worker worker;
                    for (std::size_t i = begin; i < end; ++i) {
                      assign(worker, candidates[i], parts ? (*parts)[i] : candidates[i],
                             translation);
                      values[i] = measure_one(worker, images[i]);
                    }
                  });
  return values;
}

/// One image's captions compared with each other. One object serves a worker for all its images.
class Cider::SetKernel {
 public:
  explicit SetKernel(const Cider& cider)
      : cider_(cider),
        symmetric_(!cider.settings_.clip && cider.settings_.penalty == LengthPenalty::none) {}

  /// Fills `matrix`, [m, m], for the m captions from `first` on.
  void fill(std::uint64_t first, std::size_t m, bool one_way, std::span<double> matrix) {
    first_ = first;
    m_ = m;
    own_.assign(m, 0.0);
    std::fill(matrix.begin(), matrix.end(), 0.0);
    for (unsigned n = 1; n <= cider_.order(); ++n) add_order(n, matrix);
    for (std::size_t i = 0; i < m; ++i) {
      if (cider_.settings_.penalty == LengthPenalty::relative)
        worker_.parts.assign((*cider_.parts_)[first + i]);
      for (std::size_t j = symmetric_ || one_way ? i + 1 : 0; j < m; ++j) {
        if (i != j) matrix[i * m + j] = finish(i, j, matrix[i * m + j]);
      }
    }
    for (std::size_t i = 0; i < m; ++i) {
      matrix[i * m + i] = 1.0;
      for (std::size_t j = i + 1; j < m; ++j) {
        double& here = matrix[i * m + j];
        double& there = matrix[j * m + i];
        if (!symmetric_ && !one_way) here = (here + there) / 2;
        there = here;
      }
    }
  }

 private:
  /// An n-gram's occurrences in one caption; `next` is its posting in an earlier caption.
  struct Posting {
    std::uint32_t caption, count, next;
  };

  std::span<const std::uint32_t> words(std::size_t i) const {
    return cider_.index().captions()[first_ + i];
  }
  double norm(std::size_t i, unsigned n) const {
    return cider_.norms_[(first_ + i) * cider_.order() + n - 1];
  }
  double clip_ratio(std::size_t i, std::size_t j) const {
    if (!cider_.settings_.relative_counts) return 1.0;
    return ngram_total(words(i).size(), cider_.order()) /
           ngram_total(words(j).size(), cider_.order());
  }

  /// Adds the order's share of every pair's similarity. Only n-grams that captions share cost.
  void add_order(unsigned n, std::span<double> matrix) {
    list_postings(n);
    dots_.assign(m_ * m_, 0.0);
    for (std::size_t number = 0; number < ids_.size(); ++number) {
      if (postings_[heads_[number]].next == kNone) continue;
      const double weight = cider_.weights_.of_id(n, ids_[number]);
      for (std::uint32_t a = heads_[number]; a != kNone; a = postings_[a].next) {
        for (std::uint32_t b = postings_[a].next; b != kNone; b = postings_[b].next)
          add_product(postings_[a], postings_[b], weight);
      }
    }
    const double order_weight = cider_.settings_.order_weights[n - 1];
    for (std::size_t i = 0; i < m_; ++i) {
      if (norm(i, n) == 0) continue;
      own_[i] += order_weight;
      for (std::size_t j = 0; j < m_; ++j) {
        const double dot = dots_[i * m_ + j];
        if (dot != 0) matrix[i * m_ + j] += order_weight * (dot / (norm(i, n) * norm(j, n)));
      }
    }
  }

  void list_postings(unsigned n) {
    std::size_t total = 0;
    for (std::size_t i = 0; i < m_; ++i) total += words(i).size();
    numbers_.reset(total);
    ids_.clear();
    heads_.clear();
    postings_.clear();
    for (std::uint32_t i = 0; i < m_; ++i) {
      for (const std::uint32_t id : cider_.index().ids(n, first_ + i)) {
        const auto [number, fresh] = numbers_.insert(id, static_cast<std::uint32_t>(ids_.size()));
        if (fresh) {
          ids_.push_back(id);
          heads_.push_back(kNone);
        }
        std::uint32_t& head = heads_[number];
        if (head != kNone && postings_[head].caption == i) {
          ++postings_[head].count;
        } else {
          postings_.push_back({i, 1, head});
          head = static_cast<std::uint32_t>(postings_.size() - 1);
        }
      }
    }
  }

  void add_product(const Posting& a, const Posting& b, double weight) {
    const double here = a.count * weight;
    const double there = b.count * weight;
    double& forward = dots_[a.caption * m_ + b.caption];
    double& backward = dots_[b.caption * m_ + a.caption];
    if (!cider_.settings_.clip) {
      forward += here * there;
      backward += here * there;
    } else {
      forward += std::min(here, there * clip_ratio(a.caption, b.caption)) * there;
      backward += std::min(there, here * clip_ratio(b.caption, a.caption)) * here;
    }
  }

  /// Of candidate i with reference j. A caption shorter than n words has no n-grams of that order,
  /// so its similarity with itself, own_, is less than 1: dividing by √(own_i own_j) mends that.
  double finish(std::size_t i, std::size_t j, double sum) {
    const auto here = words(i);
    const auto there = words(j);
    if (std::equal(here.begin(), here.end(), there.begin(), there.end())) return 1.0;
    if (sum == 0) return 0.0;
    const CiderSettings& settings = cider_.settings_;
    const double similarity = sum / std::sqrt(own_[i] * own_[j]);
    if (settings.penalty == LengthPenalty::none) return similarity;
    const auto length = static_cast<double>(there.size());
    const double by_length =
        cider_.length_penalty(static_cast<double>(here.size()) - length, length);
    if (settings.penalty == LengthPenalty::gaussian) return similarity * by_length;
    const double by_repetition = cider_.repetition_penalty(worker_, first_ + j);
    return similarity * std::pow(by_repetition, settings.repetition_weight) *
           std::pow(by_length, 1 - settings.repetition_weight);
  }

  const Cider& cider_;
  const bool symmetric_;
  Worker worker_;
  std::uint64_t first_ = 0;
  std::size_t m_ = 0;
  ScratchMap numbers_;                // n-gram id -> its number within the image
  std::vector<std::uint32_t> ids_;    // by number
  std::vector<std::uint32_t> heads_;  // by number: its last posting
  std::vector<Posting> postings_;
  std::vector<double> dots_;  // [m, m], of one order
  std::vector<double> own_;   // Σ of the weights of the orders that a caption has
};

std::vector<double> Cider::kernels(bool one_way, unsigned threads) const {
  const std::size_t images = index().images();
  std::vector<std::size_t> starts{0};
  for (std::size_t image = 0; image < images; ++image) {
    const std::size_t m = index().first_caption(image + 1) - index().first_caption(image);
    starts.push_back(starts.back() + m * m);
  }
  std::vector<double> matrices(starts.back());
  constexpr std::size_t kWorthAThread = 64;
  parallel_shares(images, worker_count(threads, images / kWorthAThread),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    SetKernel kernel(*this);
                    for (std::size_t image = begin; image < end; ++image) {
                      const std::uint64_t first = index().first_caption(image);
                      kernel.fill(first, index().first_caption(image + 1) - first, one_way,
                                  std::span(matrices).subspan(starts[image],
                                                              starts[image + 1] - starts[image]));
                    }
                  });
  return matrices;
}

std::vector<std::vector<NgramCredit>> Cider::credit(const Captions& candidates,
                                                    const Captions* parts,
                                                    std::span<const std::uint32_t> images,
                                                    const Translation& translation) const {
  check(candidates, parts, images, translation);
  std::vector<std::vector<NgramCredit>> credits;
  Worker worker;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    assign(worker, candidates[i], parts ? (*parts)[i] : candidates[i], translation);
    credits.push_back(credit_one(worker, images[i]));
  }
  return credits;
}

std::vector<NgramCredit> Cider::credit_one(Worker& worker, std::size_t image) const {
  std::uint64_t first = index().first_caption(image);
  std::uint64_t last = index().first_caption(image + 1);
  if (first == last) throw std::invalid_argument("an image has no references");
  if (settings_.best_reference) {
    std::uint64_t best = first;
    double most = -1;
    for (std::uint64_t r = first; r < last; ++r) {
      const double value = similarity(worker, r) * penalty(worker, r);
      if (value > most) {
        most = value;
        best = r;
      }
    }
    first = best;
    last = best + 1;
  }
  std::vector<NgramCredit> credits;
  for (unsigned n = 1; n <= order(); ++n) {
    const std::size_t begin = credits.size();
    const auto items = worker.ngrams.tally(n).items();
    const auto ids = worker.ngrams.ids(n);
    for (std::uint32_t at = 0; at < ids.size() && credits.size() - begin < items.size(); ++at) {
      const auto& item = items[credits.size() - begin];  // in order of first occurrence
      if (ids[at] == item.key) credits.push_back({n, at, item.count, 0.0, 0.0});
    }
    for (std::uint64_t r = first; r < last; ++r) {
      const double share = settings_.scale * settings_.order_weights[n - 1] /
                           static_cast<double>(last - first) * penalty(worker, r);
      share_out(worker, n, r, share, std::span(credits).subspan(begin));
    }
  }
  return credits;
}

void Cider::share_out(Worker& worker, unsigned n, std::uint64_t reference, double share,
                      std::span<NgramCredit> credits) const {
  const auto items = worker.ngrams.tally(n).items();
  const auto weights = worker.ngrams.weights(n);
  const double norm = worker.norms[n - 1];
  const double reference_norm = norms_[reference * order() + n - 1];
  if (norm * reference_norm == 0) return;
  const double ratio = clip_ratio(worker.words.size(), index().captions()[reference].size());

  // g: the candidate's vector; u: the part of it that this reference shares. The similarity is
  // u·s / (‖g‖ ‖s‖): u·s / (‖u‖ ‖s‖) is earned, and what g has beyond u costs the factor ‖u‖/‖g‖.
  std::vector<double> shared(items.size(), 0.0), products(items.size(), 0.0);
  double shared_square = 0;
  worker.ngrams.tally(n).match(index().ids(n, reference),
                               [&](std::uint32_t i, std::uint32_t count) {
                                 const double here = items[i].count * weights[i];
                                 const double there = count * weights[i];
                                 shared[i] = settings_.clip ? std::min(here, there * ratio) : here;
                                 products[i] = shared[i] * there;
                                 shared_square += shared[i] * shared[i];
                               });
  const double shared_norm = std::sqrt(shared_square);
  if (shared_norm == 0) return;
  double earned = 0;
  double excess = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double gain = share * (products[i] / (shared_norm * reference_norm));
    const double here = items[i].count * weights[i];
    credits[i].earned += gain;
    earned += gain;
    excess += here * here - shared[i] * shared[i];
  }
  if (excess <= 0) return;
  const double lost = earned * (1 - std::min(1.0, shared_norm / norm));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double here = items[i].count * weights[i];
    credits[i].cost -= lost * ((here * here - shared[i] * shared[i]) / excess);
  }
}

}  // namespace cidery
