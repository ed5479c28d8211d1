#include "meteor_normalise.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

#include "meteor_table.hpp"

namespace cidery {
namespace {

using Text = std::u32string;
using TextView = std::u32string_view;

struct LowerRange {
  char32_t first;
  char32_t last;
  char32_t step;
  std::int32_t shift;
};

/// Simple lower-case mappings of Unicode 13, the version that the original's Java 17 knows.
constexpr LowerRange kLower[] = {
    // clang-format off
    {0x41, 0x5A, 1, 32}, {0xC0, 0xD6, 1, 32}, {0xD8, 0xDE, 1, 32}, {0x100, 0x12E, 2, 1},
    {0x132, 0x136, 2, 1}, {0x139, 0x147, 2, 1}, {0x14A, 0x176, 2, 1}, {0x178, 0x178, 1, -121},
    {0x179, 0x17D, 2, 1}, {0x181, 0x181, 1, 210}, {0x182, 0x184, 2, 1}, {0x186, 0x186, 1, 206},
    {0x187, 0x187, 1, 1}, {0x189, 0x18A, 1, 205}, {0x18B, 0x18B, 1, 1}, {0x18E, 0x18E, 1, 79},
    {0x18F, 0x18F, 1, 202}, {0x190, 0x190, 1, 203}, {0x191, 0x191, 1, 1}, {0x193, 0x193, 1, 205},
    {0x194, 0x194, 1, 207}, {0x196, 0x196, 1, 211}, {0x197, 0x197, 1, 209}, {0x198, 0x198, 1, 1},
    {0x19C, 0x19C, 1, 211}, {0x19D, 0x19D, 1, 213}, {0x19F, 0x19F, 1, 214}, {0x1A0, 0x1A4, 2, 1},
    {0x1A6, 0x1A6, 1, 218}, {0x1A7, 0x1A7, 1, 1}, {0x1A9, 0x1A9, 1, 218}, {0x1AC, 0x1AC, 1, 1},
    {0x1AE, 0x1AE, 1, 218}, {0x1AF, 0x1AF, 1, 1}, {0x1B1, 0x1B2, 1, 217}, {0x1B3, 0x1B5, 2, 1},
    {0x1B7, 0x1B7, 1, 219}, {0x1B8, 0x1B8, 1, 1}, {0x1BC, 0x1BC, 1, 1}, {0x1C4, 0x1C4, 1, 2},
    {0x1C5, 0x1C5, 1, 1}, {0x1C7, 0x1C7, 1, 2}, {0x1C8, 0x1C8, 1, 1}, {0x1CA, 0x1CA, 1, 2},
    {0x1CB, 0x1DB, 2, 1}, {0x1DE, 0x1EE, 2, 1}, {0x1F1, 0x1F1, 1, 2}, {0x1F2, 0x1F4, 2, 1},
    {0x1F6, 0x1F6, 1, -97}, {0x1F7, 0x1F7, 1, -56}, {0x1F8, 0x21E, 2, 1}, {0x220, 0x220, 1, -130},
    {0x222, 0x232, 2, 1}, {0x23A, 0x23A, 1, 10795}, {0x23B, 0x23B, 1, 1}, {0x23D, 0x23D, 1, -163},
    {0x23E, 0x23E, 1, 10792}, {0x241, 0x241, 1, 1}, {0x243, 0x243, 1, -195},
    {0x244, 0x244, 1, 69}, {0x245, 0x245, 1, 71}, {0x246, 0x24E, 2, 1}, {0x370, 0x372, 2, 1},
    {0x376, 0x376, 1, 1}, {0x37F, 0x37F, 1, 116}, {0x386, 0x386, 1, 38}, {0x388, 0x38A, 1, 37},
    {0x38C, 0x38C, 1, 64}, {0x38E, 0x38F, 1, 63}, {0x391, 0x3A1, 1, 32}, {0x3A3, 0x3AB, 1, 32},
    {0x3CF, 0x3CF, 1, 8}, {0x3D8, 0x3EE, 2, 1}, {0x3F4, 0x3F4, 1, -60}, {0x3F7, 0x3F7, 1, 1},
    {0x3F9, 0x3F9, 1, -7}, {0x3FA, 0x3FA, 1, 1}, {0x3FD, 0x3FF, 1, -130}, {0x400, 0x40F, 1, 80},
    {0x410, 0x42F, 1, 32}, {0x460, 0x480, 2, 1}, {0x48A, 0x4BE, 2, 1}, {0x4C0, 0x4C0, 1, 15},
    {0x4C1, 0x4CD, 2, 1}, {0x4D0, 0x52E, 2, 1}, {0x531, 0x556, 1, 48}, {0x10A0, 0x10C5, 1, 7264},
    {0x10C7, 0x10C7, 1, 7264}, {0x10CD, 0x10CD, 1, 7264}, {0x13A0, 0x13EF, 1, 38864},
    {0x13F0, 0x13F5, 1, 8}, {0x1C90, 0x1CBA, 1, -3008}, {0x1CBD, 0x1CBF, 1, -3008},
    {0x1E00, 0x1E94, 2, 1}, {0x1E9E, 0x1E9E, 1, -7615}, {0x1EA0, 0x1EFE, 2, 1},
    {0x1F08, 0x1F0F, 1, -8}, {0x1F18, 0x1F1D, 1, -8}, {0x1F28, 0x1F2F, 1, -8},
    {0x1F38, 0x1F3F, 1, -8}, {0x1F48, 0x1F4D, 1, -8}, {0x1F59, 0x1F5F, 2, -8},
    {0x1F68, 0x1F6F, 1, -8}, {0x1F88, 0x1F8F, 1, -8}, {0x1F98, 0x1F9F, 1, -8},
    {0x1FA8, 0x1FAF, 1, -8}, {0x1FB8, 0x1FB9, 1, -8}, {0x1FBA, 0x1FBB, 1, -74},
    {0x1FBC, 0x1FBC, 1, -9}, {0x1FC8, 0x1FCB, 1, -86}, {0x1FCC, 0x1FCC, 1, -9},
    {0x1FD8, 0x1FD9, 1, -8}, {0x1FDA, 0x1FDB, 1, -100}, {0x1FE8, 0x1FE9, 1, -8},
    {0x1FEA, 0x1FEB, 1, -112}, {0x1FEC, 0x1FEC, 1, -7}, {0x1FF8, 0x1FF9, 1, -128},
    {0x1FFA, 0x1FFB, 1, -126}, {0x1FFC, 0x1FFC, 1, -9}, {0x2126, 0x2126, 1, -7517},
    {0x212A, 0x212A, 1, -8383}, {0x212B, 0x212B, 1, -8262}, {0x2132, 0x2132, 1, 28},
    {0x2160, 0x216F, 1, 16}, {0x2183, 0x2183, 1, 1}, {0x24B6, 0x24CF, 1, 26},
    {0x2C00, 0x2C2E, 1, 48}, {0x2C60, 0x2C60, 1, 1}, {0x2C62, 0x2C62, 1, -10743},
    {0x2C63, 0x2C63, 1, -3814}, {0x2C64, 0x2C64, 1, -10727}, {0x2C67, 0x2C6B, 2, 1},
    {0x2C6D, 0x2C6D, 1, -10780}, {0x2C6E, 0x2C6E, 1, -10749}, {0x2C6F, 0x2C6F, 1, -10783},
    {0x2C70, 0x2C70, 1, -10782}, {0x2C72, 0x2C72, 1, 1}, {0x2C75, 0x2C75, 1, 1},
    {0x2C7E, 0x2C7F, 1, -10815}, {0x2C80, 0x2CE2, 2, 1}, {0x2CEB, 0x2CED, 2, 1},
    {0x2CF2, 0x2CF2, 1, 1}, {0xA640, 0xA66C, 2, 1}, {0xA680, 0xA69A, 2, 1},
    {0xA722, 0xA72E, 2, 1}, {0xA732, 0xA76E, 2, 1}, {0xA779, 0xA77B, 2, 1},
    {0xA77D, 0xA77D, 1, -35332}, {0xA77E, 0xA786, 2, 1}, {0xA78B, 0xA78B, 1, 1},
    {0xA78D, 0xA78D, 1, -42280}, {0xA790, 0xA792, 2, 1}, {0xA796, 0xA7A8, 2, 1},
    {0xA7AA, 0xA7AA, 1, -42308}, {0xA7AB, 0xA7AB, 1, -42319}, {0xA7AC, 0xA7AC, 1, -42315},
    {0xA7AD, 0xA7AD, 1, -42305}, {0xA7AE, 0xA7AE, 1, -42308}, {0xA7B0, 0xA7B0, 1, -42258},
    {0xA7B1, 0xA7B1, 1, -42282}, {0xA7B2, 0xA7B2, 1, -42261}, {0xA7B3, 0xA7B3, 1, 928},
    {0xA7B4, 0xA7BE, 2, 1}, {0xA7C2, 0xA7C2, 1, 1}, {0xA7C4, 0xA7C4, 1, -48},
    {0xA7C5, 0xA7C5, 1, -42307}, {0xA7C6, 0xA7C6, 1, -35384}, {0xA7C7, 0xA7C9, 2, 1},
    {0xA7F5, 0xA7F5, 1, 1}, {0xFF21, 0xFF3A, 1, 32}, {0x10400, 0x10427, 1, 40},
    {0x104B0, 0x104D3, 1, 40}, {0x10C80, 0x10CB2, 1, 64}, {0x118A0, 0x118BF, 1, 32},
    {0x16E40, 0x16E5F, 1, 32}, {0x1E900, 0x1E921, 1, 34},
    // clang-format on
};

constexpr char32_t kReplacement = 0xFFFD;

bool is_digit(char32_t c) {
  return c >= U'0' && c <= U'9';
}

bool is_letter(char32_t c) {
  if (c < 0x80) return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
  return (c >= 0xC0 && c <= 0x17E && c != 0xD7 && c != 0xF7) || (c >= 0x400 && c <= 0x527) ||
         (c >= 0x1D00 && c <= 0x1D7F) || (c >= 0xA640 && c <= 0xA66E) ||
         (c >= 0xA67E && c <= 0xA697);
}

bool is_alphanumeric(char32_t c) {
  return is_letter(c) || is_digit(c);
}

/// What separates words. The vertical tab does not, though it is not set apart either.
bool is_separator(char32_t c) {
  return c == U' ' || c == U'\t' || c == U'\n' || c == U'\f' || c == U'\r';
}

/// Spaces that are set apart like symbols and dropped only at the end.
bool is_vanishing(char32_t c) {
  return c == 0xA0 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool stays_in_word(char32_t c) {
  return is_alphanumeric(c) || is_separator(c) || c == U'\v' || c == U'.' || c == U'\'' ||
         c == U',' || c == U'-';
}

/// Decodes one code point at `at` and moves past it; a byte that begins no valid sequence counts as
/// U+FFFD.
char32_t decode(std::string_view bytes, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const char32_t lead = byte(at++);
  if (lead < 0x80) return lead;
  const std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4 || at + more > bytes.size()) return kReplacement;
  char32_t code = lead & (0x3Fu >> more);
  for (std::size_t i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xC0u) != 0x80u) return kReplacement;
    code = (code << 6) | (byte(at + i) & 0x3Fu);
  }
  constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[more] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    return kReplacement;
  at += more;
  return code;
}

void encode(char32_t code, std::string& out) {
  const auto put = [&](char32_t byte) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  };
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

void append_lower(char32_t code, std::string& out) {
  if (code == 0x130) {  // the only letter with a longer lower case: i and a dot above
    out += "i\xCC\x87";
    return;
  }
  const auto* range = std::upper_bound(std::begin(kLower), std::end(kLower), code,
                                       [](char32_t c, const LowerRange& r) { return c < r.first; });
  if (range != std::begin(kLower)) {
    --range;
    if (code <= range->last && (code - range->first) % range->step == 0) {
      code = static_cast<char32_t>(static_cast<std::int32_t>(code) + range->shift);
    }
  }
  encode(code, out);
}

/// Quotes and dashes to their ASCII forms; two apostrophes make one double quote. A blank on either
/// side gives the later passes a neighbour everywhere.
Text simplify(std::string_view bytes) {
  Text text = U" ";
  for (std::size_t at = 0; at < bytes.size();) {
    char32_t c = decode(bytes, at);
    if (c == 0x201C || c == 0x201D) c = U'"';
    if (c == 0x2018 || c == 0x2019 || c == U'`') c = U'\'';
    if (c == U'\'' && text.back() == U'\'') {
      text.back() = U'"';
    } else if (c == 0x2013) {
      text += U" - ";
    } else {
      text.push_back(c);
    }
  }
  text.push_back(U' ');
  return text;
}

Text set_symbols_apart(const Text& text) {
  Text out;
  out.reserve(text.size() + 8);
  for (const char32_t c : text) {
    if (stays_in_word(c)) {
      out.push_back(c);
    } else {
      out.append({U' ', c, U' '});
    }
  }
  return out;
}

Text set_dots_apart(const Text& text) {
  Text out;
  out.reserve(text.size() + 8);
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && text[end] == U'.') ++end;
    if (end - i >= 2) {
      out.push_back(U' ');
      out.append(text, i, end - i);
      out.push_back(U' ');
      i = end;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

Text halve_double_hyphens(const Text& text) {
  Text out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    out.push_back(text[i]);
    if (text[i] == U'-' && i + 1 < text.size() && text[i + 1] == U'-') ++i;
  }
  return out;
}

/// Replaces `mark` by `replacement` wherever left(before) and right(after) hold; the three
/// characters are consumed.
template <class Left, class Right>
void replace_between(Text& text, Left left, char32_t mark, Right right, TextView replacement) {
  if (text.find(mark) == Text::npos) return;
  Text out;
  out.reserve(text.size() + 8);
  std::size_t i = 0;
  while (i < text.size()) {
    out.push_back(text[i]);
    if (i + 2 < text.size() && text[i + 1] == mark && left(text[i]) && right(text[i + 2])) {
      out += replacement;
      out.push_back(text[i + 2]);
      i += 3;
    } else {
      ++i;
    }
  }
  text = std::move(out);
}

constexpr auto kNotDigit = [](char32_t c) { return !is_digit(c); };
constexpr auto kNotLetter = [](char32_t c) { return !is_letter(c); };
constexpr auto kNotAlphanumeric = [](char32_t c) { return !is_alphanumeric(c); };

Text set_punctuation_apart(std::string_view bytes) {
  Text text = set_dots_apart(set_symbols_apart(simplify(bytes)));
  replace_between(text, kNotDigit, U',', kNotDigit, U" , ");
  replace_between(text, is_digit, U',', kNotDigit, U" , ");
  replace_between(text, kNotDigit, U',', is_digit, U" , ");
  text = halve_double_hyphens(text);
  replace_between(text, kNotLetter, U'\'', kNotLetter, U" ' ");
  replace_between(text, kNotAlphanumeric, U'\'', is_letter, U" ' ");
  replace_between(text, is_letter, U'\'', kNotLetter, U" ' ");
  replace_between(text, is_letter, U'\'', is_letter, U" '");
  replace_between(text, is_digit, U'\'', [](char32_t c) { return c == U's'; }, U" '");
  const auto before_hyphen = [](char32_t c) { return is_alphanumeric(c) || c == U'.'; };
  replace_between(text, before_hyphen, U'-', is_alphanumeric, U" ");
  return text;
}

std::vector<TextView> split(const Text& text) {
  std::vector<TextView> pieces;
  for (std::size_t i = 0; i < text.size();) {
    if (is_separator(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && !is_separator(text[end])) ++end;
    pieces.push_back(TextView(text).substr(i, end - i));
    i = end;
  }
  return pieces;
}

enum class Period { keep, remove_all, split };

/// What becomes of the final period of a word, given the first character of the next one (0 at the
/// end).
Period judge_period(TextView word, char32_t next, const MeteorTable& table) {
  const TextView stem = word.substr(0, word.size() - 1);
  if (stem.find(U'.') != TextView::npos && std::any_of(stem.begin(), stem.end(), is_letter)) {
    return Period::remove_all;
  }
  if (next >= U'a' && next <= U'z') return Period::keep;
  std::string prefix;
  for (const char32_t c : stem)
    encode(c, prefix);  // not lower-cased yet: the list is case-sensitive
  switch (table.prefix(prefix)) {
    case MeteorPrefix::always:
      return Period::keep;
    case MeteorPrefix::before_number:
      return is_digit(next) ? Period::keep : Period::split;
    case MeteorPrefix::none:
      break;
  }
  return Period::split;
}

bool ends_in_period(TextView word) {
  return word.back() == U'.' && word.find_first_not_of(U'.') != TextView::npos;
}

}  // namespace

void meteor_normalise(std::string_view bytes, const MeteorTable& table, std::string& words) {
  const Text text = set_punctuation_apart(bytes);
  const std::vector<TextView> pieces = split(text);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    TextView word = pieces[i];
    if (word.size() == 1 && is_vanishing(word[0])) continue;
    Period period = Period::keep;
    if (ends_in_period(word)) {
      period = judge_period(word, i + 1 < pieces.size() ? pieces[i + 1][0] : U'\0', table);
    }
    if (period == Period::split) word.remove_suffix(1);
    for (const char32_t c : word) {
      if (period == Period::remove_all && c == U'.') continue;
      append_lower(c, words);
    }
    words.push_back(' ');
    if (period == Period::split) words += ". ";
  }
}

}  // namespace cidery
