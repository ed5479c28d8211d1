#pragma once

#include <cstdint>
#include <span>

namespace cidery {

/// Code points first, first + step, ..., last, each `delta` away from its lower case.
struct LowerRun {
  char32_t first;
  char32_t last;
  std::int32_t step;
  std::int32_t delta;
};

struct CodeRange {
  char32_t first;
  char32_t last;
};

/// Non-ASCII simple lower-case mappings, in order of code point.
extern const std::span<const LowerRun> kLowerRuns;
/// Cased code points: they decide whether a sigma is final.
extern const std::span<const CodeRange> kCasedRanges;

}  // namespace cidery
