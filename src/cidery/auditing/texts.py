"""How other evaluation code cuts captions into words.

Most tokenizers cut each piece between blanks by itself, so that every distinct piece is looked at
once: a `Cutter` says what becomes of a piece. A few read whole captions, natively.
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
from cidery.text.tokenizers import STOP_WORDS, get_stemmer

Cutter: TypeAlias = Callable[[list[str]], list[list[str]]]
"""From pieces without blanks to the words of each."""
Reader: TypeAlias = Callable[[list[str]], list[str]]
"""From captions to texts whose words are separated by blanks."""

_BLANKS = str.maketrans({" ": "\u2423", "\n": "\u2424", "\t": "\u21e5", "\r": "\u21b5"})
"""The words that blanks are where characters are words."""
_NO_WORD = "\ue000"
"""The empty word that two blanks have between them; from Unicode's private use area."""


@dataclass(frozen=True)
class Way:
    """A way to cut captions into words."""

    cut: Cutter | None = None
    """What becomes of each piece between blanks; None: it is a word."""
    read: Reader | None = None
    """What is done with whole captions before."""


@dataclass(frozen=True)
class Ways:
    """How both sides are cut."""

    candidates: str
    references: str
    others: tuple[str, ...] = ()
    """Names of ways that give nearly the same words, which other programs may have used."""


def _one_by_one(cut: Callable[[str], list[str]]) -> Cutter:
    return lambda pieces: list(map(cut, pieces))


def _read_ptb(captions: list[str], **settings: bool) -> list[str]:
    return list(map(" ".join, _native.ptb_tokens(captions, **settings)))


def _read_ptb_with_case(captions: list[str], clean: bool, document: bool = False) -> list[str]:
    """Cut by Penn Treebank rules and keep capitals."""
    tokens = _native.ptb_tokens(captions, clean=clean, document=document)
    return list(map(_restore_case, captions, tokens))


def _restore_case(caption: str, words: list[str]) -> str:
    """Return the words as the caption spells them; those that it does not have stay as they are."""
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
    """Cut as `split(" ")` does, where two blanks have an empty word between them."""
    return [
        " ".join(word if word.strip() else _NO_WORD for word in caption.split(" "))
        if "  " in caption or caption[:1] == " " or caption[-1:] == " "
        else caption
        for caption in captions
    ]


def _spell(captions: list[str]) -> list[str]:
    """Make every character a word, blanks too."""
    return [" ".join(caption.translate(_BLANKS)) for caption in captions]


def _spell_joined(captions: list[str]) -> list[str]:
    """Cut `" ".join(caption)` at each blank: there are two empty words for a blank."""
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


def _cut_treebank(piece: str) -> list[str]:
    if _ABBREVIATION.fullmatch(piece):
        return [piece]
    for pattern, replacement in _TREEBANK:
        piece = pattern.sub(replacement, piece)
    return piece.split()


def _cut_treebank_inside(piece: str) -> list[str]:
    """Cut a piece, but leave a full stop at its end: only a caption's last one stands apart."""
    for number, (pattern, replacement) in enumerate(_TREEBANK):
        if number != _STOP_RULE:
            piece = pattern.sub(replacement, piece)
    return piece.split()


def _set_last_stop_apart(captions: list[str]) -> list[str]:
    return [
        _LAST_STOP.sub(lambda end: f"{end[1]} {end[2]} " + end[3].replace('"', "''"), caption)
        for caption in captions
    ]


def _cut_mteval(piece: str) -> list[str]:
    if piece.isalnum():
        return [piece]
    for pattern, replacement in _MTEVAL:
        piece = pattern.sub(replacement, piece)
    return piece.split()


def _lowered(cut: Callable[[str], list[str]]) -> Cutter:
    return lambda pieces: [cut(piece.lower()) for piece in pieces]


def _stem(words: list[str]) -> list[list[str]]:
    return [[stem] for stem in get_stemmer("english")(words)]


def _drop_stop_words(words: list[str]) -> list[list[str]]:
    stops = STOP_WORDS["english"]
    return [[] if word in stops else [word] for word in words]


WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "ptb": Way(read=_read_ptb),
        "ptb-coco": Way(read=partial(_read_ptb, document=True)),
        "ptb-coco+case": Way(read=partial(_read_ptb_with_case, clean=True, document=True)),
        "ptb-coco+punctuation": Way(read=partial(_read_ptb, clean=False, document=True)),
        "ptb-coco+case+punctuation": Way(
            read=partial(_read_ptb_with_case, clean=False, document=True)
        ),
        "ptb+case": Way(read=partial(_read_ptb_with_case, clean=True)),
        "ptb+punctuation": Way(read=partial(_read_ptb, clean=False)),
        "ptb+case+punctuation": Way(read=partial(_read_ptb_with_case, clean=False)),
        "split": Way(),
        "each-blank": Way(read=_split_at_each_blank),
        "lower-split": Way(_one_by_one(lambda piece: [piece.lower()])),
        "lower-each-blank": Way(_one_by_one(lambda piece: [piece.lower()]), _split_at_each_blank),
        "treebank": Way(_one_by_one(_cut_treebank)),
        "treebank-lower": Way(_lowered(_cut_treebank)),
        "treebank-line": Way(_one_by_one(_cut_treebank_inside), _set_last_stop_apart),
        "treebank-line-lower": Way(_lowered(_cut_treebank_inside), _set_last_stop_apart),
        "words": Way(_lowered(_WORDS.findall)),
        "words+case": Way(_one_by_one(_WORDS.findall)),
        "wordpunct": Way(_lowered(_WORDS_AND_RUNS.findall)),
        "wordpunct+case": Way(_one_by_one(_WORDS_AND_RUNS.findall)),
        "each-mark": Way(_lowered(_WORDS_AND_MARKS.findall)),
        "each-mark+case": Way(_one_by_one(_WORDS_AND_MARKS.findall)),
        "deleted": Way(_lowered(_delete_punctuation)),
        "deleted+case": Way(_one_by_one(_delete_punctuation)),
        "13a": Way(_one_by_one(_cut_mteval)),
        "13a-lower": Way(_lowered(_cut_mteval)),
        "long-words": Way(_one_by_one(_keep_long_words)),
        "characters": Way(read=_spell),
        "characters-without-blanks": Way(_one_by_one(list)),
        "characters-joined": Way(read=_spell_joined),
        "stems": Way(_stem, _read_ptb),
        "no-stop-words": Way(_drop_stop_words, _read_ptb),
    }
)
"""Ways to cut one side, by name."""


def _both(name: str, *others: str) -> Ways:
    return Ways(name, name, others)


SIDES: Mapping[str, Ways] = MappingProxyType(
    {
        **{name: _both(name) for name in WAYS},
        **{
            f"ptb{kept}": _both(f"ptb{kept}", f"ptb-coco{kept}")
            for kept in ("", "+case", "+punctuation", "+case+punctuation")
        },
        "treebank": _both("treebank", "treebank-line"),
        "treebank-lower": _both("treebank-lower", "treebank-line-lower"),
        "split": _both("split", "each-blank"),
        "lower-split": _both("lower-split", "lower-each-blank"),
        "characters": _both("characters", "characters-joined", "characters-without-blanks"),
        "references-split": Ways("ptb", "split"),
        "candidates-split": Ways("split", "ptb"),
        "references-lower-split": Ways("ptb", "lower-split"),
        "references-spelled": Ways("ptb", "characters", ("references-split-spelled",)),
        "references-split-spelled": Ways("split", "characters"),
    }
)
"""Ways to cut both sides, by name."""
