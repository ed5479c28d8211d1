#include "ptb.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_set>

#include "ptb_tables.hpp"
#include "unicode_tables.hpp"

namespace cidery {
namespace {

using ptb::Action;
using ptb::Shown;

/// The line that follows a caption tokenized by itself.
constexpr std::string_view kFollowingLine = "the zzend";

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

bool contains(std::span<const CodeRange> ranges, char32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](char32_t c, const CodeRange& r) { return c < r.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

char32_t to_lower(char32_t code) {
  if (code < 0x80) {
    return code >= 'A' && code <= 'Z' ? code + 32 : code;
  }
  const auto after =
      std::upper_bound(kLowerRuns.begin(), kLowerRuns.end(), code,
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

/// Unicode's Final_Sigma: a cased letter before, none after, skipping case-ignorable characters.
bool is_final_sigma(std::string_view token, std::size_t sigma, std::size_t after) {
  bool cased_before = false;
  for (std::size_t at = 0; at < sigma;) {
    const char32_t code = decode(token, at);
    if (!contains(kCaseIgnorableRanges, code)) {
      cased_before = contains(kCasedRanges, code);
    }
  }
  while (cased_before && after < token.size()) {
    const char32_t code = decode(token, after);
    if (!contains(kCaseIgnorableRanges, code)) {
      return !contains(kCasedRanges, code);
    }
  }
  return cased_before;
}

/// Append the token in lower case, as Java's String.toLowerCase does.
void append_lower(std::string_view token, std::string& out) {
  for (std::size_t at = 0; at < token.size();) {
    const std::size_t start = at;
    const char32_t code = decode(token, at);
    if (code == 0x130) {
      out += "i\xCC\x87";
    } else if (code == 0x3A3) {
      append_utf8(is_final_sigma(token, start, at) ? 0x3C2 : 0x3C3, out);
    } else {
      append_utf8(to_lower(code), out);
    }
  }
}

/// The punctuation that pycocoevalcap removes, and that a lower-cased token can equal.
bool is_removed(std::string_view token) {
  static constexpr std::array<std::string_view, 13> kRemoved = {
      "''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"};
  return token.size() <= 3 && std::ranges::find(kRemoved, token) != kRemoved.end();
}

bool is_line_break(char32_t code) {
  return (code >= 0x0A && code <= 0x0D) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

bool is_white(char32_t code) {
  return code == ' ' || code == '\t' || code == 0xA0 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x3000 || is_line_break(code);
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
    return end;
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
      state = rows[state * classes + kind];
      if (again && state != 0) {
        // Every rule that accepts after the first surrogate of a pair treats the second alike.
        const std::size_t second = rows[state * classes + kind];
        state = second != 0 ? second : state;
      }
      if (state == 0) {
        break;
      }
      ++steps;
      if (const std::size_t rule = ptb::kAccepts[state]; rule != 0) {
        best.rule = rule;
        best.end = in_caption(place);
        best.before_last = in_caption(before);
        accepted_steps = steps;
        trail_.clear();
      } else if (steps - accepted_steps > kLongLookAhead) {
        // Maximal munch in linear time (Reps 1998): a state at a place that failed once fails again.
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
    return ((place.at * 64 + std::min<std::size_t>(place.caption - index_, 63)) << 16) | state;
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
        spaced(match);
        break;
      case Action::kQuotes:
      case Action::kApostrophe:
        quotes(match);
        break;
      case Action::kAmpersand:
        for (std::size_t at = 0; at < match.size(); ++at) {
          append_lower(match.substr(at, 1), out_.bytes);
          at += match[at] == '&' && at + 1 < match.size() && match[at + 1] == 'a' ? 4U : 0U;
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
    for (std::size_t at = out_.bytes.find("\xC2\xAD", before); at != std::string::npos;
         at = out_.bytes.find("\xC2\xAD", at)) {
      out_.bytes.erase(at, 2);
    }
    if (out_.bytes.size() == before) {
      out_.bytes += '-';
    }
  }

  void spaced(std::string_view match) {
    for (std::size_t at = 0; at < match.size();) {
      const std::size_t start = at;
      const char32_t code = decode(match, at);
      if (code == ' ' || code == '\n') {
        append_utf8(0xA0, out_.bytes);
      } else if (code == '(') {
        out_.bytes += "-lrb-";
      } else if (code == ')') {
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
          out_.bytes += '\'';
          at += 5;
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
      return;
    }
    out_.ends.push_back(static_cast<std::uint32_t>(out_.bytes.size()));
  }

  std::span<const std::string_view> captions_;
  std::size_t index_;
  std::string_view text_;
  bool clean_;
  TokenBuffer& out_;
  std::vector<std::uint64_t> trail_;
  std::unordered_set<std::uint64_t> dead_ends_;
};

}  // namespace

void ptb_tokenize_in_document(std::span<const std::string_view> captions, std::size_t index,
                              bool clean, TokenBuffer& out) {
  Machine machine(captions, index, clean, out);
  for (std::size_t at = 0; at < captions[index].size();) {
    at = machine.step(at);
  }
}

void ptb_tokenize(std::string_view caption, bool clean, TokenBuffer& out) {
  const std::array<std::string_view, 2> document = {caption, kFollowingLine};
  ptb_tokenize_in_document(document, 0, clean, out);
}

}  // namespace cidery
