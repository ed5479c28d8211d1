"""Segments that strain a METEOR implementation: captions doubled, shuffled, rewritten, odd."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

Segment = tuple[str, list[str]]


class Paraphrase(NamedTuple):
    """An entry of METEOR's paraphrase table."""

    probability: str
    first: str
    second: str


def sample_paraphrases(path: Path, every: int) -> list[Paraphrase]:
    """Read one megabyte in so many of a paraphrase table: reading all of it takes long."""
    found = []
    lines = 0
    with gzip.open(path) as file:
        for number, piece in enumerate(iter(lambda: file.read(1 << 20), b"")):
            if number % every == 0:
                # The first line of a piece may be the end of one.
                start = 1 + (-lines - 1) % 3
                whole = piece.decode(errors="replace").split("\n")[start:-1]
                found += [Paraphrase(*whole[i : i + 3]) for i in range(0, len(whole) - 2, 3)]
            lines += piece.count(b"\n")
    return found


_ODD = [
    "é", "ß", "Σ", "İ", "б", "Ж", "漢", "字", "º", "½", "€", "😀", "\u00a0", "\u2009", "\u3000",
    "\u200b", "\u0301", "“", "”", "‘", "’", "`", "``", "''", "–", "—", "--", "...", "..", "…",
    "(", ")", "[", "/", "&", "$", "%", "#", "_", "n't", "'s", "'ve", "s'", "o'clock", "t-shirt",
    "a-b-c", "-lrb-", "-5", "5-", "3,000", "1,2,3", "3.5", "u.s.", "ph.d.", "mr.", "Mr.", "st.",
    "No.", "pp.", "vs.", "e.g.", "1990s", "'90s", ".", ",", ";", ":", "?", "!", '"', "'",
]  # fmt: skip


def _words(text: str) -> list[str]:
    return text.split()


def _join(captions: Sequence[str], words: int) -> str:
    return " ".join(_words(" ".join(captions))[:words])


class SegmentMaker:
    """Makes segments from groups of captions (one group per image) and from paraphrase pairs."""

    def __init__(
        self,
        groups: Sequence[Sequence[str]],
        paraphrases: Sequence[Paraphrase],
        rng: random.Random,
    ) -> None:
        self.groups = [list(group) for group in groups if len(group) > 1]
        self.paraphrases: dict[str, list[str]] = {}
        for _, first, second in paraphrases:
            self.paraphrases.setdefault(first, []).append(second)
            self.paraphrases.setdefault(second, []).append(first)
        self.phrases = sorted(self.paraphrases)
        self.rng = rng

    def make(self, count: int) -> list[Segment]:
        """``count`` segments, the kinds in turn."""
        kinds: list[Callable[[], Segment]] = [
            self.real,
            self.foreign,
            self.doubled,
            self.shuffled,
            self.concatenated,
            self.long,
            self.odd,
            self.rewritten,
            self.phrase_salad,
            self.repeated,
        ]
        return [kinds[number % len(kinds)]() for number in range(count)]

    def real(self) -> Segment:
        group = self.rng.choice(self.groups)
        place = self.rng.randrange(len(group))
        return group[place], group[:place] + group[place + 1 :]

    def foreign(self) -> Segment:
        return self._caption(), [self._caption() for _ in range(self.rng.randint(1, 6))]

    def doubled(self) -> Segment:
        candidate, references = self.real()
        references[0] = f"{references[0]} {references[0]}"
        return f"{candidate} {candidate}", references

    def shuffled(self) -> Segment:
        candidate, references = self.real()
        return self._shuffle(candidate), [
            self._shuffle(references[0]),
            *references[1:],
            self._shuffle(candidate),
        ]

    def concatenated(self) -> Segment:
        group = self.rng.choice(self.groups)
        order = self.rng.sample(group, len(group))
        return " . ".join(order[:3]), [" , ".join(group), " ".join(order[1:])]

    def long(self) -> Segment:
        captions = [self._caption() for _ in range(25)]
        others = self.rng.sample(captions, 25)
        if self.rng.random() < 0.5:
            others = [self._caption() for _ in range(25)]
        longest = self.rng.choice([60, 120, 200])
        return _join(captions, self.rng.randint(1, longest)), [
            _join(others, self.rng.randint(1, longest))
        ]

    def odd(self) -> Segment:
        candidate, references = self.real()
        return self._spice(candidate), [
            self._spice(reference) for reference in [candidate, *references[:3]]
        ]

    def rewritten(self) -> Segment:
        candidate, references = self.real()
        return candidate, [self._rewrite(candidate), self._rewrite(references[0]), references[0]]

    def phrase_salad(self) -> Segment:
        phrases = self.rng.choices(self.phrases, k=self.rng.randint(1, 8))
        others = [self.rng.choice(self.paraphrases[phrase]) for phrase in phrases]
        if self.rng.random() < 0.5:
            self.rng.shuffle(others)
        return " ".join(phrases), [" ".join(others), " ".join(others[::-1] + phrases[:2])]

    def repeated(self) -> Segment:
        words = self.rng.choices(_words(" ".join(self.real()[1])), k=self.rng.randint(1, 6))
        pick = [" ".join(self.rng.choices(words, k=self.rng.randint(1, 25))) for _ in range(4)]
        return pick[0], pick[1:]

    def _caption(self) -> str:
        return self.rng.choice(self.rng.choice(self.groups))

    def _shuffle(self, text: str) -> str:
        words = _words(text)
        self.rng.shuffle(words)
        return " ".join(words)

    def _spice(self, text: str) -> str:
        words = _words(text)
        for _ in range(self.rng.randint(1, 5)):
            place = self.rng.randrange(len(words) + 1)
            odd = self.rng.choice(_ODD)
            if self.rng.random() < 0.5 and place < len(words):
                words[place] += odd
            else:
                words.insert(place, odd)
        return " ".join(words)

    def _rewrite(self, text: str) -> str:
        words, out, at = _words(text.lower()), [], 0
        while at < len(words):
            length = self.rng.randint(1, 4)
            phrase = " ".join(words[at : at + length])
            options = self.paraphrases.get(phrase)
            out.append(self.rng.choice(options) if options else words[at])
            at += length if options else 1
        return " ".join(out)
