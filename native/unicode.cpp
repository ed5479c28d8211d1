#include "unicode.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "unicode_tables.hpp"

namespace cidery {

void append_utf8(char32_t code, std::string& out) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

char32_t to_lower(char32_t code) {
  if (code < 0x80) {
    return code >= 'A' && code <= 'Z' ? code + 32 : code;
  }
  const auto after = std::upper_bound(kLowerRuns.begin(), kLowerRuns.end(), code,
                                      [](char32_t c, const LowerRun& r) { return c < r.first; });
  if (after == kLowerRuns.begin()) {
    return code;
  }
  const LowerRun& run = *std::prev(after);
  if (code > run.last || (code - run.first) % static_cast<char32_t>(run.step) != 0) {
    return code;
  }
  return static_cast<char32_t>(static_cast<std::int64_t>(code) + run.delta);
}

}  // namespace cidery
