"""Problems in the writing of captions that make scores wrong or too low.

`find_script_problems` checks all captions of a run: scripts without spaces that the tokenizer does
not segment, two normal forms or widths of the same letters, invisible characters, and captions in
different scripts or languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, filterfalse
from unicodedata import category

from cidery.errors import CideryError, LanguageWarning, warn_caller
from cidery.text.normalization import INVISIBLE
from cidery.text.scanned_captions import (
    SCRIPT_LANGUAGES,
    ScannedCaptions,
    sample_evenly,
    scan_captions,
)
from cidery.text.scripts import UNSPACED_SCRIPTS, find_script
from cidery.text.tokenizers import Tokenizer

SAMPLE = 200
"""Number of captions that are tokenized to find problems, spread evenly over the file."""

DROPPED_SHARE = 0.05
"""Minimum share of a script's letters and marks that a tokenizer drops for a warning."""

NON_ASCII_SHARE = 0.01
"""Minimum share of captions beyond ASCII for language detection; English has fewer."""

MIXED_SHARE = 0.1
"""Minimum share of captions in a second script that makes a file mixed."""

_SIMILAR_LANGUAGES = ({"no", "nb", "nn", "da"}, {"id", "ms"}, {"bs", "hr", "sr"})
"""Languages that py3langid confuses."""

_LANGUAGES_WITH_SEGMENTER = ("zh", "ja", "th")

_MAX_MEAN_IDEOGRAPHS = 3.5
"""Mean letters per word. Segmented Chinese and Japanese captions have 1.5 to 2."""
_MAX_MEAN_LETTERS = 10.0
"""The same for Thai, Lao, Khmer, Burmese and others, whose words have 3 to 6."""
_IDEOGRAPHIC = ("Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Nushu", "Tangut")

_MAYBE_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""All characters that `INVISIBLE` may match."""
_VOWEL_MARKS = re.compile("[\u064b-\u0652\u0670]")
"""Arabic short vowels, nunation, shadda, sukun and the superscript alef."""
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_NARROW = re.compile("[0-9A-Za-z]")
_NARROW_KANA = re.compile("[\uff66-\uff9f]+")
_KANA = re.compile("[\u30a1-\u30fa]")
_LOAN_WORD = re.compile("[\u30a0-\u30ff\uff66-\uff9f]+")
"""Words in katakana only, which may be long."""


def find_script_problems(
    files: Mapping[str, Sequence[str]],
    tokenizer: Tokenizer,
    english_only: Collection[str] = (),
) -> list[str]:
    """Return problems in the writing of captions, a sentence each.

    Args:
        files: Captions by the name that messages show.
        tokenizer: Tokenizer of the run.
        english_only: Names of metrics and document frequencies that support English only.

    ```python
    find_script_problems({"results.json": ["一只狗在海滩上奔跑"]}, Tokenizer("ptb"))
    ```
    """
    scanned = {name: scan_captions(captions) for name, captions in files.items()}
    # A language that the user named needs no detection: ASCII captions may be in it.
    named = english_only and tokenizer.language not in (None, "en")
    if not named and not any(captions.non_ascii for captions in scanned.values()):
        return []
    found = [_File(name, captions, tokenizer) for name, captions in scanned.items()]
    return [
        *_find_unsegmented(found),
        *_find_dropped(found),
        *_find_vowel_marks(found),
        *_find_normal_forms(found),
        *_find_invisible(found),
        *_find_widths(found),
        *_find_mixed(found),
        *_find_other_language(found),
        *_find_english_only(found, english_only),
    ]


def warn_script_problems(
    files: Mapping[str, Sequence[str]],
    tokenizer: Tokenizer,
    english_only: Collection[str] = (),
) -> None:
    """Warn of the problems that `find_script_problems` returns, at the line that called cidery."""
    for problem in find_script_problems(files, tokenizer, english_only):
        warn_caller(problem, LanguageWarning)


@dataclass(frozen=True, eq=False)
class _File:
    """Captions of one file."""

    name: str
    captions: ScannedCaptions
    tokenizer: Tokenizer

    @property
    def script(self) -> str | None:
        """Script of most captions."""
        counts = self.captions.script_counts
        return counts[0].script if counts else None

    @property
    def language(self) -> str | None:
        """Detected language; None, and no library is loaded, where nearly all is ASCII."""
        rare = len(self.captions.non_ascii) < NON_ASCII_SHARE * len(self.captions)
        return None if rare else self.captions.language

    @property
    def supported_language(self) -> str | None:
        """Code of the language where `language=` supports it."""
        from cidery.text.languages import LANGUAGES

        code = self.language or SCRIPT_LANGUAGES.get(self.script or "", (None, None))[1]
        return code if code in LANGUAGES else None

    def may_match(self, pattern: re.Pattern[str]) -> bool:
        """Return True if a character of the captions matches a pattern."""
        return pattern.search(self.captions.scripts.distinct) is not None

    @cached_property
    def sample(self) -> list[str]:
        """Sample of the captions beyond ASCII."""
        return sample_evenly(self.captions.non_ascii, SAMPLE)

    @cached_property
    def tokens(self) -> list[list[str]]:
        """Tokens of the sample."""
        return self.tokenize(self.sample)

    def tokenize(self, captions: Sequence[str]) -> list[list[str]]:
        return self.tokenizer(list(captions), threads=1).captions.tokens()

    def changes_tokens(self, captions: Sequence[str], change: Callable[[str], str]) -> bool:
        """Return True if a change of captions changes their tokens."""
        sample = sample_evenly(captions, SAMPLE)
        try:
            return self.tokenize(sample) != self.tokenize([change(caption) for caption in sample])
        except Exception:  # of a user's function on changed captions; scoring raises its own
            return False


def _find_unsegmented(files: Sequence[_File]) -> Iterator[str]:
    """Yield scripts without spaces whose sentences are tokenized as single words."""
    names: dict[str, list[str]] = {}
    example: dict[str, str] = {}
    for file in files:
        for script, word in _list_long_words(file).items():
            names.setdefault(script, []).append(file.name)
            example.setdefault(script, word)
    for script, found in names.items():
        language, code = SCRIPT_LANGUAGES.get(script, (script, None))
        yield (
            f"{_join(found)}: {language} has no spaces between words, and the tokenizer "
            f"{files[0].tokenizer.id} makes {_shorten(example[script])!r} one token, so scores "
            f"are too low; {_advise(code, unspaced=True)}"
        )


def _advise(code: str | None, unspaced: bool) -> str:
    """Return the settings for a language."""
    if not unspaced:
        return 'pass tokenizer="words" (--tokenizer words)'
    name = "words" if code in ("zh", "ja") else "char"
    characters = f'tokenizer="{name}" (--tokenizer {name}), which makes each character a token'
    if code in _LANGUAGES_WITH_SEGMENTER:
        return f'pass language="{code}" (--language {code}), or {characters}'
    return f'pass {characters}, or put spaces between words and pass tokenizer="whitespace"'


def _list_long_words(file: _File) -> dict[str, str]:
    """Return scripts whose tokens are too long to be words, each with the first such token."""
    if not file.captions.non_ascii:
        return {}
    scripts = set(file.captions.scripts.count())
    if scripts <= {"Latin", "Cyrillic", "Greek"}:
        return {}
    japanese = "Japanese" in scripts
    try:
        tokens = file.tokens
    except (CideryError, ValueError):
        return {}
    words = Counter(word for caption in tokens for word in caption if not word.isascii())
    kinds = {c: _name_unspaced(c, japanese) for c in set(chain.from_iterable(words))}
    lengths: dict[str, dict[str, int]] = {}
    for word in filterfalse(_LOAN_WORD.fullmatch, words):
        letters = [kind for character in word if (kind := kinds[character]) is not None]
        for script in set(letters):
            lengths.setdefault(script, {})[word] = letters.count(script)
    found = {}
    for script, counted in lengths.items():
        ideographic = script in ("Chinese", "Japanese", *_IDEOGRAPHIC)
        limit = _MAX_MEAN_IDEOGRAPHS if ideographic else _MAX_MEAN_LETTERS
        total = sum(words[word] for word in counted)
        if sum(length * words[word] for word, length in counted.items()) > limit * total:
            found[script] = next(word for word, length in counted.items() if length > limit)
    return found


def _find_dropped(files: Sequence[_File]) -> Iterator[str]:
    """Yield scripts of which the tokenizer drops letters or vowel signs."""
    names: dict[str, list[str]] = {}
    share: dict[str, float] = {}
    for file in files:
        if file.tokenizer.function is not None or not file.captions.non_ascii:
            continue  # a user's function may drop some on purpose
        before = _count_letters(file.sample)
        after = _count_letters(chain.from_iterable(file.tokens))
        for script, count in before.items():
            if count - after[script] >= max(2.0, DROPPED_SHARE * count):
                names.setdefault(script, []).append(file.name)
                share.setdefault(script, 1 - after[script] / count)
    for script, found in names.items():
        code = SCRIPT_LANGUAGES.get(script, (script, None))[1]
        yield (
            f"{_join(found)}: the tokenizer {files[0].tokenizer.id} drops {share[script]:.0%} of "
            f"the letters and vowel signs of {script}; {_advise(code, script in UNSPACED_SCRIPTS)}"
        )


def _find_vowel_marks(files: Sequence[_File]) -> Iterator[str]:
    """Yield the files with Arabic vowel marks, if not all captions have them."""
    marked = {
        file: list(filter(_VOWEL_MARKS.search, file.captions.non_ascii))
        for file in files
        if file.may_match(_VOWEL_MARKS)
    }
    if sum(map(len, marked.values())) == sum(len(file.captions) for file in files):
        return
    for file, captions in marked.items():
        if file.changes_tokens(captions, partial(_VOWEL_MARKS.sub, "")):
            yield (
                f"{file.name}: {len(captions)} of {len(file.captions)} captions have Arabic vowel "
                "marks, and a word with marks does not match the same word without; remove them "
                "from captions and references: re.sub('[\\u064b-\\u0652\\u0670]', '', caption)"
            )


def _count_letters(texts: Iterable[str]) -> Counter[str]:
    """Count letters and marks beyond ASCII by script, without marks that scripts share."""
    counts: Counter[str] = Counter()
    for character, count in Counter("".join(texts)).items():
        script = find_script(character)
        if script and not character.isascii() and category(character)[0] in "LM":
            counts[script] += count
    return counts


def _name_unspaced(character: str, japanese: bool) -> str | None:
    """Return the script of a letter if it has no spaces between words.

    Han characters and kana count together.
    """
    script = find_script(character) if character.isalpha() else None
    if script not in UNSPACED_SCRIPTS:
        return None
    together = "Japanese" if japanese else "Chinese"
    return together if script in _IDEOGRAPHIC[:4] else script


def _find_normal_forms(files: Sequence[_File]) -> Iterator[str]:
    """Yield captions that are not in normal form C, where this changes tokens."""
    names, count = [], 0
    for file in files:
        other = file.captions.non_normalized
        if other and file.changes_tokens(other, lambda c: unicodedata.normalize("NFC", c)):
            names.append(file.name)
            count += len(other)
    if names:
        yield (
            f"{_join(names)}: {_count(count)} not in Unicode's normal form C, so words that look "
            "the same may differ; normalize them (unicodedata.normalize), or pass "
            'tokenizer="ptb", tokenizer="words" or a language, which do'
        )


def _find_invisible(files: Sequence[_File]) -> Iterator[str]:
    """Yield zero-width characters and marks of direction that change tokens."""
    names, count = [], 0
    characters: Counter[str] = Counter()
    for file in files:
        if not file.may_match(_MAYBE_INVISIBLE):
            continue
        other = [c for c in file.captions.non_ascii if INVISIBLE.search(c)]
        if other and file.changes_tokens(other, lambda c: INVISIBLE.sub("", c)):
            names.append(file.name)
            count += len(other)
            characters.update(found for c in other for found in INVISIBLE.findall(c))
    if names:
        shown = ", ".join(
            f"U+{ord(character):04X} {unicodedata.name(character, '').lower()}"
            for character, _ in characters.most_common(3)
        )
        yield (
            f"{_join(names)}: {_count(count, 'has', 'have')} invisible characters ({shown}), so "
            "words that look the same may differ; remove them, or pass a language other than "
            'English, which does (language="de", --language de)'
        )


def _find_widths(files: Sequence[_File]) -> Iterator[str]:
    """Yield full-width and half-width forms beside usual forms of the same letters."""
    for pattern, usual, description in (
        (_WIDE, _NARROW, "full-width letters or digits beside usual ones"),
        (_NARROW_KANA, _KANA, "half-width kana beside usual ones"),
    ):
        names, count = [], 0
        narrow = partial(_to_usual_width, pattern)
        for file in files:
            if not file.may_match(pattern):
                continue
            other = [c for c in file.captions.non_ascii if pattern.search(c)]
            if other and file.changes_tokens(other, narrow):
                names.append(file.name)
                count += len(other)
        if names and any(usual.search(c) for file in files for c in file.captions):
            yield (
                f"{_join(names)}: {_count(count, 'has', 'have')} {description}, so words that "
                "read the same may differ; write them in one way (unicodedata.normalize NFKC "
                'does), or pass a language other than English, which does (language="ja", '
                "--language ja)"
            )


def _to_usual_width(pattern: re.Pattern[str], caption: str) -> str:
    return pattern.sub(lambda found: unicodedata.normalize("NFKC", found[0]), caption)


def _find_mixed(files: Sequence[_File]) -> Iterator[str]:
    """Yield files with captions in several scripts, and files in different scripts or languages."""
    for file in files:
        counts = file.captions.script_counts
        total = sum(count.captions for count in counts)
        large = [count for count in counts if count.captions >= MIXED_SHARE * total]
        if len(large) > 1:
            shares = ", ".join(f"{found.script} {found.captions / total:.0%}" for found in large)
            yield (
                f"{file.name}: captions are in different scripts ({shares}); no tokenizer and no "
                "document frequencies fit all of them: score each language separately"
            )
    scripts = {file.name: file.script for file in files if file.script is not None}
    languages = {file.name: file.language for file in files if file.language is not None}
    for kinds, noun in ((scripts, "scripts"), (languages, "languages (detected)")):
        distinct = set(kinds.values())
        if len(distinct) > 1 and not any(distinct <= similar for similar in _SIMILAR_LANGUAGES):
            listed = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
            yield f"candidates and references are in different {noun}: {listed}"
            break


def _find_other_language(files: Sequence[_File]) -> Iterator[str]:
    """Yield captions in the script of a language other than the one that the user named."""
    for file in files:
        named = file.tokenizer.language
        language, code = SCRIPT_LANGUAGES.get(file.script or "", (None, None))
        if named is not None and language is not None and named != code:
            yield (
                f"{file.name}: captions are in {language}, but the language is set to {named!r}; "
                f'pass language="{code}" (--language {code})'
            )


def _find_english_only(files: Sequence[_File], english_only: Collection[str]) -> Iterator[str]:
    """Yield metrics and frequencies that support English only, for captions in other languages."""
    if not english_only:
        return
    other = {
        file: SCRIPT_LANGUAGES.get(file.script, (file.script, None))[0]
        if file.script not in (None, "Latin")
        else f"the language {file.language!r}"
        for file in files
        if file.script not in (None, "Latin") or file.language not in (None, "en")
    }
    named = files[0].tokenizer.language
    if not other and named not in (None, "en"):
        other = dict.fromkeys(files, f"the language {named!r}")
    if other:
        file, language = next(iter(other.items()))
        code = None if named else file.supported_language
        advice = f'; pass language="{code}" (--language {code})' if code else ""
        yield (
            f"{_join([file.name for file in other])}: captions are in {language}, but these "
            f"support English only: {', '.join(english_only)}{advice}"
        )


def _count(count: int, one: str = "is", several: str = "are") -> str:
    return f"{count} caption{'s' * (count != 1)} {one if count == 1 else several}"


def _join(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _shorten(word: str) -> str:
    return word if len(word) <= 20 else f"{word[:19]}…"
