#include "resample.hpp"

#include <stdexcept>

#include "parallel.hpp"

namespace cidery {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): one multiply-xorshift chain per draw, any state is a good
/// seed.
class Generator {
 public:
  Generator(std::uint64_t seed, std::uint64_t stream) : state_(seed) {
    state_ = next() + stream * 0xD1342543DE82EF95u;
  }
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

/// Maps 32 random bits to [0, count); the bias, below count / 2^32, is far under any interval's own
/// error.
std::size_t scale_down(std::uint64_t bits, std::size_t count) {
  return static_cast<std::size_t>((bits & 0xFFFFFFFFu) * count >> 32);
}

std::size_t height_of(std::span<const double> rows, std::size_t columns) {
  if (columns == 0 || rows.empty() || rows.size() % columns != 0)
    throw std::invalid_argument("there are no rows");
  if (rows.size() / columns >= 0xFFFFFFFFu)
    throw std::invalid_argument("too many rows to resample");
  return rows.size() / columns;
}

}  // namespace

std::vector<double> resample_sums(std::span<const double> rows, std::size_t columns,
                                  std::size_t resamples, std::uint64_t seed, unsigned threads) {
  const std::size_t height = height_of(rows, columns);
  std::vector<double> sums(resamples * columns);
  parallel_shares(resamples, worker_count(threads, resamples),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    std::vector<std::uint32_t> drawn(height);
                    for (std::size_t b = begin; b < end; ++b) {
                      std::fill(drawn.begin(), drawn.end(), 0u);
                      Generator generator(seed, b);
                      std::size_t i = 0;
                      for (; i + 2 <= height; i += 2) {
                        const std::uint64_t bits = generator.next();
                        ++drawn[scale_down(bits, height)];
                        ++drawn[scale_down(bits >> 32, height)];
                      }
                      if (i < height) ++drawn[scale_down(generator.next(), height)];
                      double* out = &sums[b * columns];
                      for (std::size_t row = 0; row < height; ++row) {
                        const double times = drawn[row];
                        for (std::size_t c = 0; c < columns; ++c)
                          out[c] += times * rows[row * columns + c];
                      }
                    }
                  });
  return sums;
}

std::vector<double> permute_sums(std::span<const double> rows, std::span<const double> other,
                                 std::size_t columns, std::size_t resamples, std::uint64_t seed,
                                 unsigned threads) {
  const std::size_t height = height_of(rows, columns);
  if (other.size() != rows.size()) throw std::invalid_argument("the two sides differ in size");
  std::vector<double> sums(resamples * 2 * columns);
  parallel_shares(resamples, worker_count(threads, resamples),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    for (std::size_t b = begin; b < end; ++b) {
                      Generator generator(seed, b);
                      double* first = &sums[b * 2 * columns];
                      double* second = first + columns;
                      std::uint64_t bits = 0;
                      for (std::size_t row = 0; row < height; ++row) {
                        if (row % 64 == 0) bits = generator.next();
                        const bool swap = bits >> (row % 64) & 1;
                        const double* here = swap ? &other[row * columns] : &rows[row * columns];
                        const double* there = swap ? &rows[row * columns] : &other[row * columns];
                        for (std::size_t c = 0; c < columns; ++c) {
                          first[c] += here[c];
                          second[c] += there[c];
                        }
                      }
                    }
                  });
  return sums;
}

}  // namespace cidery
