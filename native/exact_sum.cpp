#include "exact_sum.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>

namespace cidery {

void ExactSum::add(double value) {
  if (!std::isfinite(value)) {
    other_ += value;
    return;
  }
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t exponent = bits >> 52 & 0x7FF;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  // Below the smallest normal number, the exponent is that of the smallest and no bit is implied.
  const std::uint64_t digits = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const std::uint64_t shift = exponent == 0 ? 0 : exponent - 1;
  const std::uint64_t within = shift % 32;
  const std::uint64_t low = digits << within;  // of 85 bits
  const std::uint64_t high = within == 0 ? 0 : digits >> (64 - within);
  const std::array<std::int64_t, 3> parts = {static_cast<std::int64_t>(low & 0xFFFFFFFFu),
                                             static_cast<std::int64_t>(low >> 32),
                                             static_cast<std::int64_t>(high)};
  const std::int64_t sign = bits >> 63 ? -1 : 1;
  std::int64_t* const piece = &pieces_[shift / 32];
  for (std::size_t i = 0; i < parts.size(); ++i) piece[i] += sign * parts[i];
  if (++waiting_ == std::uint32_t{1} << 30) carry();
}

void ExactSum::carry() {
  std::int64_t carried = 0;
  for (std::size_t i = 0; i + 1 < kPieces; ++i) {
    const std::int64_t value = pieces_[i] + carried;
    carried = value >> 32;
    pieces_[i] = value - carried * (std::int64_t{1} << 32);
  }
  pieces_[kPieces - 1] += carried;
  waiting_ = 0;
}

void ExactSum::write(std::span<std::uint8_t, kBytes> out) {
  carry();
  for (std::size_t i = 0; i < kPieces; ++i) {
    const auto piece = static_cast<std::uint64_t>(pieces_[i]);
    for (std::size_t byte = 0; byte < 4; ++byte)
      out[4 * i + byte] = static_cast<std::uint8_t>(piece >> (8 * byte) & 0xFF);
  }
}

ExactSums exact_sums(std::span<const double> rows, std::size_t columns) {
  if (columns == 0 || rows.size() % columns != 0)
    throw std::invalid_argument("the rows do not fit their number of columns");
  std::vector<ExactSum> sums(columns);
  for (std::size_t at = 0; at < rows.size(); at += columns) {
    for (std::size_t c = 0; c < columns; ++c) sums[c].add(rows[at + c]);
  }
  ExactSums found;
  found.units.resize(columns * ExactSum::kBytes);
  for (std::size_t c = 0; c < columns; ++c) {
    sums[c].write(std::span<std::uint8_t, ExactSum::kBytes>(&found.units[c * ExactSum::kBytes],
                                                            ExactSum::kBytes));
    found.others.push_back(sums[c].other());
  }
  return found;
}

}  // namespace cidery
