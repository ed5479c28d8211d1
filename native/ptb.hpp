#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cidery {

/// Tokens of captions, flat: token i is bytes[ends[i-1], ends[i]) (ends[-1] = 0).
struct TokenBuffer {
  std::string bytes;
  std::vector<std::uint32_t> ends;

  void clear() {
    bytes.clear();
    ends.clear();
  }
};

/// A caption of plain words, in lower case. Behind the last word there is room to read on.
struct PlainWords {
  static constexpr std::size_t kMostBytes = 256;
  std::array<char, kMostBytes + 32> bytes;
  std::array<std::uint16_t, kMostBytes / 2 + 1> starts, ends;  // of the words
  std::size_t count = 0;
};

/// Cuts a caption as `ptb_tokenize` with `clean` does, if it is short and has nothing but ASCII
/// letters, blanks, commas and periods, none of which a rule but the plainest takes; most have.
/// Else returns false.
bool ptb_cut_plain(std::string_view caption, PlainWords& out);

/// One caption by itself, as if a lower-case caption ("the zzend") followed on the next line.
///
/// With `clean` the punctuation that pycocoevalcap removes is left out. Appends to `out`.
/// Throws std::invalid_argument for invalid UTF-8.
void ptb_tokenize(std::string_view caption, bool clean, TokenBuffer& out);

/// Caption `index` of a document: one caption per line, look-ahead into the next captions, end of
/// input after the last.
///
/// This is what pycocoevalcap gives for a whole caption list. Captions stay aligned even where the
/// original shifts lines (\r, VT, FF, U+2028, U+2029): such a character inside a caption separates
/// tokens, and the look-ahead rules behave as at a line end. Appends to `out`.
void ptb_tokenize_in_document(std::span<const std::string_view> captions, std::size_t index,
                              bool clean, TokenBuffer& out);

}  // namespace cidery
