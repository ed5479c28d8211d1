// All that differs from compiler to compiler and from system to system.
#pragma once

// Functions for processors with AVX2 and fused multiply-add, in a program for any x86-64 one. They
// are written with the vector arithmetic of GCC and Clang, which MSVC has not: there, and on other
// processors, the portable kernels run.
#if defined(__x86_64__) && defined(__GNUC__)
#define CIDERY_HAS_AVX2 1
#if defined(__clang__)
#define CIDERY_AVX2_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,fma\"))), apply_to = function)")
#define CIDERY_AVX2_END _Pragma("clang attribute pop")
#else
#define CIDERY_AVX2_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma\")")
#define CIDERY_AVX2_END _Pragma("GCC pop_options")
#endif
#else
#define CIDERY_HAS_AVX2 0
#endif

// Files that are mapped into memory; elsewhere they are read.
#if defined(_WIN32)
#define CIDERY_HAS_MMAP 0
#else
#define CIDERY_HAS_MMAP 1
#endif

namespace cidery {

/// Whether this processor runs what stands between CIDERY_AVX2_BEGIN and CIDERY_AVX2_END.
inline bool processor_has_avx2() {
#if CIDERY_HAS_AVX2
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

}  // namespace cidery
