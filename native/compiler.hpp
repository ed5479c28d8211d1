// All that differs from compiler to compiler and from system to system.
#pragma once

// Functions for processors with AVX2 and fused multiply-add, or with AVX-512 too, in a program for
// any x86-64 one. They are written with the vector arithmetic of GCC and Clang, which MSVC has not:
// there, and on other processors, the portable kernels run.
#if defined(__x86_64__) && defined(__GNUC__)
#define CIDERY_HAS_AVX 1
#if defined(__clang__)
#define CIDERY_AVX2_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,fma\"))), apply_to = function)")
#define CIDERY_AVX512_BEGIN \
  _Pragma(                  \
      "clang attribute push(__attribute__((target(\"avx512f,avx2,fma\"))), apply_to = function)")
#define CIDERY_AVX_END _Pragma("clang attribute pop")
#else
#define CIDERY_AVX2_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma\")")
#define CIDERY_AVX512_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx2,fma\")")
#define CIDERY_AVX_END _Pragma("GCC pop_options")
#endif
#else
#define CIDERY_HAS_AVX 0
#endif

// Before a loop: write out all its rounds, so that an array that they walk through lies in
// registers.
#if defined(__clang__)
#define CIDERY_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define CIDERY_UNROLL _Pragma("GCC unroll 16")
#else
#define CIDERY_UNROLL
#endif

// Files that are mapped into memory; elsewhere they are read.
#if defined(_WIN32)
#define CIDERY_HAS_MMAP 0
#else
#define CIDERY_HAS_MMAP 1
#endif

#include <cstddef>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cidery {

inline constexpr std::size_t kHugePage = std::size_t{1} << 21;
/// From this size on, memory is worth huge pages. What is smaller malloc keeps for the next call,
/// which then has no pages to clear.
inline constexpr std::size_t kWorthHugePages = std::size_t{1} << 25;

/// The size that `allocate_pages` takes for so many bytes.
inline std::size_t round_to_pages(std::size_t size) {
  return size < kWorthHugePages ? size : (size + kHugePage - 1) / kHugePage * kHugePage;
}

/// Memory that is not cleared, on huge pages where it is large and the system has them.
inline void* allocate_pages(std::size_t size) {
  if (size < kWorthHugePages) return ::operator new(size);
  void* const begin = ::operator new(size, std::align_val_t{kHugePage});
#if defined(__linux__)
  madvise(begin, size, MADV_HUGEPAGE);  // only advice: an error changes nothing
#endif
  return begin;
}

inline void free_pages(void* begin, std::size_t size) {
  if (size < kWorthHugePages) {
    ::operator delete(begin);
  } else {
    ::operator delete(begin, std::align_val_t{kHugePage});
  }
}

/// Whether this processor runs what stands between CIDERY_AVX2_BEGIN and CIDERY_AVX_END.
inline bool processor_has_avx2() {
#if CIDERY_HAS_AVX
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

/// Whether this processor runs what stands between CIDERY_AVX512_BEGIN and CIDERY_AVX_END.
inline bool processor_has_avx512() {
#if CIDERY_HAS_AVX
  return processor_has_avx2() && __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

/// Asks for memory that will be read soon; nothing but time depends on it.
inline void prefetch_memory([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace cidery
