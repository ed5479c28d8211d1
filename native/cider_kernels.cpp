// The kernel of an image's captions with each other, for diversity.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cider_worker.hpp"
#include "parallel.hpp"

namespace cidery {

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
        worker_.parts.start((*cider_.parts_)[first + i]);
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
    return cider_.base_->norms[(first_ + i) * cider_.order() + n - 1];
  }
  double clip_ratio(std::size_t i, std::size_t j) const {
    return cider_.clip_ratio(words(i).size(), words(j).size());
  }

  /// Adds the order's share of every pair's similarity. Only n-grams that captions share cost.
  void add_order(unsigned n, std::span<double> matrix) {
    list_postings(n);
    dots_.assign(m_ * m_, 0.0);
    for (std::size_t number = 0; number < ids_.size(); ++number) {
      if (postings_[heads_[number]].next == kNone) continue;
      const double weight = cider_.base_->weights.of_id(n, ids_[number]);
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
    return sum / std::sqrt(own_[i] * own_[j]) * cider_.penalty(worker_, here.size(), first_ + j);
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

}  // namespace cidery
