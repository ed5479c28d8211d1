// A score split over the n-grams, or the words, that earned and cost it.
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
    credits.push_back(credit_one(worker, compared(worker, images[i])));
  }
  return credits;
}

Cider::ReferenceRange Cider::compared(Worker& worker, std::size_t image) const {
  const std::uint64_t first = index().first_caption(image);
  const std::uint64_t last = index().first_caption(image + 1);
  if (first == last) throw std::invalid_argument("an image has no references");
  if (!settings_.best_reference) return {first, last};
  std::uint64_t best = first;
  double most = -1;
  for (std::uint64_t r = first; r < last; ++r) {
    const double value = similarity(worker, r) * penalty(worker, worker.words.size(), r);
    if (value > most) {
      most = value;
      best = r;
    }
  }
  return {best, best + 1};
}

std::vector<NgramCredit> Cider::credit_one(Worker& worker, ReferenceRange references) const {
  const auto [first, last] = references;
  std::vector<NgramCredit> credits;
  for (unsigned n = 1; n <= order(); ++n) {
    const std::size_t begin = credits.size();
    const auto items = worker.ngrams.items(n);
    const auto item_at = worker.ngrams.trie().item_at(n);
    for (std::uint32_t at = 0; at < item_at.size(); ++at) {
      const std::size_t next = credits.size() - begin;  // in order of first occurrence
      if (item_at[at] == next) credits.push_back({n, at, items[next].count, 0.0, 0.0});
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
  const auto items = worker.ngrams.items(n);
  const auto weights = worker.ngrams.weights(n);
  const double norm = worker.norms[n - 1];
  const double reference_norm = base_->norms[reference * order() + n - 1];
  if (norm * reference_norm == 0) return;
  const double ratio = clip_ratio(worker.words.size(), index().captions()[reference].size());

  // g: the candidate's vector; u: the part of it that this reference shares. The similarity is
  // u·s / (‖g‖ ‖s‖): u·s / (‖u‖ ‖s‖) is earned, and what g has beyond u costs the factor ‖u‖/‖g‖.
  std::vector<double> shared(items.size(), 0.0), products(items.size(), 0.0);
  double shared_square = 0;
  worker.ngrams.trie().match(n, index().captions()[reference],
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

WordShares Cider::word_shares(const Captions& candidates, const Captions* parts,
                              std::span<const std::uint32_t> images, const Translation& translation,
                              unsigned threads) const {
  check(candidates, parts, images, translation);
  const Captions& references = index().captions();
  std::vector<std::uint64_t> lack_offsets{0};
  lack_offsets.reserve(images.size() + 1);
  for (const std::uint32_t image : images) {
    lack_offsets.push_back(lack_offsets.back() +
                           references.offsets[index().first_caption(image + 1)] -
                           references.offsets[index().first_caption(image)]);
  }
  WordShares shares;
  shares.values.resize(candidates.words.size());
  shares.holders.resize(candidates.words.size());
  shares.lacks.resize(lack_offsets.back());
  shares.lacking.resize(lack_offsets.back());
  constexpr std::size_t kWorthAThread = 128;
  parallel_shares(
      images.size(), worker_count(threads, images.size() / kWorthAThread),
      [&](std::size_t begin, std::size_t end, unsigned) {
        Worker worker;
        for (std::size_t i = begin; i < end; ++i) {
          assign(worker, candidates[i], translation);
          if (settings_.penalty == LengthPenalty::relative) {
            assign_parts(worker, (*parts)[i], translation);
          }
          const std::span values(shares.values.data() + candidates.offsets[i],
                                 candidates[i].size());
          const ReferenceRange range = compared(worker, images[i]);
          for (const NgramCredit& credit : credit_one(worker, range)) {
            const auto item_at = worker.ngrams.trie().item_at(credit.order);
            const double part = (credit.earned + credit.cost) / (credit.count * credit.order);
            std::uint32_t left = credit.count;
            for (std::uint32_t at = credit.start; left > 0; ++at) {
              if (item_at[at] != item_at[credit.start]) continue;
              for (std::uint32_t k = 0; k < credit.order; ++k) values[at + k] += part;
              --left;
            }
          }
          const std::uint64_t first = index().first_caption(images[i]);
          const std::uint64_t last = index().first_caption(images[i] + 1);
          std::vector<std::uint32_t> holders(worker.ngrams.items(1).size(), 0);
          for (std::uint64_t r = first; r < last; ++r) {
            worker.ngrams.trie().match(1, references[r],
                                       [&](std::uint32_t item, std::uint32_t) { ++holders[item]; });
          }
          const auto item_at = worker.ngrams.trie().item_at(1);
          for (std::size_t at = 0; at < values.size(); ++at)
            shares.holders[candidates.offsets[i] + at] = holders[item_at[at]];
          const double share = settings_.scale / static_cast<double>(range.last - range.first);
          for (std::uint64_t r = range.first; r < range.last; ++r) {
            const std::size_t place =
                lack_offsets[i] + references.offsets[r] - references.offsets[first];
            const std::size_t words = references[r].size();
            share_lacks(worker, r, share, std::span(shares.lacks).subspan(place, words),
                        std::span(shares.lacking).subspan(place, words));
          }
        }
      });
  return shares;
}

void Cider::share_lacks(Worker& worker, std::uint64_t reference, double share,
                        std::span<double> lacks, std::span<std::uint8_t> lacking) const {
  // What n-grams are to the vector of equation (1), squared and in parts of 1; those that the
  // candidate has less often than the reference are lacking, the last ones first.
  std::vector<std::uint32_t> left;
  const CaptionTrie& trie = worker.ngrams.trie();
  const auto words = index().captions()[reference];
  std::vector<std::uint32_t> item_at(words.size());  // of the candidate, where the reference has it
  for (unsigned n = 1; n <= order(); ++n) {
    const auto ids = index().ids(n, reference);
    const auto items = worker.ngrams.items(n);
    const auto weight = base_->weights.of_order(n);
    const double norm = base_->norms[reference * order() + n - 1];
    left.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) left[i] = items[i].count;
    for (std::size_t at = 0; at < ids.size(); ++at) {
      const std::uint32_t item = n == 1 ? trie.find(words[at])
                                 : item_at[at] == kNone
                                     ? kNone
                                     : trie.find(n, item_at[at], words[at + n - 1]);
      item_at[at] = item;
      if (item != kNone && left[item] > 0) {
        --left[item];
        continue;
      }
      if (n == 1) lacking[at] = 1;
      if (norm == 0) continue;
      const double square = weight(ids[at]) / norm * (weight(ids[at]) / norm);
      for (unsigned k = 0; k < n; ++k)
        lacks[at + k] -= share * settings_.order_weights[n - 1] * square / n;
    }
  }
}

}  // namespace cidery
