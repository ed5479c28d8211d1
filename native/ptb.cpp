#include "ptb.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <stdexcept>
#include <unordered_set>

#include "ptb_tables.hpp"
#include "unicode.hpp"
#include "unicode_tables.hpp"

namespace cidery {
namespace {

using ptb::Action;
using ptb::Shown;

/// The line that follows a caption tokenized by itself.
constexpr std::string_view kFollowingLine = "the zzend";

constexpr std::string_view kSoftHyphen = "\xC2\xAD";

/// A scan that looks further ahead than this is remembered, so that hostile input stays linear.
constexpr std::size_t kLongLookAhead = 256;

/// Transition rows, unpacked once: next(state, class) = rows[state * classes + class].
struct Scanner {
  std::vector<std::uint16_t> rows;

  Scanner() : rows(std::size_t{ptb::kStateCount} * ptb::kClassCount) {
    const std::size_t classes = ptb::kClassCount;
    const std::uint16_t* packed = ptb::kPackedRows;
    for (std::size_t state = 0; state < ptb::kStateCount; ++state) {
      const auto row = rows.begin() + static_cast<std::ptrdiff_t>(state * classes);
      const std::size_t base = *packed++;
      if (base != state) {
        const auto from = rows.begin() + static_cast<std::ptrdiff_t>(base * classes);
        std::copy(from, from + static_cast<std::ptrdiff_t>(classes), row);
      }
      for (std::size_t count = *packed++; count > 0; --count, packed += 2) {
        row[static_cast<std::ptrdiff_t>(packed[0])] = packed[1];
      }
    }
  }
};

const Scanner& scanner() {
  static const Scanner instance;
  return instance;
}

/// Decode the code point at text[at] and move `at` behind it.
char32_t decode(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  if (first >= 0xC2 && first < 0xE0 && tail(at + 1)) {
    const char32_t code = ((first & 0x1FU) << 6) | (byte(at + 1) & 0x3FU);
    at += 2;
    return code;
  }
  if (first >= 0xE0 && first < 0xF0 && tail(at + 1) && tail(at + 2)) {
    const char32_t code =
        ((first & 0x0FU) << 12) | ((byte(at + 1) & 0x3FU) << 6) | (byte(at + 2) & 0x3FU);
    if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) {
      at += 3;
      return code;
    }
  }
  if (first >= 0xF0 && first < 0xF5 && tail(at + 1) && tail(at + 2) && tail(at + 3)) {
    const char32_t code = ((first & 0x07U) << 18) | ((byte(at + 1) & 0x3FU) << 12) |
                          ((byte(at + 2) & 0x3FU) << 6) | (byte(at + 3) & 0x3FU);
    if (code >= 0x10000 && code < 0x110000) {
      at += 4;
      return code;
    }
  }
  throw std::invalid_argument("caption is not valid UTF-8 at byte " + std::to_string(at));
}

bool contains(std::span<const CodeRange> ranges, char32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](char32_t c, const CodeRange& r) { return c < r.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

/// Whether a word goes on through this character where Java looks for a final sigma.
bool continues_word(char32_t code) {
  return code >= 0x80 || (code >= '0' && code <= '9') ||
         ((code | 0x20) >= 'a' && (code | 0x20) <= 'z') || code == '.' || code == '-' ||
         code == '\'';
}

/// Java's words end at a hyphen before a digit.
bool hyphen_before_digit(char32_t code, std::string_view rest) {
  return code == '-' && !rest.empty() && rest.front() >= '0' && rest.front() <= '9';
}

/// Whether a cased letter follows in the same word.
bool cased_follows(std::string_view rest) {
  for (std::size_t at = 0; at < rest.size();) {
    const char32_t code = decode(rest, at);
    if (hyphen_before_digit(code, rest.substr(at))) {
      return false;
    }
    if (!continues_word(code) || contains(kCasedRanges, code)) {
      return continues_word(code);
    }
  }
  return false;
}

/// Append the token in lower case, as Java's String.toLowerCase does.
///
/// A sigma is final if some cased letter comes before it in its word and none behind it.
void append_lower(std::string_view token, std::string& out) {
  bool cased_before = false;
  for (std::size_t at = 0; at < token.size();) {
    const char32_t code = decode(token, at);
    if (code < 0x80) {
      out.push_back(static_cast<char>(to_lower(code)));
    } else if (code == 0x130) {
      out += "i\xCC\x87";
    } else if (code == 0x3A3) {
      append_utf8(cased_before && !cased_follows(token.substr(at)) ? 0x3C2 : 0x3C3, out);
    } else {
      append_utf8(to_lower(code), out);
    }
    const bool broken = hyphen_before_digit(code, token.substr(at));
    cased_before =
        continues_word(code) && !broken && (cased_before || contains(kCasedRanges, code));
  }
}

/// The punctuation that pycocoevalcap removes, and that a lower-cased token can equal.
bool is_removed(std::string_view token) {
  static constexpr std::array<std::string_view, 13> kRemoved = {
      "''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"};
  return token.size() <= 3 && std::find(kRemoved.begin(), kRemoved.end(), token) != kRemoved.end();
}

bool is_line_break(char32_t code) {
  return (code >= 0x0A && code <= 0x0D) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

bool is_white(char32_t code) {
  return code == ' ' || code == '\t' || code == 0xA0 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x3000 || is_line_break(code);
}

/// What Python's str.rstrip removes, beyond the ASCII blanks that no token ends with.
bool is_python_space(char32_t code) {
  return is_white(code) || (code >= 0x1C && code <= 0x1F) || code == 0x1680 || code == 0x202F ||
         code == 0x205F;
}

/// Matching rules over the text of a document.
class Machine {
 public:
  Machine(std::span<const std::string_view> captions, std::size_t index, bool clean,
          TokenBuffer& out)
      : captions_(captions), index_(index), text_(captions[index]), clean_(clean), out_(out) {}

  /// Tokenize one match that starts at `start`; return where the next one starts.
  std::size_t step(std::size_t start) {
    const Match match = longest_match(start);
    const ptb::RuleInfo& rule = ptb::kRules[match.rule];
    const std::size_t end = shown_end(rule.shown, start, match);
    act(rule, start, end);
    // Every character matches some rule and every rule shows at least one character.
    return std::max(end, start + 1);
  }

  /// Plain text was tokenized after the last step; its tokens never end in white space.
  void follow(std::string_view plain) {
    ends_line_ = ends_line_ && plain.find_first_not_of(' ') == std::string_view::npos;
  }

  /// The wrapper strips white space from the end of a line: web addresses may end in some.
  void strip_last() {
    if (!ends_line_ || (out_.bytes.back() > 0x1F && out_.bytes.back() < 0x7F)) {
      return;
    }
    const std::size_t start = out_.ends.size() > 1 ? out_.ends[out_.ends.size() - 2] : 0;
    std::size_t kept = start;
    for (std::size_t at = start; at < out_.bytes.size();) {
      if (!is_python_space(decode(out_.bytes, at))) {
        kept = at;
      }
    }
    out_.bytes.resize(kept);
    out_.ends.back() = static_cast<std::uint32_t>(kept);
  }

 private:
  struct Match {
    std::size_t rule = 0;
    std::size_t end = 0;          // behind the match, at most the end of the caption
    std::size_t before_last = 0;  // before its last character
  };

  /// A place in the document.
  struct Place {
    std::size_t caption;
    std::size_t at;
  };

  /// Class of the character at a place; false at the end of the document.
  bool next_class(Place& place, std::uint8_t& kind, bool& again) const {
    std::string_view text = captions_[place.caption];
    if (place.at == text.size()) {
      if (place.caption + 1 == captions_.size()) {
        return false;
      }
      ++place.caption;
      place.at = 0;
      kind = ptb::kLineEndClass;
      return true;
    }
    const auto byte = static_cast<unsigned char>(text[place.at]);
    if (byte < 0x80) {
      ++place.at;
      // A line feed inside a caption is a space: the wrapper's first step.
      kind = ptb::kClassOf[ptb::kClassPage[0] * 128U + (byte == '\n' ? ' ' : byte)];
      return true;
    }
    const char32_t code = decode(text, place.at);
    if (code >= 0x10000) {
      // The original sees two surrogates.
      kind = ptb::kSurrogateClass;
      again = true;
      return true;
    }
    kind = ptb::kClassOf[ptb::kClassPage[code >> 7] * 128U + (code & 127)];
    return true;
  }

  Match longest_match(std::size_t start) {
    const std::uint16_t* rows = scanner().rows.data();
    const std::size_t classes = ptb::kClassCount;
    Match best;
    Place place{index_, start};
    std::size_t state = 1;
    std::size_t steps = 0;
    std::size_t accepted_steps = 0;
    trail_.clear();
    while (true) {
      const Place before = place;
      std::uint8_t kind = 0;
      bool again = false;
      if (!next_class(place, kind, again)) {
        break;
      }
      for (int unit = again ? 2 : 1; unit > 0 && state != 0; --unit) {
        state = rows[state * classes + kind];
        ++steps;
        if (const std::size_t rule = ptb::kAccepts[state]; rule != 0) {
          // A match that ends between two surrogates takes both: only deletion can do that.
          best = {rule, in_caption(place), in_caption(before)};
          accepted_steps = steps;
          trail_.clear();
        }
      }
      if (state == 0) {
        break;
      }
      if (steps - accepted_steps > kLongLookAhead) {
        // Maximal munch in linear time (Reps 1998): a state at a place that failed once fails
        // again.
        const std::uint64_t key = dead_end_key(place, state);
        if (dead_ends_.contains(key)) {
          break;
        }
        trail_.push_back(key);
      }
    }
    dead_ends_.insert(trail_.begin(), trail_.end());
    return best;
  }

  std::uint64_t dead_end_key(const Place& place, std::size_t state) const {
    return ((place.caption - index_) << 44) ^ (place.at << 16) ^ state;
  }

  std::size_t in_caption(const Place& place) const {
    return place.caption == index_ ? place.at : text_.size();
  }

  std::size_t shown_end(Shown shown, std::size_t start, const Match& match) const {
    switch (shown) {
      case Shown::kAll:
        return match.end;
      case Shown::kButLast:
        return match.before_last;
      case Shown::kOne:
        return start + 1;
      case Shown::kTwo:
        return start + 2;
      case Shown::kToApostrophe:
        return before_apostrophe(match.end);
      case Shown::kToPeriod:
        return std::min(text_.find('.', start), text_.size());
      case Shown::kThroughPeriod:
        return std::min(text_.find('.', start), text_.size() - 1) + 1;
      case Shown::kCommonPeriod: {
        // "ph.d." and "ed.d." have a period inside.
        const std::size_t period = text_.find('.', start);
        const bool degree = period == start + 2 && text_.substr(period, 3).size() == 3 &&
                            (text_[period + 1] | 0x20) == 'd' && text_[period + 2] == '.';
        return period + (degree ? 3 : 1);
      }
      case Shown::kToClitic:
        return text_.find_last_of("nN", match.end - 1);
      case Shown::kToBlank: {
        std::size_t at = start;
        while (at < text_.size()) {
          const std::size_t here = at;
          if (is_white(decode(text_, at))) {
            return here;
          }
        }
        return at;
      }
    }
    return match.end;
  }

  /// Where the apostrophe begins that is followed by one or two letters and then `end`.
  std::size_t before_apostrophe(std::size_t end) const {
    for (std::size_t at = end - 1;; --at) {
      const auto byte = static_cast<unsigned char>(text_[at]);
      if (byte == '\'' || byte == '&' || byte == 0xE2 || byte == 0xC2) {
        return at;
      }
    }
  }

  void act(const ptb::RuleInfo& rule, std::size_t start, std::size_t end) {
    const std::string_view match = text_.substr(start, end - start);
    switch (rule.action) {
      case Action::kSkip:
        return;
      case Action::kCopy:
        append_lower(match, out_.bytes);
        break;
      case Action::kWord:
        word(match);
        break;
      case Action::kSpaced:
      case Action::kTag:
        spaced(match, rule.action == Action::kSpaced);
        break;
      case Action::kQuotes:
      case Action::kApostrophe:
        quotes(match);
        break;
      case Action::kAmpersand:
        for (std::size_t at = 0; at < match.size(); ++at) {
          append_lower(match.substr(at, 1), out_.bytes);
          at += match[at] == '&' && match.size() - at > 4 && match[at + 4] == ';' ? 4U : 0U;
        }
        break;
      case Action::kLiteral:
        out_.bytes += ptb::kTexts[rule.text];
        break;
      case Action::kSplitThree:
        append_lower(match.substr(0, 3), out_.bytes);
        finish();
        append_lower(match.substr(3), out_.bytes);
        break;
      case Action::kDoubled:
        append_lower(match, out_.bytes);
        finish();
        out_.bytes += '.';
        break;
    }
    finish();
  }

  void word(std::string_view match) {
    const std::size_t before = out_.bytes.size();
    append_lower(match, out_.bytes);
    if (match.find(kSoftHyphen) == std::string_view::npos) {
      return;
    }
    std::size_t kept = before;
    for (std::size_t at = before; at < out_.bytes.size();) {
      if (out_.bytes.compare(at, kSoftHyphen.size(), kSoftHyphen) == 0) {
        at += kSoftHyphen.size();
      } else {
        out_.bytes[kept++] = out_.bytes[at++];
      }
    }
    out_.bytes.resize(kept);
    if (kept == before) {
      out_.bytes += '-';
    }
  }

  void spaced(std::string_view match, bool name_brackets) {
    for (std::size_t at = 0; at < match.size();) {
      const std::size_t start = at;
      const char32_t code = decode(match, at);
      if (code == ' ' || code == '\n') {
        append_utf8(0xA0, out_.bytes);
      } else if (code == '(' && name_brackets) {
        out_.bytes += "-lrb-";
      } else if (code == ')' && name_brackets) {
        out_.bytes += "-rrb-";
      } else {
        append_lower(match.substr(start, at - start), out_.bytes);
      }
    }
  }

  void quotes(std::string_view match) {
    for (std::size_t at = 0; at < match.size();) {
      const char32_t code = decode(match, at);
      switch (code) {
        case 0x91:
        case 0x2018:
        case 0x201B:
        case 0x2039:
          out_.bytes += '`';
          break;
        case 0x92:
        case 0x2019:
        case 0x203A:
          out_.bytes += '\'';
          break;
        case 0x93:
        case 0x201C:
        case 0xAB:
          out_.bytes += "``";
          break;
        case 0x94:
        case 0x201D:
        case 0xBB:
          out_.bytes += "''";
          break;
        case '&':
          // Only the lower-case entity is rewritten.
          if (match.substr(at - 1, 6) == "&apos;") {
            out_.bytes += '\'';
            at += 5;
          } else {
            out_.bytes += '&';
          }
          break;
        default:
          append_utf8(to_lower(code), out_.bytes);
      }
    }
  }

  /// End the token that was appended to the bytes, unless it is to be removed.
  void finish() {
    const std::size_t start = out_.ends.empty() ? 0 : out_.ends.back();
    if (clean_ && is_removed(std::string_view(out_.bytes).substr(start))) {
      out_.bytes.resize(start);
      ends_line_ = false;
      return;
    }
    ends_line_ = true;
    out_.ends.push_back(static_cast<std::uint32_t>(out_.bytes.size()));
  }

  std::span<const std::string_view> captions_;
  std::size_t index_;
  std::string_view text_;
  bool clean_;
  TokenBuffer& out_;
  // Whether the last token in `out_` is the machine's and also the last before removal.
  bool ends_line_ = false;
  std::vector<std::uint64_t> trail_;
  std::unordered_set<std::uint64_t> dead_ends_;
};

/// Lower case of ASCII letters; 0 for all other bytes.
constexpr std::array<char, 256> kLowerLetter = [] {
  std::array<char, 256> table{};
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    table[static_cast<unsigned char>(letter)] = letter;
    table[static_cast<unsigned char>(letter - 32)] = letter;
  }
  return table;
}();

/// A word this long is left to the machine, so that the room for a plain word is bounded.
constexpr std::ptrdiff_t kLongWord = 64;

/// Bytes of room that the plain scan asks for at a time; more would be cleared in vain.
constexpr std::size_t kRoom = 320;

/// Bytes that copy_letters may write beyond the letters it counts.
constexpr std::size_t kBlock = sizeof(std::uint64_t);

/// Copy the ASCII letters that `read` starts with, in lower case; return how many there are.
///
/// Eight bytes at a time, because a branch per letter costs more than the rest of a plain caption.
std::size_t copy_letters(const char* read, const char* end, char* write) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x80 * kOnes;
  std::size_t count = 0;
  if constexpr (std::endian::native == std::endian::little) {
    while (static_cast<std::size_t>(end - read) >= count + kBlock) {
      std::uint64_t block = 0;
      std::memcpy(&block, read + count, kBlock);
      const std::uint64_t lower = block | (0x20 * kOnes);
      std::memcpy(write + count, &lower, kBlock);
      const std::uint64_t low_bits = lower & ~kHigh;
      const std::uint64_t from_a = low_bits + (0x80 - 'a') * kOnes;
      const std::uint64_t behind_z = low_bits + (0x80 - 'z' - 1) * kOnes;
      const std::uint64_t others = ~(from_a & ~behind_z & ~block) & kHigh;
      if (others != 0) {
        return count + static_cast<std::size_t>(std::countr_zero(others)) / 8;
      }
      count += kBlock;
    }
  }
  for (; read + count < end; ++count) {
    const char lower = kLowerLetter[static_cast<unsigned char>(read[count])];
    if (lower == 0) {
      break;
    }
    write[count] = lower;
  }
  return count;
}

/// No abbreviation known to the rules has more letters.
constexpr std::size_t kLongestAbbreviation = 6;

/// The six words that are cut after their third letter.
constexpr std::array<std::string_view, 6> kCutWords = {"gonna", "cannot", "gotta",
                                                       "wanna", "lemme",  "gimme"};

bool is_split_word(std::string_view word) {
  return std::find(kCutWords.begin(), kCutWords.end(), word) != kCutWords.end();
}

bool may_be_abbreviation(const char* word, std::size_t length) {
  if (length == 1 || length > kLongestAbbreviation) {
    return length == 1;
  }
  const auto letter = [&](std::size_t i) { return static_cast<std::size_t>(word[i] - 'a'); };
  const std::size_t bit = (letter(0) * 26 + letter(length - 1)) * 8 + length;
  return (ptb::kAbbreviationFilter[bit / 64] >> (bit % 64) & 1) != 0;
}

/// A comma or a period at `mark`, behind a lower-case word, that no rule but the plainest takes.
bool is_plain_mark(const char* mark, const char* end, const char* word, std::size_t length) {
  const bool last = mark + 1 == end;
  if (!last && mark[1] != ' ') {
    return false;
  }
  if (*mark == ',') {
    return true;
  }
  if (*mark != '.' || (length != 0 && may_be_abbreviation(word, length))) {
    return false;
  }
  // ". . ." is an ellipsis.
  return last || mark + 2 >= end || mark[2] != '.';
}

/// The short way for plain text: ASCII words between blanks, with commas and periods behind them.
///
/// Tokenizes from `at` as far as the text is plain and returns where it ceases to be. Everything
/// else goes to the machine, token by token; it has no memory, so the two can alternate anywhere.
std::size_t plain_text(std::string_view text, std::size_t at, bool clean, TokenBuffer& out) {
  std::size_t used = out.bytes.size();
  char* bytes = nullptr;
  char* write = nullptr;
  char* room_end = nullptr;
  const auto make_room = [&] {
    out.bytes.resize(used + kRoom);
    bytes = out.bytes.data();
    write = bytes + used;
    room_end = bytes + out.bytes.size();
  };
  make_room();
  const char* read = text.data() + at;
  const char* const end = text.data() + text.size();
  const auto finish = [&](const char* token_end) {
    out.ends.push_back(static_cast<std::uint32_t>(token_end - bytes));
  };
  while (read < end) {
    if (static_cast<std::size_t>(room_end - write) <
        static_cast<std::size_t>(kLongWord) + 2 * kBlock) {
      used = static_cast<std::size_t>(write - bytes);
      make_room();
    }
    const char* const start = read;
    char* const word = write;
    const std::size_t length =
        copy_letters(read, read + std::min<std::ptrdiff_t>(end - read, kLongWord), write);
    if (length == static_cast<std::size_t>(kLongWord)) {
      break;
    }
    read += length;
    write += length;
    if (length == 0 && *read == ' ') {
      // Blanks before a non-ASCII byte may be one run with it.
      if (end - read > 1 && static_cast<unsigned char>(read[1]) >= 0x80) {
        break;
      }
      ++read;
      continue;
    }
    const bool alone = read == end || *read == ' ';
    if (!alone && !is_plain_mark(read, end, word, length)) {
      read = start;
      write = word;
      break;
    }
    if (length != 0) {
      if ((length == 5 || length == 6) && is_split_word({word, length})) {
        finish(word + 3);
      }
      finish(write);
    }
    if (!alone) {
      if (!clean) {
        *write++ = *read;
        finish(write);
      }
      ++read;
    }
  }
  out.bytes.resize(static_cast<std::size_t>(write - bytes));
  return static_cast<std::size_t>(read - text.data());
}

constexpr std::uint64_t as_bytes(std::string_view word) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < word.size(); ++i)
    bytes |= std::uint64_t{static_cast<unsigned char>(word[i])} << 8 * i;
  return bytes;
}
constexpr std::size_t split_place(std::uint64_t bytes) {
  return bytes * 0x9E3779B97F4A7C15u >> 58;
}
/// The words that are cut, each at its `split_place`.
constexpr std::array<std::uint64_t, 64> kSplitWords = [] {
  std::array<std::uint64_t, 64> table{};
  for (const auto word : kCutWords) table[split_place(as_bytes(word))] = as_bytes(word);
  return table;
}();
static_assert(std::ranges::count(kSplitWords, std::uint64_t{0}) == 64 - std::ssize(kCutWords));

/// What stands where in 64 bytes of a caption: a bit per byte.
struct Kinds {
  std::uint64_t letters = 0, blanks = 0;
};

/// Copies up to 64 bytes in lower case. `ascii` becomes false where one is not.
Kinds lower_plain(const char* text, std::size_t size, char* lower, bool& ascii) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x80 * kOnes;
  // The lowest bits of eight bytes, side by side.
  const auto gather = [](std::uint64_t bits) { return bits * 0x0102040810204080 >> 56; };
  Kinds kinds;
  std::uint64_t all = 0;
  for (std::size_t at = 0; at < size; at += kBlock) {
    std::uint64_t block = 0;
    if (size - at >= kBlock) {
      std::memcpy(&block, text + at, kBlock);
    } else {
      std::memcpy(&block, text + at, size - at);
    }
    all |= block;
    const std::uint64_t small = block | (0x20 * kOnes);
    std::memcpy(lower + at, &small, kBlock);
    const std::uint64_t low_bits = small & ~kHigh;
    const std::uint64_t from_a = low_bits + (0x80 - 'a') * kOnes;
    const std::uint64_t behind_z = low_bits + (0x80 - 'z' - 1) * kOnes;
    kinds.letters |= gather((from_a & ~behind_z & kHigh) >> 7) << at;
    const std::uint64_t from_blank = (block & ~kHigh) + (0x80 - ' ') * kOnes;
    const std::uint64_t behind_blank = (block & ~kHigh) + (0x80 - ' ' - 1) * kOnes;
    kinds.blanks |= gather((from_blank & ~behind_blank & kHigh) >> 7) << at;
  }
  ascii = ascii && (all & kHigh) == 0;
  return kinds;
}

}  // namespace

bool ptb_cut_plain(std::string_view caption, PlainWords& out) {
  if constexpr (std::endian::native != std::endian::little) return false;
  const std::size_t size = caption.size();
  if (size > PlainWords::kMostBytes) return false;
  const char* const end = caption.data() + size;
  std::size_t starts = 0;
  std::size_t ends = 0;
  std::uint64_t before = 0;  // whether a letter was the last byte
  bool ascii = true;
  for (std::size_t base = 0; base < size; base += 64) {
    const std::size_t length = std::min<std::size_t>(64, size - base);
    const auto [letters, blanks] =
        lower_plain(caption.data() + base, length, out.bytes.data() + base, ascii);
    const std::uint64_t shifted = letters << 1 | before;
    const auto list = [&](std::uint64_t bits, std::uint16_t* places) {
      std::size_t count = 0;
      for (; bits != 0; bits &= bits - 1)
        places[count++] =
            static_cast<std::uint16_t>(base + static_cast<unsigned>(std::countr_zero(bits)));
      return count;
    };
    starts += list(letters & ~shifted, out.starts.data() + starts);
    ends += list(shifted & ~letters, out.ends.data() + ends);
    const std::uint64_t used = length == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << length) - 1;
    for (std::uint64_t bits = ~(letters | blanks) & used; bits != 0; bits &= bits - 1) {
      const std::size_t at = base + static_cast<unsigned>(std::countr_zero(bits));
      auto* const last = out.ends.data() + ends;
      auto* const found = std::find(out.ends.data(), last, at);  // the word before it
      const std::size_t start =
          found == last ? at : out.starts[static_cast<std::size_t>(found - out.ends.data())];
      if (!is_plain_mark(caption.data() + at, end, out.bytes.data() + start, at - start))
        return false;
    }
    before = letters >> 63;
  }
  if (ends < starts) out.ends[ends++] = static_cast<std::uint16_t>(size);
  out.count = starts;
  bool plain = ascii;
  for (std::size_t i = 0; i < starts; ++i) {
    const std::size_t length = out.ends[i] - out.starts[i];
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, out.bytes.data() + out.starts[i], kBlock);
    bytes &= length >= kBlock ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * length) - 1;
    plain &= (kSplitWords[split_place(bytes)] != bytes) & (length < std::size_t{kLongWord});
  }
  return plain;
}

void ptb_tokenize_in_document(std::span<const std::string_view> captions, std::size_t index,
                              bool clean, TokenBuffer& out) {
  const std::string_view text = captions[index];
  std::size_t at = plain_text(text, 0, clean, out);
  if (at == text.size()) {
    return;
  }
  Machine machine(captions, index, clean, out);
  while (at < text.size()) {
    at = machine.step(at);
    if (at < text.size() && text[at] == ' ') {
      const std::size_t start = at;
      at = plain_text(text, start, clean, out);
      machine.follow(text.substr(start, at - start));
    }
  }
  machine.strip_last();
}

void ptb_tokenize(std::string_view caption, bool clean, TokenBuffer& out) {
  const std::array<std::string_view, 2> document = {caption, kFollowingLine};
  ptb_tokenize_in_document(document, 0, clean, out);
}

}  // namespace cidery
