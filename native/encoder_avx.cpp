// The kernels for processors with AVX2 and fused multiply-add, and those for AVX-512; which of them
// it has is asked when the program runs, so the rest of the core is built for any.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "compiler.hpp"
#include "encoder.hpp"

#if CIDERY_HAS_AVX

#include <immintrin.h>

namespace cidery::encoder {

CIDERY_AVX2_BEGIN

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

using Wide = Vector;
constexpr std::size_t WIDE = LANES, TILE = 6;
constexpr auto load_wide = load;
constexpr auto splat_wide = splat;

#include "encoder_kernels.inc"

}  // namespace
}  // namespace avx2

CIDERY_AVX_END
CIDERY_AVX512_BEGIN

/// Sixteen lanes where matrices are multiplied, eight elsewhere: the bits are those of AVX2.
namespace avx512 {
namespace {

using avx2::highest;
using avx2::LANES;
using avx2::load;
using avx2::multiply_add;
using avx2::power_of_two;
using avx2::splat;
using avx2::store;
using avx2::sum_lanes;
using avx2::Vector;

using Wide = __m512;
constexpr std::size_t WIDE = 16, TILE = 12;

inline Wide load_wide(const float* from) {
  return _mm512_loadu_ps(from);
}
inline void store(float* to, Wide x) {
  _mm512_storeu_ps(to, x);
}
inline Wide splat_wide(float x) {
  return _mm512_set1_ps(x);
}
inline Wide multiply_add(Wide a, Wide b, Wide c) {
  return _mm512_fmadd_ps(a, b, c);
}

#include "encoder_kernels.inc"

}  // namespace
}  // namespace avx512

CIDERY_AVX_END

const Kernels* avx2_kernels() {
  static constexpr Kernels kernels{"avx2", avx2::PANEL, avx2::run_layer};
  return processor_has_avx2() ? &kernels : nullptr;
}

const Kernels* avx512_kernels() {
  static constexpr Kernels kernels{"avx2", avx512::PANEL, avx512::run_layer};
  return processor_has_avx512() ? &kernels : nullptr;
}

}  // namespace cidery::encoder

#else

namespace cidery::encoder {

const Kernels* avx2_kernels() {
  return nullptr;
}

const Kernels* avx512_kernels() {
  return nullptr;
}

}  // namespace cidery::encoder

#endif
