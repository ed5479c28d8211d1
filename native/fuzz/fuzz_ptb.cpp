/// libFuzzer target: any bytes, as captions of one document.
///
/// clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined native/ptb.cpp
/// native/ptb_tables.cpp
///   native/unicode_tables.cpp native/fuzz/fuzz_ptb.cpp -o fuzz_ptb
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "../ptb.hpp"

namespace {

/// Tokens must be non-empty, in order, and end where the bytes end.
void check(const cidery::TokenBuffer& tokens) {
  std::uint32_t last = 0;
  for (const std::uint32_t end : tokens.ends) {
    if (end <= last) {
      std::abort();
    }
    last = end;
  }
  if (last != tokens.bytes.size()) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> captions;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\x1d', at), text.size());
    captions.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  cidery::TokenBuffer tokens;
  for (std::size_t i = 0; i < captions.size(); ++i) {
    try {
      cidery::ptb_tokenize_in_document(captions, i, i % 2 == 0, tokens);
      check(tokens);
      cidery::ptb_tokenize(captions[i], i % 2 == 1, tokens);
      check(tokens);
    } catch (const std::invalid_argument&) {
      tokens.clear();
    }
  }
  return 0;
}
