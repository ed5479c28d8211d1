#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace cidery {

/// The sum of doubles without rounding, so that it does not depend on their order or grouping.
///
/// A double is a whole multiple of 2^-1074; the sum of such multiples is kept in pieces of 32 bits,
/// each in 64 so that carries can wait (Neal 2015, "Fast exact summation using small and large
/// superaccumulators").
class ExactSum {
 public:
  /// Two's complement: 2,098 bits of the largest double, 64 for as many terms, and the sign.
  static constexpr std::size_t kBytes = 272;

  void add(double value);
  /// The sum in units of 2^-1074, little-endian two's complement; values that are not finite are
  /// left out.
  void write(std::span<std::uint8_t, kBytes> out);
  /// The sum of the values that are not finite: 0, an infinity, or nan.
  double other() const { return other_; }

 private:
  void carry();

  static constexpr std::size_t kPieces = kBytes / 4;
  std::array<std::int64_t, kPieces> pieces_{};
  std::uint32_t waiting_ = 0;
  double other_ = 0;
};

struct ExactSums {
  std::vector<std::uint8_t> units;  ///< kBytes per column
  std::vector<double> others;       ///< per column
};

/// The exact sums of the columns of rows, which lie one after another.
ExactSums exact_sums(std::span<const double> rows, std::size_t columns);

}  // namespace cidery
