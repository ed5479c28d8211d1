"""How captions are written, and what their tokenizer cannot cope with.

`find_problems` looks at all captions of a run: scripts without blanks that the tokenizer does not
cut, two normal forms or widths of the same letters, invisible characters, and captions in different
scripts or languages. English captions in plain ASCII cost one pass in C.
"""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, filterfalse
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unicodedata import category

from cidery.errors import CideryError, LanguageWarning
from cidery.text.normalization import INVISIBLE, are_ascii
from cidery.text.scripts import WITHOUT_BLANKS, Scripts, count_latin, find_script
from cidery.text.tokenizers import Tokenizer

SAMPLE = 200
"""How many captions are cut to see what the tokenizer does, spread evenly over all that may show
it."""

LANGUAGE_SAMPLE = 100
"""How many captions py3langid reads, spread evenly over the file."""

LOST_SHARE = 0.05
"""From this share of a script's letters and marks on, it is said that the tokenizer drops them."""

FEWEST_CHARACTERS = 200
"""Of shorter texts the language cannot be told reliably where a script has many."""

_ALIKE = ({"no", "nb", "nn", "da"}, {"id", "ms"}, {"bs", "hr", "sr"})
"""Languages that are easily taken for one another."""

_WITH_SEGMENTER = ("zh", "ja", "th")

MIXED_SHARE = 0.1
"""From this share of captions on, another script makes a file mixed."""

_LONGEST_MEAN = 3.5
"""Letters per word. Segmented Chinese and Japanese captions have 1.5 to 2 on average."""
_LONGEST_MEAN_OF_LETTERS = 10.0
"""The same for Thai, Lao, Khmer, Burmese and others, whose words have 3 to 6."""
_IDEOGRAPHIC = ("Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Nushu", "Tangut")

LANGUAGES = MappingProxyType(
    {
        "Chinese": ("Chinese", "zh"),
        "Japanese": ("Japanese", "ja"),
        "Hangul": ("Korean", "ko"),
        "Thai": ("Thai", "th"),
        "Lao": ("Lao", "lo"),
        "Khmer": ("Khmer", "km"),
        "Myanmar": ("Burmese", "my"),
        "Tibetan": ("Tibetan", "bo"),
    }
)
"""Scripts that tell the language: its name and code."""

_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""All that `INVISIBLE` may find, whatever stands before."""
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_NARROW = re.compile("[0-9A-Za-z]")
_NARROW_KANA = re.compile("[\uff66-\uff9f]+")
_KANA = re.compile("[\u30a1-\u30fa]")
_LOAN_WORD = re.compile("[\u30a0-\u30ff\uff66-\uff9f]+")
"""Words in katakana alone, which may be long."""
_PACKAGE = str(Path(__file__).resolve().parents[1])


@dataclass(frozen=True)
class ScriptShare:
    """How many captions are written in a script."""

    script: str
    captions: int


def count_scripts(captions: Sequence[str]) -> tuple[ScriptShare, ...]:
    """Count captions by the script that most of their letters have, the most frequent first.

    ```python
    count_scripts(["a dog", "the dog", "一只狗"])[0]   # ScriptShare(script="Latin", captions=2)
    ```
    """
    return _share(captions, Scripts.find(list(filterfalse(str.isascii, captions))))


def _share(captions: Sequence[str], foreign: Scripts) -> tuple[ScriptShare, ...]:
    counts = foreign.count()
    if len(foreign.main) < len(captions) and (latin := count_latin(captions)):
        counts["Latin"] += latin
    return tuple(ScriptShare(*item) for item in counts.most_common())


def detect_language(captions: Sequence[str]) -> str | None:
    """Return the code of the language that captions are in, as `py3langid` or their script tells.

    None where neither can: the script has many languages, and the extra `languages` is missing or
    the captions are too few.
    """
    return _tell_language(captions, count_scripts(captions))


def _tell_language(captions: Sequence[str], shares: Sequence[ScriptShare]) -> str | None:
    if not shares:
        return None
    if shares[0].script in LANGUAGES:
        return LANGUAGES[shares[0].script][1]
    try:
        import py3langid
    except ImportError:
        return None
    text = " ".join(_take_evenly(captions, LANGUAGE_SAMPLE))
    return str(py3langid.classify(text)[0]) if len(text) >= FEWEST_CHARACTERS else None


def find_problems(
    files: Mapping[str, Sequence[str]],
    tokenizer: Tokenizer,
    english: Collection[str] = (),
) -> list[str]:
    """Return what makes scores of these captions wrong or low without need, a sentence each.

    Args:
        files: captions by what messages call them.
        tokenizer: what cuts them.
        english: what else is made for English captions alone: metrics, document frequencies.

    ```python
    find_problems({"results.json": ["一只狗在海滩上奔跑"]}, Tokenizer("ptb"))
    ```
    """
    # A language that was asked for needs no detection, so captions in ASCII are told of too.
    told = english if tokenizer.language not in (None, "en") else ()
    if not told and all(map(are_ascii, files.values())):
        return []
    looks = {name: _Look.take(name, captions, tokenizer) for name, captions in files.items()}
    return [
        *_report_uncut(looks),
        *_report_lost(looks),
        *_report_forms(looks),
        *_report_invisible(looks),
        *_report_widths(looks, files),
        *_report_mixed(looks),
        *_report_other(looks),
        *_report_english(looks, english),
    ]


def warn_of_writing(
    files: Mapping[str, Sequence[str]],
    tokenizer: Tokenizer,
    english: Collection[str] = (),
) -> None:
    """Warn of what `find_problems` finds, at the line that called cidery."""
    for problem in find_problems(files, tokenizer, english):
        warnings.warn(problem, LanguageWarning, stacklevel=_find_caller())


def _find_caller() -> int:
    """Return the stack level, seen from our caller, of the first frame outside this package."""
    frame: Any = sys._getframe(1)
    level = 0
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level + 1 if frame is not None else 1


@dataclass(frozen=True, eq=False)
class _Look:
    """What is seen in the captions of one file."""

    name: str
    tokenizer: Tokenizer
    foreign: Sequence[str]
    """Captions that are not plain ASCII."""
    scripts: Scripts
    """Of these captions."""
    count: int
    shares: tuple[ScriptShare, ...]
    language: str | None

    @classmethod
    def take(cls, name: str, captions: Sequence[str], tokenizer: Tokenizer) -> _Look:
        foreign = list(filterfalse(str.isascii, captions))
        # English has few letters that are not ASCII: it is not worth loading the library.
        rare = len(foreign) < 0.01 * len(captions)
        scripts = Scripts.find(foreign)
        shares = _share(captions, scripts)
        language = None if rare else _tell_language(captions, shares)
        return cls(name, tokenizer, foreign, scripts, len(captions), shares, language)

    @property
    def script(self) -> str | None:
        return self.shares[0].script if self.shares else None

    @property
    def code(self) -> str | None:
        """The code of the language that captions seem to be in, where `language=` knows it."""
        from cidery.text.languages import LANGUAGES as KNOWN

        code = self.language or LANGUAGES.get(self.script or "", (None, None))[1]
        return code if code in KNOWN else None

    def has(self, sign: re.Pattern[str]) -> bool:
        """Tell whether captions may have what a pattern finds, by the characters that occur."""
        return sign.search(self.scripts.distinct) is not None

    @cached_property
    def sample(self) -> list[str]:
        """Some of these captions."""
        return _take_evenly(self.foreign, SAMPLE)

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of the sample."""
        return self.cut(self.sample)

    def cut(self, captions: Sequence[str]) -> list[list[str]]:
        return self.tokenizer(list(captions), threads=1).captions.tokens()

    def differs(self, captions: Sequence[str], change: Callable[[str], str]) -> bool:
        """Tell whether the tokenizer gives other words for captions that are changed so."""
        sample = _take_evenly(captions, SAMPLE)
        try:
            return self.cut(sample) != self.cut([change(caption) for caption in sample])
        except Exception:  # of the user's function, on changed captions; scoring says what is wrong
            return False


def _take_evenly(captions: Sequence[str], most: int) -> list[str]:
    step = max(1, -(-len(captions) // most))
    return list(captions[::step])


def _report_uncut(looks: Mapping[str, _Look]) -> Iterator[str]:
    """Scripts without blanks, of which whole sentences are left as words."""
    found: dict[str, list[str]] = {}
    example: dict[str, str] = {}
    for name, look in looks.items():
        for script, word in _find_uncut(look).items():
            found.setdefault(script, []).append(name)
            example.setdefault(script, word)
    for script, names in found.items():
        language, code = LANGUAGES.get(script, (script, None))
        tokenizer = next(iter(looks.values())).tokenizer.id
        yield (
            f"{_join(names)}: {language} has no blanks between words, and the tokenizer "
            f"{tokenizer} takes {_shorten(example[script])!r} for one word, so that scores are "
            f"too low; {_advise(code, without_blanks=True)}"
        )


def _advise(code: str | None, without_blanks: bool) -> str:
    """Say what to pass for a language."""
    if not without_blanks:
        return 'pass tokenizer="words" (--tokenizer words)'
    name = "words" if code in ("zh", "ja") else "char"
    characters = f'tokenizer="{name}" (--tokenizer {name}), which takes each character for a word'
    if code in _WITH_SEGMENTER:
        return f'pass language="{code}" (--language {code}), or {characters}'
    return f'pass {characters}, or put blanks between words and pass tokenizer="whitespace"'


def _find_uncut(look: _Look) -> dict[str, str]:
    """Return scripts whose words are too long to be words, each with the first such word."""
    if not look.foreign:
        return {}
    scripts = set(look.scripts.count())
    if scripts <= {"Latin", "Cyrillic", "Greek"}:
        return {}
    japanese = "Japanese" in scripts
    try:
        cut = look.words
    except (CideryError, ValueError):
        return {}
    words = Counter(word for tokens in cut for word in tokens if not word.isascii())
    kinds = {c: _name_uncut(c, japanese) for c in set(chain.from_iterable(words))}
    lengths: dict[str, dict[str, int]] = {}
    for word in filterfalse(_LOAN_WORD.fullmatch, words):
        letters = [kind for character in word if (kind := kinds[character]) is not None]
        for script in set(letters):
            lengths.setdefault(script, {})[word] = letters.count(script)
    found = {}
    for script, counted in lengths.items():
        ideographic = script in ("Chinese", "Japanese", *_IDEOGRAPHIC)
        most = _LONGEST_MEAN if ideographic else _LONGEST_MEAN_OF_LETTERS
        total = sum(words[word] for word in counted)
        if sum(length * words[word] for word, length in counted.items()) > most * total:
            found[script] = next(word for word, length in counted.items() if length > most)
    return found


def _report_lost(looks: Mapping[str, _Look]) -> Iterator[str]:
    """Scripts of which the tokenizer drops letters or vowel signs."""
    found: dict[str, list[str]] = {}
    share: dict[str, float] = {}
    for name, look in looks.items():
        if look.tokenizer.function is not None or not look.foreign:
            continue  # a function of the user's may mean to drop some
        given = _count_letters(look.sample)
        kept = _count_letters(chain.from_iterable(look.words))
        for script, count in given.items():
            if count - kept[script] >= max(2.0, LOST_SHARE * count):
                found.setdefault(script, []).append(name)
                share.setdefault(script, 1 - kept[script] / count)
    for script, names in found.items():
        code = LANGUAGES.get(script, (script, None))[1]
        tokenizer = looks[names[0]].tokenizer.id
        yield (
            f"{_join(names)}: the tokenizer {tokenizer} drops {share[script]:.0%} of the letters "
            f"and vowel signs of {script}; {_advise(code, script in WITHOUT_BLANKS)}"
        )


def _count_letters(texts: Iterable[str]) -> Counter[str]:
    """Count letters and marks beyond ASCII by script; marks that scripts share are left out."""
    counts: Counter[str] = Counter()
    for character, count in Counter("".join(texts)).items():
        script = find_script(character)
        if script and not character.isascii() and category(character)[0] in "LM":
            counts[script] += count
    return counts


def _name_uncut(character: str, japanese: bool) -> str | None:
    """Return the script of a letter that has no blanks between words; None for others.

    Han characters and kana count together.
    """
    script = find_script(character) if character.isalpha() else None
    if script not in WITHOUT_BLANKS:
        return None
    together = "Japanese" if japanese else "Chinese"
    return together if script in _IDEOGRAPHIC[:4] else script


def _report_forms(looks: Mapping[str, _Look]) -> Iterator[str]:
    """Captions that are not in normal form C, where the tokenizer sees a difference."""
    names, count = [], 0
    for name, look in looks.items():
        if unicodedata.is_normalized("NFC", look.scripts.text):
            continue
        other = [c for c in look.foreign if not unicodedata.is_normalized("NFC", c)]
        if other and look.differs(other, lambda c: unicodedata.normalize("NFC", c)):
            names.append(name)
            count += len(other)
    if names:
        yield (
            f"{_join(names)}: {_count(count)} not in Unicode's normal form C, so that words which "
            "look the same may differ; normalize them (unicodedata.normalize), or pass "
            'tokenizer="ptb" or "words" or a language, which do'
        )


def _report_invisible(looks: Mapping[str, _Look]) -> Iterator[str]:
    """Zero-width characters and marks of direction that get into words."""
    names, count = [], 0
    signs: Counter[str] = Counter()
    for name, look in looks.items():
        if not look.has(_UNSEEN):
            continue
        other = [c for c in look.foreign if INVISIBLE.search(c)]
        if other and look.differs(other, lambda c: INVISIBLE.sub("", c)):
            names.append(name)
            count += len(other)
            signs.update(sign for c in other for sign in INVISIBLE.findall(c))
    if names:
        shown = ", ".join(
            f"U+{ord(sign):04X} {unicodedata.name(sign, '').lower()}"
            for sign, _ in signs.most_common(3)
        )
        yield (
            f"{_join(names)}: {_count(count, 'has', 'have')} invisible characters ({shown}), so "
            "that words which look the same may differ; remove them, or pass a language other "
            'than English, which does (language="de", --language de)'
        )


def _report_widths(looks: Mapping[str, _Look], files: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Full-width and usual forms of the same letters, side by side."""
    for sign, usual, what in (
        (_WIDE, _NARROW, "full-width letters or digits beside usual ones"),
        (_NARROW_KANA, _KANA, "half-width kana beside usual ones"),
    ):
        names, count = [], 0
        for name, look in looks.items():
            other = [c for c in look.foreign if sign.search(c)] if look.has(sign) else []
            if other and look.differs(other, lambda c, sign=sign: _to_usual_width(sign, c)):  # type: ignore[misc]
                names.append(name)
                count += len(other)
        if names and any(usual.search(c) for captions in files.values() for c in captions):
            yield (
                f"{_join(names)}: {_count(count, 'has', 'have')} {what}, so that words which read "
                "the same may differ; write them in one way (unicodedata.normalize NFKC does), or "
                'pass a language other than English, which does (language="ja", --language ja)'
            )


def _to_usual_width(sign: re.Pattern[str], caption: str) -> str:
    return sign.sub(lambda found: unicodedata.normalize("NFKC", found[0]), caption)


def _report_mixed(looks: Mapping[str, _Look]) -> Iterator[str]:
    """Files with captions in several scripts, and files in different scripts or languages."""
    for name, look in looks.items():
        known = sum(share.captions for share in look.shares)
        large = [s for s in look.shares if s.captions >= MIXED_SHARE * known]
        if len(large) > 1:
            shares = ", ".join(f"{s.script} {s.captions / known:.0%}" for s in large)
            yield (
                f"{name}: captions are in different scripts ({shares}); no tokenizer and no "
                "document frequencies fit all of them: score each language by itself"
            )
    main = {name: look.script for name, look in looks.items() if look.script is not None}
    spoken = {name: look.language for name, look in looks.items() if look.language is not None}
    for kinds, what in ((main, "scripts"), (spoken, "languages, it seems")):
        if len(set(kinds.values())) > 1 and not any(set(kinds.values()) <= a for a in _ALIKE):
            listed = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
            yield f"candidates and references are in different {what} ({listed})"
            break


def _report_other(looks: Mapping[str, _Look]) -> Iterator[str]:
    """Captions whose script is that of another language than the one that was asked for."""
    for name, look in looks.items():
        asked = look.tokenizer.language
        language, code = LANGUAGES.get(look.script or "", (None, None))
        if asked is not None and language is not None and asked != code:
            yield (
                f"{name}: captions are in {language}, but the language asked for is {asked!r}; "
                f'pass language="{code}" (--language {code})'
            )


def _report_english(looks: Mapping[str, _Look], english: Collection[str]) -> Iterator[str]:
    """Metrics and frequencies made for English, where captions are in another language."""
    if not english:
        return
    other = {
        name: LANGUAGES.get(look.script, (look.script, None))[0]
        if look.script not in (None, "Latin")
        else f"the language {look.language!r}"
        for name, look in looks.items()
        if look.script not in (None, "Latin") or look.language not in (None, "en")
    }
    asked = next(iter(looks.values())).tokenizer.language
    if not other and asked not in (None, "en"):
        other = dict.fromkeys(looks, f"the language {asked!r}")
    if other:
        name, language = next(iter(other.items()))
        code = None if asked else looks[name].code
        advice = f'; language="{code}" (--language {code}) chooses what fits it' if code else ""
        yield (
            f"{_join(list(other))}: captions are in {language}; what is made for English gives "
            f"them numbers that mean little: {', '.join(english)}{advice}"
        )


def _count(count: int, one: str = "is", several: str = "are") -> str:
    return f"{count} caption{'s' * (count != 1)} {one if count == 1 else several}"


def _join(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _shorten(word: str) -> str:
    return word if len(word) <= 20 else f"{word[:19]}…"
