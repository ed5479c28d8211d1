// What fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

/// Makes cidery::name::run the entry of a fuzzer. Without a fuzzer, all targets are one program:
/// tests/native/run_target.cpp calls each by its name.
#ifdef CIDERY_ALL_TARGETS
#define CIDERY_FUZZ_TARGET(name)
#else
#define CIDERY_FUZZ_TARGET(name)                                                      \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    cidery::name::run(data, size);                                                    \
    return 0;                                                                         \
  }
#endif

namespace cidery {

/// What fuzz targets say of results has to hold.
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace cidery
