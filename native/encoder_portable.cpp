#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "compiler.hpp"
#include "encoder.hpp"

namespace cidery::encoder {
namespace portable {
namespace {

constexpr std::size_t LANES = 4;

struct Vector {
  float lanes[LANES];
};

template <class Operation>
inline Vector each_lane(const Operation& operation) {
  Vector result;
  for (std::size_t i = 0; i < LANES; ++i) result.lanes[i] = operation(i);
  return result;
}

inline Vector load(const float* from) {
  Vector result;
  std::memcpy(result.lanes, from, sizeof result.lanes);
  return result;
}
inline void store(float* to, Vector x) {
  std::memcpy(to, x.lanes, sizeof x.lanes);
}
inline Vector splat(float x) {
  return each_lane([&](std::size_t) { return x; });
}
inline Vector operator+(Vector a, Vector b) {
  return each_lane([&](std::size_t i) { return a.lanes[i] + b.lanes[i]; });
}
inline Vector operator-(Vector a, Vector b) {
  return each_lane([&](std::size_t i) { return a.lanes[i] - b.lanes[i]; });
}
inline Vector operator*(Vector a, Vector b) {
  return each_lane([&](std::size_t i) { return a.lanes[i] * b.lanes[i]; });
}
inline Vector operator/(Vector a, Vector b) {
  return each_lane([&](std::size_t i) { return a.lanes[i] / b.lanes[i]; });
}
/// b where a is no number, as AVX has it: so power_of_two gets numbers alone.
inline Vector highest(Vector a, Vector b) {
  return each_lane(
      [&](std::size_t i) { return a.lanes[i] > b.lanes[i] ? a.lanes[i] : b.lanes[i]; });
}
inline Vector multiply_add(Vector a, Vector b, Vector c) {
  return a * b + c;
}
inline Vector power_of_two(Vector n) {
  return each_lane([&](std::size_t i) { return std::ldexp(1.0f, static_cast<int>(n.lanes[i])); });
}
inline float sum_lanes(Vector x) {
  return (x.lanes[0] + x.lanes[2]) + (x.lanes[1] + x.lanes[3]);
}

using Wide = Vector;
constexpr std::size_t WIDE = LANES, TILE = 6;
constexpr auto load_wide = load;
constexpr auto splat_wide = splat;

#include "encoder_kernels.inc"

}  // namespace
}  // namespace portable

const Kernels& portable_kernels() {
  static constexpr Kernels kernels{"portable", portable::PANEL, portable::run_layer};
  return kernels;
}

}  // namespace cidery::encoder
