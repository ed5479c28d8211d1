// The kernels for processors with AVX2 and fused multiply-add; whether it is one is asked when the
// program runs, so the rest of the core is built for any.
#include <algorithm>
#include <cmath>

#include "compiler.hpp"
#include "encoder.hpp"

#if CIDERY_HAS_AVX2

#include <immintrin.h>

CIDERY_AVX2_BEGIN

namespace cidery::encoder {
namespace avx2 {
namespace {

constexpr std::size_t LANES = 8;

using Vector = __m256;

inline Vector load(const float* from) {
  return _mm256_loadu_ps(from);
}
inline void store(float* to, Vector x) {
  _mm256_storeu_ps(to, x);
}
inline Vector splat(float x) {
  return _mm256_set1_ps(x);
}
inline Vector highest(Vector a, Vector b) {
  return _mm256_max_ps(a, b);
}
inline Vector multiply_add(Vector a, Vector b, Vector c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline Vector power_of_two(Vector n) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}
inline float sum_lanes(Vector x) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#include "encoder_kernels.inc"

}  // namespace
}  // namespace avx2
}  // namespace cidery::encoder

CIDERY_AVX2_END

namespace cidery::encoder {

const Kernels* avx2_kernels() {
  static constexpr Kernels kernels{"avx2", avx2::LANES, avx2::run_layer};
  return processor_has_avx2() ? &kernels : nullptr;
}

}  // namespace cidery::encoder

#else

namespace cidery::encoder {

const Kernels* avx2_kernels() {
  return nullptr;
}

}  // namespace cidery::encoder

#endif
