"""Splitters: tokenization as other evaluation code does it.

Most split each piece between blanks independently, so that every distinct piece is split once
(`PieceSplitter`). A few preprocess whole captions.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from cidery import _native
from cidery.text import STOP_WORDS, get_stemmer

PieceSplitter: TypeAlias = Callable[[list[str]], list[list[str]]]
"""Function from pieces without blanks to the tokens of each."""
Preprocessor: TypeAlias = Callable[[list[str]], list[str]]
"""Function from captions to texts whose tokens are separated by blanks."""

_BLANKS = str.maketrans({" ": "\u2423", "\n": "\u2424", "\t": "\u21e5", "\r": "\u21b5"})
"""Tokens for blanks where every character is a token."""
_NO_WORD = "\ue000"
"""Token for the empty string between two blanks; from Unicode's private use area."""


@dataclass(frozen=True)
class Splitter:
    """Tokenization of one side."""

    split: PieceSplitter | None = None
    """Splitter of the pieces between blanks; None: each piece is a token."""
    preprocess: Preprocessor | None = None
    """Function that is applied to whole captions before."""


@dataclass(frozen=True)
class SplitterPair:
    """Names of the splitters of both sides."""

    candidates: str
    references: str
    similar: tuple[str, ...] = ()
    """Names of pairs that give nearly the same tokens, as other programs may have used."""


def _one_by_one(split: Callable[[str], list[str]]) -> PieceSplitter:
    return lambda pieces: list(map(split, pieces))


def _read_ptb(captions: list[str], **settings: bool) -> list[str]:
    return list(map(" ".join, _native.ptb_tokens(captions, **settings)))


def _read_ptb_with_case(captions: list[str], clean: bool, document: bool = False) -> list[str]:
    """Tokenize by Penn Treebank rules and keep capitals."""
    tokens = _native.ptb_tokens(captions, clean=clean, document=document)
    return list(map(_restore_case, captions, tokens))


def _restore_case(caption: str, words: list[str]) -> str:
    """Return the tokens as the caption spells them; tokens it does not contain are unchanged."""
    lower = caption.lower()
    if lower == caption or len(lower) != len(caption):
        return " ".join(words)
    found, place = [], 0
    for word in words:
        start = lower.find(word, place)
        if start < 0:
            found.append(word)
            continue
        place = start + len(word)
        found.append(caption[start:place])
    return " ".join(found)


def _split_at_each_blank(captions: list[str]) -> list[str]:
    """Split as `split(" ")` does, with an empty token between two blanks."""
    return [
        " ".join(word if word.strip() else _NO_WORD for word in caption.split(" "))
        if "  " in caption or caption[:1] == " " or caption[-1:] == " "
        else caption
        for caption in captions
    ]


def _spell(captions: list[str]) -> list[str]:
    """Make every character a token, including blanks."""
    return [" ".join(caption.translate(_BLANKS)) for caption in captions]


def _spell_joined(captions: list[str]) -> list[str]:
    """Split `" ".join(caption)` at each blank: a blank becomes two empty tokens."""
    return [" ".join(caption.replace(" ", 2 * _NO_WORD)) for caption in captions]


_DELETE = str.maketrans("", "", string.punctuation)
_WORDS = re.compile(r"\w+")
_WORDS_AND_RUNS = re.compile(r"\w+|[^\w\s]+")
_WORDS_AND_MARKS = re.compile(r"[^\W_]+|[^\w\s]|_")


def _delete_punctuation(piece: str) -> list[str]:
    return piece.translate(_DELETE).split()


def _keep_long_words(piece: str) -> list[str]:
    left = piece.lower().translate(_DELETE)
    return [left] if len(left) > 1 and left.isalpha() else []


# After the rules of the Penn Treebank's tokenizer, as taggers and NLTK apply them.
_TREEBANK = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r'^"', "`` "),
        (r'([(\[{<])"', r"\1 `` "),
        (r"([:,])(?!\d)", r" \1 "),
        (r"(\.{2,})", r" \1 "),
        (r"([;@#$%&?!])", r" \1 "),
        (r"([^.\s])(\.)([\])}>\"']*)$", r"\1 \2 \3"),
        (r"([][(){}<>])", r" \1 "),
        (r"--", " -- "),
        (r'"', " '' "),
        (r"([^' ])'$", r"\1 '"),
        (r"([^' ])('s|'m|'d|'ll|'re|'ve)(?![\w'])", r"\1 \2"),
        (r"([^' ])(n't)(?![\w'])", r"\1 \2"),
        (r"\b(can)(not)\b", r"\1 \2"),
        (r"\b(gon|wan)(na)\b", r"\1 \2"),
    )
)
_STOP_RULE = 5
_LAST_STOP = re.compile(r"([^.\s])(\.)([\])}>\"']*)\s*$")
_ABBREVIATION = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]?\.?|(?:mr|mrs|ms|dr|st|jr)\.", re.IGNORECASE)

# The rules of NIST's mteval-v13a.pl, which sacreBLEU and others apply.
_MTEVAL = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 "),
        (r"([^0-9])([\.,])", r"\1 \2 "),
        (r"([\.,])([^0-9])", r" \1 \2"),
        (r"^([\.,])", r" \1 "),
        (r"([\.,])$", r" \1"),
        (r"([0-9])(-)", r"\1 \2 "),
    )
)


def _split_treebank(piece: str) -> list[str]:
    if _ABBREVIATION.fullmatch(piece):
        return [piece]
    for pattern, replacement in _TREEBANK:
        piece = pattern.sub(replacement, piece)
    return piece.split()


def _split_treebank_inside(piece: str) -> list[str]:
    """Split a piece but not its final period: only that of the whole caption is a token."""
    for number, (pattern, replacement) in enumerate(_TREEBANK):
        if number != _STOP_RULE:
            piece = pattern.sub(replacement, piece)
    return piece.split()


def _separate_last_period(captions: list[str]) -> list[str]:
    return [
        _LAST_STOP.sub(lambda end: f"{end[1]} {end[2]} " + end[3].replace('"', "''"), caption)
        for caption in captions
    ]


def _split_mteval(piece: str) -> list[str]:
    if piece.isalnum():
        return [piece]
    for pattern, replacement in _MTEVAL:
        piece = pattern.sub(replacement, piece)
    return piece.split()


def _lowered(split: Callable[[str], list[str]]) -> PieceSplitter:
    return lambda pieces: [split(piece.lower()) for piece in pieces]


def _stem(words: list[str]) -> list[list[str]]:
    return [[stem] for stem in get_stemmer("english")(words)]


def _drop_stop_words(words: list[str]) -> list[list[str]]:
    stops = STOP_WORDS["english"]
    return [[] if word in stops else [word] for word in words]


SPLITTERS: Mapping[str, Splitter] = MappingProxyType(
    {
        "ptb": Splitter(preprocess=_read_ptb),
        "ptb-coco": Splitter(preprocess=partial(_read_ptb, document=True)),
        "ptb-coco+case": Splitter(
            preprocess=partial(_read_ptb_with_case, clean=True, document=True)
        ),
        "ptb-coco+punctuation": Splitter(preprocess=partial(_read_ptb, clean=False, document=True)),
        "ptb-coco+case+punctuation": Splitter(
            preprocess=partial(_read_ptb_with_case, clean=False, document=True)
        ),
        "ptb+case": Splitter(preprocess=partial(_read_ptb_with_case, clean=True)),
        "ptb+punctuation": Splitter(preprocess=partial(_read_ptb, clean=False)),
        "ptb+case+punctuation": Splitter(preprocess=partial(_read_ptb_with_case, clean=False)),
        "split": Splitter(),
        "each-blank": Splitter(preprocess=_split_at_each_blank),
        "lower-split": Splitter(_one_by_one(lambda piece: [piece.lower()])),
        "lower-each-blank": Splitter(
            _one_by_one(lambda piece: [piece.lower()]), _split_at_each_blank
        ),
        "treebank": Splitter(_one_by_one(_split_treebank)),
        "treebank-lower": Splitter(_lowered(_split_treebank)),
        "treebank-line": Splitter(_one_by_one(_split_treebank_inside), _separate_last_period),
        "treebank-line-lower": Splitter(_lowered(_split_treebank_inside), _separate_last_period),
        "words": Splitter(_lowered(_WORDS.findall)),
        "words+case": Splitter(_one_by_one(_WORDS.findall)),
        "wordpunct": Splitter(_lowered(_WORDS_AND_RUNS.findall)),
        "wordpunct+case": Splitter(_one_by_one(_WORDS_AND_RUNS.findall)),
        "each-mark": Splitter(_lowered(_WORDS_AND_MARKS.findall)),
        "each-mark+case": Splitter(_one_by_one(_WORDS_AND_MARKS.findall)),
        "deleted": Splitter(_lowered(_delete_punctuation)),
        "deleted+case": Splitter(_one_by_one(_delete_punctuation)),
        "13a": Splitter(_one_by_one(_split_mteval)),
        "13a-lower": Splitter(_lowered(_split_mteval)),
        "long-words": Splitter(_one_by_one(_keep_long_words)),
        "characters": Splitter(preprocess=_spell),
        "characters-without-blanks": Splitter(_one_by_one(list)),
        "characters-joined": Splitter(preprocess=_spell_joined),
        "stems": Splitter(_stem, _read_ptb),
        "no-stop-words": Splitter(_drop_stop_words, _read_ptb),
    }
)
"""Splitters of one side, by name."""


def _both(name: str, *similar: str) -> SplitterPair:
    return SplitterPair(name, name, similar)


SPLITTER_PAIRS: Mapping[str, SplitterPair] = MappingProxyType(
    {
        **{name: _both(name) for name in SPLITTERS},
        **{
            f"ptb{kept}": _both(f"ptb{kept}", f"ptb-coco{kept}")
            for kept in ("", "+case", "+punctuation", "+case+punctuation")
        },
        "treebank": _both("treebank", "treebank-line"),
        "treebank-lower": _both("treebank-lower", "treebank-line-lower"),
        "split": _both("split", "each-blank"),
        "lower-split": _both("lower-split", "lower-each-blank"),
        "characters": _both("characters", "characters-joined", "characters-without-blanks"),
        "references-split": SplitterPair("ptb", "split"),
        "candidates-split": SplitterPair("split", "ptb"),
        "references-lower-split": SplitterPair("ptb", "lower-split"),
        "references-spelled": SplitterPair("ptb", "characters", ("references-split-spelled",)),
        "references-split-spelled": SplitterPair("split", "characters"),
    }
)
"""Splitters of both sides, by name."""

PTB_PAIRS: Mapping[tuple[str, bool, bool], SplitterPair] = MappingProxyType(
    {
        (name, case, punctuation): SPLITTER_PAIRS[
            name + "+case" * case + "+punctuation" * punctuation
        ]
        for name in ("ptb", "ptb-coco")
        for case in (False, True)
        for punctuation in (False, True)
    }
)
"""Penn Treebank splitters by name, whether case is kept, and whether punctuation is kept."""
