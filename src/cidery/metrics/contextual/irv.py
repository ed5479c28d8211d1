"""Metric of "Improving image captioning evaluation by considering inter references variance".

Yi, Deng and Hu, ACL 2020: tokens that are far from everything count as mismatches, references are
combined into one caption without repetition, and stop words are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np

from cidery.encoders import TokenStates, choose_beta
from cidery.files import read_text
from cidery.metrics.base import Metric, Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.contextual.base import ByToken, CaptionCounts, rows_by_image
from cidery.metrics.contextual.word_vectors import CaptionWords
from cidery.metrics.explanations import Contributions, Span, make_spans, split_loss
from cidery.metrics.settings import Interval, require
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import STOP_WORDS, Language, TokenizedCaptions, TokenSpan, locate_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

Over: TypeAlias = Literal["combine", "concatenate", "max", "mean"]

_PUNCTUATION = frozenset(".,;:!?'\"()-") | {"'s"}
_OTHER_PUNCTUATION = frozenset("。、，！？：；（）「」¿¡«»„“”")
"""Punctuation of languages other than English."""


def _find_no_places(caption: int) -> list[TokenSpan | None]:  # noqa: ARG001
    return []


@dataclass(frozen=True, eq=False)
class TokenTable:
    """Tokens of captions, compared by their ids or by vectors."""

    ids: NDArray[np.int64]
    stopped: NDArray[np.bool_]
    """Stop words and punctuation."""
    captions: Sequence[NDArray[np.int64]]
    """Tokens of each caption: indexes in the other arrays."""
    states: NDArray[np.float32] | None = None
    """[tokens, width]; None: tokens are compared by their ids."""
    places: Callable[[int], list[TokenSpan | None]] = _find_no_places
    """Positions of a caption's tokens in its text."""

    def nearest(
        self, places: NDArray[np.int64], other: TokenTable, other_places: NDArray[np.int64]
    ) -> Floats:
        """Return the similarity of each token to the nearest of the others: float64[places]."""
        if self.states is None or other.states is None:
            ids, other_ids = self.ids[places], other.ids[other_places]
            known = np.zeros(max(ids.max(initial=0), other_ids.max(initial=0)) + 1)
            known[other_ids] = 1.0
            return known[ids]
        cosines = _normalize(self.states[places]) @ _normalize(other.states[other_places]).T
        nearest: Floats = cosines.max(axis=1, initial=-1.0)
        return nearest

    def find_nearest(
        self, places: NDArray[np.int64], other: TokenTable, other_places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the index of the nearest of the others for each token: int64[places]."""
        if self.states is None or other.states is None:
            similarity = self.ids[places][:, None] == other.ids[other_places]
        else:
            similarity = _normalize(self.states[places]) @ _normalize(other.states[other_places]).T
        nearest: NDArray[np.int64] = similarity.argmax(axis=1)
        return nearest

    def match(
        self,
        places: NDArray[np.int64],
        other: TokenTable,
        other_places: NDArray[np.int64],
        beta: float,
    ) -> Floats:
        """Return S of equation (2): the cosine with the nearest token, or 0 if it is at most β."""
        nearest = self.nearest(places, other, other_places)
        return np.where(nearest > beta, nearest, 0.0)


def _normalize(states: NDArray[np.float32]) -> Floats:
    exact = states.astype(np.float64)
    normal: Floats = exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-12)
    return normal


def combine(
    table: TokenTable, groups: Sequence[NDArray[np.int64]], beta: float
) -> NDArray[np.int64]:
    """Return the tokens of the combined reference (the five steps of section 3.3).

    The first reference is the base; tokens of the others that match nothing in it are added.
    """
    base = groups[0]
    for group in groups[1:]:
        base = np.concatenate([base, group[table.nearest(group, table, base) <= beta]])
    return base


def matched_recall(matches: Floats, weights: Floats) -> float:
    """Return R of equation (3): the weighted mean over the tokens that match."""
    matched = matches != 0
    if not matched.any():
        return 0.0
    values, weights = matches[matched], weights[matched]
    # Words of all captions have the weight 0; if there are no others, weights are equal.
    return float(np.average(values, weights=weights if weights.sum() > 0 else None))


@dataclass(frozen=True, kw_only=True)
class _Settings(Metric):
    """Settings that both versions have in common."""

    over: Over = "combine"
    """Use of several references: `combine` them (B in Table 2 of the paper), `concatenate` them
    (cat), or the `max` or `mean` of the scores against each."""
    remove: bool = True
    """True: the score is multiplied by the recall of content words (R in Table 2)."""
    idf: bool = True
    """True: tokens are weighted by their inverse document frequency in all references."""
    seed: int | None = 0
    """Seed of the order in which references are combined, independent of their given order; None:
    the given order."""
    stop_words: str | tuple[str, ...] | None = "english"
    """Stop words that `remove` ignores: a language, a text file with one word per line, or the
    words; None: punctuation only."""

    paper: ClassVar[str] = "Yi, Deng and Hu 2020"
    explanation_unit = "word"

    @property
    def needs(self) -> Needs:
        """Requirements: the file of stop words, and with `idf` all references."""
        needs = super().needs
        own = {"stop_words": self._stop_word_file} if self._stop_word_file else {}
        return replace(needs, files={**needs.files, **own}, all_references=self.idf)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.stop_words, os.PathLike):
            object.__setattr__(self, "stop_words", os.fspath(self.stop_words))
        given = self.stop_words
        require(
            not isinstance(given, str) or given in STOP_WORDS or _is_file_name(given),
            f"stop_words must be one of {', '.join(STOP_WORDS)}, or a file such as stop_words.txt, "
            f"not {given!r}",
        )

    @property
    def _stop_word_file(self) -> str | None:
        given = self.stop_words
        return given if isinstance(given, str) and given not in STOP_WORDS else None

    @classmethod
    def language_settings(cls, language: Language) -> dict[str, Any]:
        """Return the language of the stop words, or None."""
        return {"stop_words": language.stop_words}

    def settings(self) -> dict[str, str]:
        """Return the settings for signatures, without the stop words if they are English."""
        settings = super().settings()
        if self.stop_words == "english":
            del settings["stop_words"]
        elif isinstance(self.stop_words, tuple):
            settings["stop_words"] = _digest(self.listed)
        return settings

    def data_settings(self) -> dict[str, str]:
        """Return the digest of the stop words of a file."""
        found = super().data_settings()
        return found | ({"stop_words": _digest(self.listed)} if self._stop_word_file else {})

    @property
    def listed(self) -> frozenset[str]:
        """Stop words without punctuation."""
        if self._stop_word_file:
            return frozenset(read_text(self._stop_word_file)[1].split())
        if isinstance(self.stop_words, str):
            return STOP_WORDS[self.stop_words]
        return frozenset(self.stop_words or ())

    @property
    def stopped(self) -> frozenset[str]:
        """Stop words and punctuation."""
        others = frozenset() if self.stop_words == "english" else _OTHER_PUNCTUATION
        return _PUNCTUATION | others | self.listed


def _is_file_name(text: str) -> bool:
    path = Path(text)
    return bool(path.suffix) or path.name != text


def _digest(words: frozenset[str]) -> str:
    import hashlib

    return hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()[:12]


@dataclass(frozen=True, kw_only=True)
class IrvUnigram(_Settings):
    """Recall of the words of all references, combined without repetition; in [0, 1].

    The unigram baseline of Yi, Deng and Hu, ACL 2020, section 4.3: equations (1) to (6) with words
    that are equal or not in place of cosines. It needs no model. `faithful="code"` counts each word
    of the references once, as the authors' code does.

    ```python
    cidery.score(candidates, references, metrics=[IrvUnigram(), IrvUnigram(over="max")])
    ```
    """

    faithful: Literal["paper", "code"] = "paper"
    """`code`: the score is the share of the references' distinct words that the candidate has.
    Words of `stop_words` do not count; punctuation does. Without other words, the score is 0."""

    name = "irv-unigram"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.faithful == "paper" or (self.over == "combine" and self.remove),
            "the authors' code combines references and removes stop words; "
            'pass faithful="paper" to change over or remove',
        )

    @property
    def needs(self) -> Needs:
        """Requirements; with `idf`, which the authors' code does not use, all references."""
        return replace(super().needs, all_references=self.idf and self.faithful == "paper")

    def settings(self) -> dict[str, str]:
        """Return the settings that scores depend on, without `faithful` if it is `paper`."""
        settings = super().settings()
        if self.faithful == "paper":
            del settings["faithful"]
            return settings
        return {key: settings[key] for key in ("faithful", "stop_words") if key in settings}

    @property
    def stopped(self) -> frozenset[str]:
        """Stop words, and punctuation if `faithful` is `paper`."""
        return self.listed if self.faithful == "code" else super().stopped

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Combine each image's references."""
        words = references.captions.captions.vocabulary()
        known = {word: number for number, word in enumerate(words)}
        stopped = self.stopped

        def read(captions: TokenizedCaptions, work: Workspace) -> TokenTable:  # noqa: ARG001
            return _read_words(captions, known, stopped)

        if self.faithful == "paper":
            return _prepare(self, 0.0, references, read, work)
        table = read(references.captions, work)
        targets = [
            [_list_distinct(table, range(begin, end))]
            for begin, end in pairwise(references.image_offsets.tolist())
        ]
        weights = np.ones(len(table.ids))
        return _PreparedIrv(self, 0.0, table, weights, targets, references.image_offsets, read)


@dataclass(frozen=True, kw_only=True)
class Irv(_Settings, ByToken):
    """Recall of the tokens of all references, combined without repetition; in [0, 1].

    R_comb · R_rm of Yi, Deng and Hu, ACL 2020, equations (1) to (6): cosines not above β count as
    mismatches, references are combined, and a second recall leaves out words without content.

    ```python
    cidery.score(candidates, references, metrics=[Irv(), Irv(remove=False), Irv(beta=0.4)])
    ```
    """

    name = "irv"

    beta: Annotated[float | None, Interval(0, 1)] = None
    """Highest cosine of a mismatch; 0: every token matches. Default: that of the encoder."""

    def data_settings(self) -> dict[str, str]:
        """Return the digest of the encoder, the layer and β."""
        return super().data_settings() | {
            "beta": f"{choose_beta(self.open_encoder(), self.beta):g}"
        }

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Encode the references and combine each image's."""
        encoder, stopped = self.open_encoder(), self.stopped

        def read(captions: TokenizedCaptions, work: Workspace) -> TokenTable:
            return _read_states(self.read_tokens(encoder, captions, work), stopped)

        return _prepare(self, choose_beta(encoder, self.beta), references, read, work)


Read: TypeAlias = Callable[[TokenizedCaptions, Workspace], TokenTable]


def _read_words(
    captions: TokenizedCaptions, known: Mapping[str, int], empty: frozenset[str]
) -> TokenTable:
    """Return the words of captions with the ids in `known`; all others have the next id."""
    form = captions.captions
    vocabulary = form.vocabulary()
    numbers = np.fromiter((known.get(w, len(known)) for w in vocabulary), np.int64)
    stopped = np.fromiter((word in empty for word in vocabulary), bool)
    words, offsets = form.words(), form.offsets().astype(np.int64)
    groups = [np.arange(*edge) for edge in pairwise(offsets.tolist())]
    spelled = cache(form.tokens)
    texts = captions.texts

    def find_places(caption: int) -> list[TokenSpan | None]:
        return locate_words(texts[caption], spelled()[caption])

    return TokenTable(numbers[words], stopped[words], groups, places=find_places)


def _read_states(tokens: TokenStates, empty: frozenset[str]) -> TokenTable:
    """Return the tokens of captions without those that the encoder adds."""
    stopped = [i for i, text in tokens.vocabulary.items() if text.lower() in empty]
    usable = ~tokens.special
    groups = [
        start + np.flatnonzero(usable[start:end])
        for start, end in zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)
    ]

    def find_places(caption: int) -> list[TokenSpan | None]:
        words = CaptionWords.read(tokens, caption)
        return [words.places[word] for word in words.of_tokens if word is not None]

    return TokenTable(tokens.ids, np.isin(tokens.ids, stopped), groups, tokens.states, find_places)


def _list_distinct(table: TokenTable, captions: range) -> NDArray[np.int64]:
    """Return the first token of each word of the captions that is no stop word, in order."""
    tokens = np.concatenate([table.captions[caption] for caption in captions])
    tokens = tokens[~table.stopped[tokens]]
    _, first = np.unique(table.ids[tokens], return_index=True)
    distinct: NDArray[np.int64] = tokens[np.sort(first)]
    return distinct


def _prepare(
    metric: _Settings, beta: float, references: TokenizedReferences, read: Read, work: Workspace
) -> Prepared:
    table = read(references.captions, work)
    weights = np.ones(len(table.ids))
    if metric.idf:
        counts = CaptionCounts.count(table.ids, table.captions)
        # Tokens that the encoder adds have no weight.
        weights = -np.log10(np.maximum(counts.of(table.ids), 1) / counts.captions)
    texts = references.captions.texts
    targets = []
    for begin, end in pairwise(references.image_offsets.tolist()):
        captions = list(range(begin, end))
        if metric.seed is not None:
            captions.sort(key=lambda caption: _draw(texts[caption], metric.seed))
        groups = [table.captions[caption] for caption in captions]
        targets.append(_merge(groups, metric.over, table, beta))
    return _PreparedIrv(metric, beta, table, weights, targets, references.image_offsets, read)


def _draw(text: str, seed: int | None) -> bytes:
    """Return a pseudorandom sort key of a caption."""
    import hashlib

    return hashlib.sha256(f"{seed} {text}".encode()).digest()


def _merge(
    groups: list[NDArray[np.int64]], over: Over, table: TokenTable, beta: float
) -> list[NDArray[np.int64]]:
    """Return the captions to compare with, as indexes of tokens: one, or all."""
    if over in ("max", "mean"):
        return groups
    if over == "concatenate":
        return [np.concatenate(groups)]
    return [combine(table, groups, beta)]


@dataclass(frozen=True, eq=False)
class _PreparedIrv(Prepared):
    metric: _Settings
    beta: float
    table: TokenTable
    weights: Floats
    targets: Sequence[Sequence[NDArray[np.int64]]]
    """Captions that a candidate is compared with, by image."""
    image_offsets: NDArray[np.uint64]
    read: Read

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return scores: float64[captions, 1]."""
        table = self.read(candidates.captions, work)
        rows = np.zeros((len(candidates), 1))
        for image, members in rows_by_image(candidates.images):
            for row in members:
                scores = [
                    self._score(target, table, table.captions[row])
                    for target in self.targets[image]
                ]
                rows[row] = np.mean(scores) if self.metric.over == "mean" else max(scores)
        return rows

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Return the contributions of words that are the nearest to words of the references.

        Each token of the references gives its part of the recall to the caption's nearest token.
        Words that are nearest to none contribute 0.
        """
        table = self.read(candidates.captions, work)
        offsets = self.image_offsets.tolist()
        shares = []
        for row, image in enumerate(candidates.images.tolist()):
            candidate = table.captions[row]
            targets = self.targets[image]
            scores = [self._score(target, table, candidate) for target in targets]
            if self.metric.over != "mean":
                best = int(np.argmax(scores))
                targets, scores = targets[best : best + 1], scores[best : best + 1]
            values = np.zeros(len(candidate))
            missing: dict[int, float] = {}
            parts = {"recall": 0.0, "recall of words with content": 0.0}
            for target, score in zip(targets, scores, strict=True):
                found = self._split(target, table, candidate, score)
                values += found.values / len(targets)
                missing |= {token: value / len(targets) for token, value in found.missing.items()}
                parts["recall"] += found.recall / len(targets)
                parts["recall of words with content"] += found.content / len(targets)
            group = range(offsets[image], offsets[image + 1])
            places = table.places(row)
            is_nearest = values > 0
            notes = ["nearest to a reference's word" if one else "" for one in is_nearest]
            shares.append(
                Contributions(
                    float(np.mean(scores)),
                    make_spans(zip(places, values.tolist(), notes, strict=True)),
                    [self._find_missing(number, missing) for number in group],
                    parts if self.metric.remove else {"recall": parts["recall"]},
                    None not in places and bool(is_nearest.any()),
                )
            )
        return shares

    def _find_missing(self, reference: int, missing: dict[int, float]) -> list[Span]:
        """Return the words of a reference that the caption lacks, each once."""
        tokens = self.table.captions[reference].tolist()
        return make_spans(
            (place, missing.pop(token), "missing")
            for place, token in zip(self.table.places(reference), tokens, strict=True)
            if token in missing
        )

    def _split(
        self,
        target: NDArray[np.int64],
        candidates: TokenTable,
        candidate: NDArray[np.int64],
        score: float,
    ) -> _Split:
        matches = self.table.match(target, candidates, candidate, self.beta)
        weights = self.weights[target]
        recall = matched_recall(matches, weights)
        worth = matches * (weights if weights[matches != 0].sum() > 0 else 1.0)
        positions = np.arange(len(candidate))
        best, content = 1.0, recall
        if self.metric.remove and (~self.table.stopped[target]).any():
            target = target[~self.table.stopped[target]]
            positions = positions[~candidates.stopped[candidate]]
            worth = matches = self.table.match(target, candidates, candidate[positions], self.beta)
            best, content = recall, float(matches.mean())
        values = np.zeros(len(candidate))
        if worth.any():
            nearest = self.table.find_nearest(target, candidates, candidate[positions])
            np.add.at(values, positions[nearest], score * (worth / worth.sum()))
        lacked = split_loss(score, best, (1 - matches).tolist())
        tokens = target.tolist()
        missing = {tokens[i]: lacked[i] for i in np.flatnonzero(matches == 0).tolist()}
        return _Split(values, missing, recall, content)

    def _score(
        self, target: NDArray[np.int64], candidates: TokenTable, candidate: NDArray[np.int64]
    ) -> float:
        matches = self.table.match(target, candidates, candidate, self.beta)
        recall = matched_recall(matches, self.weights[target])
        if not self.metric.remove:
            return recall
        target = target[~self.table.stopped[target]]
        if len(target) == 0:
            return recall
        candidate = candidate[~candidates.stopped[candidate]]
        # Equation (5)
        return recall * float(self.table.match(target, candidates, candidate, self.beta).mean())


@dataclass(frozen=True, eq=False)
class _Split:
    """Contributions of a caption's tokens against one target, and missing tokens."""

    values: Floats
    missing: dict[int, float]
    """Losses by token of the references."""
    recall: float
    content: float
