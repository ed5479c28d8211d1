// Feeds any bytes to the Penn Treebank tokenizer, as captions of one document.
// Built and run as fuzz_core.cpp.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "ptb.hpp"
#include "target.hpp"

namespace cidery::fuzz_ptb {
namespace {

/// Tokens must be non-empty, in order, and end where the bytes end.
void check(const TokenBuffer& tokens) {
  std::uint32_t last = 0;
  for (const std::uint32_t end : tokens.ends) {
    expect(end > last, "no token is empty");
    last = end;
  }
  expect(last == tokens.bytes.size(), "the last token ends where the bytes end");
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> captions;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\x1d', at), text.size());
    captions.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  TokenBuffer tokens;
  for (std::size_t i = 0; i < captions.size(); ++i) {
    try {
      ptb_tokenize_in_document(captions, i, i % 2 == 0, tokens);
      check(tokens);
      ptb_tokenize(captions[i], i % 2 == 1, tokens);
      check(tokens);
    } catch (const std::invalid_argument&) {
      tokens.clear();
    }
  }
}

}  // namespace cidery::fuzz_ptb

CIDERY_FUZZ_TARGET(fuzz_ptb)
