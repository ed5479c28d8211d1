#include "meteor_normalise.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

#include "meteor_table.hpp"
#include "unicode.hpp"

namespace cidery {
namespace {

using Text = std::u32string;
using TextView = std::u32string_view;

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
char32_t decode_or_replace(std::string_view bytes, std::size_t& at) {
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

void append_lower(char32_t code, std::string& out) {
  if (code == 0x130) {  // the only letter with a longer lower case: i and a dot above
    out += "i\xCC\x87";
    return;
  }
  append_utf8(to_lower(code), out);
}

/// Quotes and dashes to their ASCII forms; two apostrophes make one double quote. A blank on either
/// side gives the later passes a neighbour everywhere.
Text simplify(std::string_view bytes) {
  Text text = U" ";
  for (std::size_t at = 0; at < bytes.size();) {
    char32_t c = decode_or_replace(bytes, at);
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

/// How a language is normalised.
enum class Habit { english, french, apostrophes_apart, lower_case_alone };

Habit habit_of(std::string_view language) {
  if (language == "en") return Habit::english;
  if (language == "fr") return Habit::french;
  for (const std::string_view other : {"cs", "de", "es", "ru"})
    if (language == other) return Habit::apostrophes_apart;
  return Habit::lower_case_alone;
}

void set_apostrophes_apart(Text& text, Habit habit) {
  if (habit == Habit::apostrophes_apart) {
    for (std::size_t at = 0; (at = text.find(U'\'', at)) != Text::npos; at += 3)
      text.replace(at, 1, U" ' ");
    return;
  }
  const bool english = habit == Habit::english;
  replace_between(text, kNotLetter, U'\'', kNotLetter, U" ' ");
  const auto before = [&](char32_t c) { return english ? !is_alphanumeric(c) : !is_letter(c); };
  replace_between(text, before, U'\'', is_letter, U" ' ");
  replace_between(text, is_letter, U'\'', kNotLetter, U" ' ");
  replace_between(text, is_letter, U'\'', is_letter, english ? U" '" : U"' ");
  if (english) replace_between(text, is_digit, U'\'', [](char32_t c) { return c == U's'; }, U" '");
}

Text set_punctuation_apart(std::string_view bytes, Habit habit) {
  Text text = set_dots_apart(set_symbols_apart(simplify(bytes)));
  replace_between(text, kNotDigit, U',', kNotDigit, U" , ");
  replace_between(text, is_digit, U',', kNotDigit, U" , ");
  replace_between(text, kNotDigit, U',', is_digit, U" , ");
  text = halve_double_hyphens(text);
  set_apostrophes_apart(text, habit);
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
    append_utf8(c, prefix);  // not lower-cased yet: the list is case-sensitive
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

void lower(std::string_view bytes, std::string& words) {
  for (std::size_t at = 0; at < bytes.size();) {
    const char32_t c = decode_or_replace(bytes, at);
    is_separator(c) ? words.push_back(' ') : append_lower(c, words);
  }
  words.push_back(' ');
}

}  // namespace

void meteor_normalise(std::string_view bytes, const MeteorTable& table, std::string& words) {
  const Habit habit = habit_of(table.language());
  if (habit == Habit::lower_case_alone) return lower(bytes, words);
  const Text text = set_punctuation_apart(bytes, habit);
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

std::uint32_t meteor_key(std::string_view word) {
  std::uint32_t key = 0;
  for (std::size_t at = 0; at < word.size();) {
    const char32_t code = decode_or_replace(word, at);
    if (code > 0xFFFF) {  // a pair of surrogates
      key = 31 * key + (0xD800 + ((code - 0x10000) >> 10));
      key = 31 * key + (0xDC00 + ((code - 0x10000) & 0x3FF));
    } else {
      key = 31 * key + code;
    }
  }
  return key;
}

}  // namespace cidery
