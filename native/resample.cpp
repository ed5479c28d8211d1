#include "resample.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

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

/// Sums the rows whose random 16 bits are below their threshold. Columns are known to the compiler,
/// which keeps the sums in registers; 0: any number.
template <std::size_t Columns>
void add_taken(std::span<const double> rows, std::span<const std::uint32_t> thresholds,
               Generator& generator, std::span<double> sums) {
  const std::size_t columns = Columns == 0 ? sums.size() : Columns;
  std::array<double, Columns> known{};
  double* plus = Columns == 0 ? sums.data() : known.data();
  std::uint64_t bits = 0;
  for (std::size_t row = 0; row < thresholds.size(); ++row) {
    bits = row % 4 == 0 ? generator.next() : bits >> 16;
    const double taken = (bits & 0xFFFFu) < thresholds[row];
    for (std::size_t c = 0; c < columns; ++c) plus[c] += taken * rows[row * columns + c];
  }
  if (Columns != 0) std::copy(known.begin(), known.end(), sums.begin());
}

using AddTaken = void (*)(std::span<const double>, std::span<const std::uint32_t>, Generator&,
                          std::span<double>);

template <std::size_t... Columns>
AddTaken choose_add(std::size_t columns, std::index_sequence<Columns...>) {
  static constexpr AddTaken table[] = {add_taken<Columns>...};
  return columns < sizeof...(Columns) ? table[columns] : add_taken<0>;
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

std::vector<double> signed_sums(std::span<const double> rows, std::size_t columns,
                                std::span<const std::uint32_t> thresholds, std::size_t resamples,
                                std::uint64_t seed, unsigned threads) {
  const std::size_t height = height_of(rows, columns);
  if (thresholds.size() != height)
    throw std::invalid_argument("there must be one threshold per row");
  std::vector<double> total(columns);
  for (std::size_t row = 0; row < height; ++row)
    for (std::size_t c = 0; c < columns; ++c) total[c] += rows[row * columns + c];
  std::vector<double> sums(resamples * columns);
  const AddTaken add = choose_add(columns, std::make_index_sequence<16>());
  parallel_shares(resamples, worker_count(threads, resamples),
                  [&](std::size_t begin, std::size_t end, unsigned) {
                    std::vector<double> plus(columns);
                    for (std::size_t b = begin; b < end; ++b) {
                      Generator generator(seed, b);
                      std::fill(plus.begin(), plus.end(), 0.0);
                      add(rows, thresholds, generator, plus);
                      for (std::size_t c = 0; c < columns; ++c)
                        sums[b * columns + c] = 2 * plus[c] - total[c];
                    }
                  });
  return sums;
}

}  // namespace cidery
