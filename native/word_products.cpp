#include "word_products.hpp"

#include <stdexcept>

#include "candidate.hpp"
#include "parallel.hpp"

namespace cidery {

std::vector<double> word_products(const NgramIndex& index, std::span<const std::uint8_t> ignored,
                                  unsigned threads) {
  if (ignored.size() != index.captions().vocabulary->size())
    throw std::invalid_argument("one flag per word is needed");
  std::vector<std::size_t> starts{0};
  for (std::size_t image = 0; image < index.images(); ++image) {
    const std::size_t m = index.first_caption(image + 1) - index.first_caption(image);
    starts.push_back(starts.back() + m * m);
  }
  std::vector<double> matrices(starts.back());
  constexpr std::size_t kWorthAThread = 128;
  parallel_shares(index.images(), worker_count(threads, index.images() / kWorthAThread),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    Tally tally;
                    for (std::size_t image = begin; image < end; ++image) {
                      const std::uint64_t first = index.first_caption(image);
                      const std::size_t m = index.first_caption(image + 1) - first;
                      double* matrix = &matrices[starts[image]];
                      for (std::size_t i = 0; i < m; ++i) {
                        tally.assign(index.captions()[first + i]);
                        const auto items = tally.items();
                        for (std::size_t j = i; j < m; ++j) {
                          double sum = 0;
                          tally.match(index.captions()[first + j],
                                      [&](std::uint32_t item, std::uint32_t count) {
                                        if (!ignored[items[item].key])
                                          sum += static_cast<double>(items[item].count) * count;
                                      });
                          matrix[i * m + j] = matrix[j * m + i] = sum;
                        }
                      }
                    }
                  });
  return matrices;
}

}  // namespace cidery
