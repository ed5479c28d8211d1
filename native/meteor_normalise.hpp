#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cidery {

class MeteorTable;

/// Appends METEOR's words for one line of text to `words`, each followed by one blank: punctuation
/// set apart and simplified, lower case, as METEOR 1.5 does with -norm and the language of the
/// table. For languages that it cannot normalise: lower case alone (-lower). Bytes that are not
/// UTF-8 count as U+FFFD each.
///
/// Languages differ in their lists of prefixes and in apostrophes alone: "l'eau" -> English "l
/// 'eau", French "l' eau", others "l ' eau".
///
/// The passes and their order were found by running the original on all strings of up to six
/// characters over {letter, digit, . ' , - blank}, on every code point up to U+1FAFF, and on random
/// mixtures. Three habits to know: a pass consumes the neighbours that it looks at ("a-b-c" -> "a
/// b-c"); a period is judged by the next word; the Unicode spaces are words until the very end,
/// when they vanish.
void meteor_normalise(std::string_view text, const MeteorTable& table, std::string& words);

/// The number by which METEOR compares words, and stems: Java's String.hashCode over UTF-16 units.
///
/// Different words may have the same number, and then match: the word `steer.` and `steepl`, the
/// stem of steeple. Found with the original, on pairs made for it.
std::uint32_t meteor_key(std::string_view word);

}  // namespace cidery
