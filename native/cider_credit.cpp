// A score split over the n-grams that earned and cost it, for rewards.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cider_worker.hpp"
#include "parallel.hpp"

namespace cidery {

std::vector<std::vector<NgramCredit>> Cider::credit(const Captions& candidates,
                                                    const Captions* parts,
                                                    std::span<const std::uint32_t> images,
                                                    const Translation& translation) const {
  check(candidates, parts, images, translation);
  std::vector<std::vector<NgramCredit>> credits;
  Worker worker;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    assign(worker, candidates[i], translation);
    if (settings_.penalty == LengthPenalty::relative) {
      assign_parts(worker, (*parts)[i], translation);
    }
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
      const double value = similarity(worker, r) * penalty(worker, worker.words.size(), r);
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
                           static_cast<double>(last - first) *
                           penalty(worker, worker.words.size(), r);
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
  const double reference_norm = base_->norms[reference * order() + n - 1];
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
