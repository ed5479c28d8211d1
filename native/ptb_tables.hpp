#pragma once

#include <cstdint>
#include <string_view>

/// The scanner that tools/make_ptb_tables.py compiles from tools/ptb_rules.py.
namespace cidery::ptb {

/// What becomes of a match.
enum class Action : std::uint8_t {
  kSkip,
  kCopy,        // as it is
  kWord,        // soft hyphens removed; nothing but soft hyphens is a hyphen
  kSpaced,      // blanks become no-break spaces, round brackets their names
  kTag,         // blanks become no-break spaces
  kQuotes,      // each curly quote becomes its ASCII form
  kApostrophe,  // curly apostrophes and &apos; become '
  kAmpersand,   // &amp; becomes &
  kLiteral,     // a fixed text
  kSplitThree,  // two tokens, the first of three letters
  kDoubled,     // a second period
};

/// How much of a match is the token; the rest is look-ahead.
enum class Shown : std::uint8_t {
  kAll,
  kButLast,        // all but the last character
  kToBlank,        // up to the first white space
  kThroughPeriod,  // up to the first period, with it
  kToPeriod,       // up to the first period, without it
  kCommonPeriod,   // up to the period that ends the abbreviation, with it
  kToClitic,       // up to the n of n't
  kToApostrophe,   // up to the last apostrophe
  kTwo,            // the first two characters
  kOne,            // the first character
};

struct RuleInfo {
  Action action;
  Shown shown;
  std::uint8_t text;
};

/// Character classes of the basic plane: kClassOf[kClassPage[c >> 7] * 128 + (c & 127)].
extern const std::uint8_t kClassPage[512];
extern const std::uint8_t kClassOf[];
extern const std::uint8_t kSurrogateClass;
extern const std::uint8_t kLineEndClass;
/// Rule 0 means "no rule".
extern const RuleInfo kRules[];
extern const std::string_view kTexts[];
/// The rule that a state accepts. State 0 is dead, state 1 is the start.
extern const std::uint8_t kAccepts[];
/// Words that may be abbreviations: bit ((first letter * 26 + last letter) * 8 + length).
extern const std::uint64_t kAbbreviationFilter[];
extern const std::uint16_t kStateCount;
extern const std::uint16_t kClassCount;
/// Each state's row: an earlier row it resembles, a count, then (class, target) differences.
extern const std::uint16_t kPackedRows[];

}  // namespace cidery::ptb
