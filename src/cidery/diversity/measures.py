"""The measures of diversity: frozen settings, and one value per image."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cidery import _native
from cidery.captions.tokenizers import STOP_WORDS
from cidery.captions.workspace import Workspace
from cidery.diversity.kernels import (
    Kernel,
    Pairs,
    cider_kernels,
    get_kernel,
    word_products,
)
from cidery.diversity.sets import TokenizedSets
from cidery.diversity.spectrum import measure_spread
from cidery.errors import SettingError
from cidery.metrics import Metric
from cidery.metrics.base import GroupedCaptions, format_setting, require, require_choice
from cidery.metrics.ngram.overlap import make_overlap
from cidery.statistics import Floats


@dataclass(frozen=True)
class Measure(ABC):
    """The settings of a measure of diversity; higher means more diverse."""

    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    paper: ClassVar[str] = "Wang and Chan 2019"

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name everywhere."""

    @abstractmethod
    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""

    def whole(self, sets: TokenizedSets, work: Workspace) -> float | None:  # noqa: ARG002
        """Return the value of all images together where that is not the mean of theirs."""
        return None

    @property
    def kernel_metric(self) -> Metric | None:
        """The metric whose document frequencies it weighs with, if any."""
        return None

    def settings(self) -> dict[str, str]:
        """Return what the signature says, in order."""
        return {f.name: format_setting(getattr(self, f.name)) for f in fields(self)}


@dataclass(frozen=True)
class SelfCider(Measure):
    """Self-CIDEr: how evenly an image's captions spread over topics by CIDEr; in [0, 1].

    K_ij = CIDEr(c_i, c_j), λ the eigenvalues of K, r = √λ1 / Σ√λi, div = -log_m r: Wang and Chan
    2019, section 3.2. Captions shorter than 4 words lack n-grams of some orders; K is scaled by
    1/√(K_ii K_jj), which is 1 for all longer ones, so that K_ii = 1.

    ```python
    cidery.measure_diversity(sets, measures=[SelfCider("cider-d")])
    ```
    """

    kernel: Kernel = "cider"
    """`cider`, `cider-d`, `cider-r`, or one of these metrics with its own settings."""
    pairs: Pairs = "both"
    """CIDEr-D and CIDEr-R tell candidate from reference: `both` takes the mean of the two
    directions; `once` lets the earlier caption be the candidate, as the printed values of the
    paper have it, so that the order of captions matters a little."""

    paper: ClassVar[str] = "Wang and Chan 2019, section 3.2"

    def __post_init__(self) -> None:
        require_choice("pairs", self.pairs, ("both", "once"))
        get_kernel(self.kernel)

    @property
    def name(self) -> str:
        """`self-cider`."""
        return "self-cider"

    @property
    def kernel_metric(self) -> Metric | None:
        """The metric that makes the kernel."""
        return get_kernel(self.kernel)

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        return measure_spread(cider_kernels(sets, work, self.kernel, self.pairs), sets.sizes)

    def settings(self) -> dict[str, str]:
        """Return the kernel and its settings."""
        metric = get_kernel(self.kernel)
        return {"kernel": metric.name, **metric.settings(), "pairs": self.pairs}


@dataclass(frozen=True)
class Lsa(Measure):
    """LSA: how evenly captions spread over topics by their words; in [0, 1].

    σ the singular values of the word-caption matrix, r = σ1 / Σσi, div = -log_m r: Wang and Chan
    2019, section 3.1.

    ```python
    cidery.measure_diversity(sets, measures=[Lsa(stop_words="english")])
    ```
    """

    stop_words: str | tuple[str, ...] | None = None
    """Words that do not count: `"english"`, or the words themselves, in lower case."""

    paper: ClassVar[str] = "Wang and Chan 2019, section 3.1"

    def __post_init__(self) -> None:
        if isinstance(self.stop_words, str):
            require_choice("stop_words", self.stop_words, tuple(STOP_WORDS))

    @property
    def name(self) -> str:
        """`lsa`."""
        return "lsa"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        return measure_spread(word_products(sets, work, self.stop_words), sets.sizes)


@dataclass(frozen=True)
class MBleu(Measure):
    """1 - mBLEU: how little each caption repeats the others' n-grams; in [0, 1].

    mBLEU_n = 1/m Σ_i BLEU_n(c_i, C without c_i), with BLEU of the caption by itself: Wang and Chan
    2019, equation (4). A caption of fewer than n words is judged by the orders that it has.

    ```python
    cidery.measure_diversity(sets, measures=[MBleu(4), MBleu(None)])
    ```
    """

    n: int | None = None
    """1 to 4; None is the mix, the mean of all four."""

    paper: ClassVar[str] = "Wang and Chan 2019, equation (4)"

    def __post_init__(self) -> None:
        require(self.n in (None, 1, 2, 3, 4), f"n must be 1 to 4 or None, not {self.n}")

    @property
    def name(self) -> str:
        """`mbleu-1` … `mbleu-4`, `mbleu-mix`."""
        return "mbleu-mix" if self.n is None else f"mbleu-{self.n}"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        rows = work.once(_count_left_out, sets.captions.groups)
        orders = (1, 2, 3, 4) if self.n is None else (self.n,)
        scores = np.mean([score_captions(rows, n) for n in orders], axis=0)
        return 1.0 - sets.mean(scores)


def _count_left_out(work: Workspace, groups: GroupedCaptions) -> Floats:
    """Return BLEU's counts of each caption against the others of its image."""
    overlap = work.once(make_overlap, groups, "split", 4)
    return _native.bleu_left_out(overlap, 4, "closest", work.threads)


def score_captions(rows: Floats, n: int) -> Floats:
    """Return BLEU-n of each caption from rows of (length, reference length, matches, n-grams).

    Orders of which the caption has no n-grams are left out of the geometric mean; a caption without
    words equals another one without words and nothing else.
    """
    order = (rows.shape[1] - 2) // 2
    length, reference_length = rows[:, 0], rows[:, 1]
    matches, totals = rows[:, 2 : 2 + n], rows[:, 2 + order : 2 + order + n]
    present = totals > 0
    precision = np.divide(matches, totals, out=np.ones_like(matches), where=present)
    with np.errstate(divide="ignore"):
        logs = np.log(precision).sum(axis=1) / np.maximum(1, present.sum(axis=1))
        brevity = np.minimum(0.0, 1 - reference_length / np.maximum(length, 1.0))
    scores = np.exp(logs + brevity)
    return np.asarray(np.where(length > 0, scores, reference_length == 0), np.float64)


@dataclass(frozen=True)
class Distinct(Measure):
    """Distinct-n: different n-grams of an image's captions per word; in [0, 1].

    Li et al. 2016; called Div-n by Shetty et al. 2017. Both divide by the number of words.

    ```python
    cidery.measure_diversity(sets, measures=[Distinct(2)])
    ```
    """

    n: int = 1

    paper: ClassVar[str] = "Li et al. 2016; Shetty et al. 2017"

    def __post_init__(self) -> None:
        require(self.n in (1, 2), f"n must be 1 or 2, not {self.n}")

    @property
    def name(self) -> str:
        """`distinct-1`, `distinct-2`."""
        return f"distinct-{self.n}"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        positions = work.once(find_words, sets)
        words = np.bincount(positions.images, minlength=len(sets.sizes))
        different = positions.count_different(self.n)
        return np.divide(different, words, out=np.zeros(len(words)), where=words > 0)


@dataclass(frozen=True)
class Unique(Measure):
    """Share of an image's captions that are different from each other as words; in [0, 1].

    ```python
    table = cidery.measure_diversity({"a": ["a dog", "A dog.", "a cat"]}, measures=["unique"])
    table.corpus["unique"]   # 0.666…
    ```
    """

    @property
    def name(self) -> str:
        """`unique`."""
        return "unique"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        captions = list(map(tuple, sets.captions.captions.form("split", work).tokens()))
        bounds = sets.captions.image_offsets.tolist()
        different = [len(set(captions[a:b])) for a, b in pairwise(bounds)]
        return np.asarray(different) / sets.sizes


@dataclass(frozen=True)
class Novel(Measure):
    """Share of an image's captions that no training caption equals as words; in [0, 1].

    ```python
    cidery.measure_diversity(sets, measures=["novel"], training=training_captions)
    ```
    """

    @property
    def name(self) -> str:
        """`novel`."""
        return "novel"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        if sets.training is None:
            raise SettingError(
                "novel compares captions with those a model was trained on; pass training=… "
                "(--training FILE)"
            )
        tokens = sets.captions.captions.form("split", work).tokens()
        return sets.mean(np.asarray([tuple(t) not in sets.training for t in tokens], np.float64))


@dataclass(frozen=True)
class Vocabulary(Measure):
    """How many different words the captions use; for a corpus, those of all images together.

    ```python
    table = cidery.measure_diversity({"a": ["a dog", "a cat"]}, measures=["vocabulary"])
    table.corpus["vocabulary"]   # 3
    ```
    """

    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    @property
    def name(self) -> str:
        """`vocabulary`."""
        return "vocabulary"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        return work.once(find_words, sets).count_different(1).astype(np.float64)

    def whole(self, sets: TokenizedSets, work: Workspace) -> float | None:
        """Return the number of words of all images together."""
        return float(len(np.unique(work.once(find_words, sets).words)))


@dataclass(frozen=True, eq=False)
class WordPositions:
    """Every word of every caption in a row, with its caption's and image's index."""

    words: NDArray[np.uint32]
    captions: NDArray[np.int64]
    images: NDArray[np.int64]

    def _pairs(self) -> NDArray[np.uint64]:
        """uint64[words]: a word and the next, the same for the same two words."""
        pairs = self.words.astype(np.uint64) << np.uint64(32)
        pairs[:-1] |= self.words[1:].astype(np.uint64)
        return pairs

    def count_different(self, n: int) -> NDArray[np.int64]:
        """Return how many different words (n = 1) or pairs of words (2) each image has."""
        keys: NDArray[np.integer] = self.words
        images = self.images
        if n == 2:
            inside = np.flatnonzero(self.captions[:-1] == self.captions[1:])
            keys, images = self._pairs()[inside], images[inside]
        _, ids = np.unique(keys, return_inverse=True)
        count = int(ids.max(initial=0)) + 1
        seen = np.unique(images * count + ids)
        highest = int(self.images.max(initial=-1)) + 1
        return np.bincount(seen // count, minlength=highest).astype(np.int64)


def find_words(work: Workspace, sets: TokenizedSets) -> WordPositions:
    """Lay the captions out."""
    form = sets.captions.captions.form("split", work)
    lengths = np.asarray(np.diff(form.offsets().astype(np.int64)), np.int64)
    captions = np.repeat(np.arange(len(lengths)), lengths)
    images = np.repeat(np.arange(len(sets.sizes)), sets.sizes)[captions]
    return WordPositions(form.words(), captions, images)


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        measure.name: measure
        for measure in (
            SelfCider(),
            Lsa(),
            *(MBleu(n) for n in (1, 2, 3, 4, None)),
            Distinct(1),
            Distinct(2),
            Unique(),
            Novel(),
            Vocabulary(),
        )
    }
)
"""Every measure with its default settings."""

FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "mbleu": ("mbleu-1", "mbleu-2", "mbleu-3", "mbleu-4", "mbleu-mix"),
        "distinct": ("distinct-1", "distinct-2"),
    }
)
"""Names that mean several measures."""

DEFAULT: tuple[str, ...] = ("self-cider", "lsa", "mbleu", "distinct", "unique", "vocabulary")

MeasureLike: TypeAlias = str | Measure


def get_measures(
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    kernel: Kernel = "cider",
    stop_words: str | tuple[str, ...] | None = None,
) -> dict[str, Measure]:
    """Return measures by name, from names, families or Measure objects.

    `kernel` and `stop_words` apply to `self-cider` and `lsa` given by name.

    ```python
    list(get_measures(["self-cider", "distinct"]))   # ["self-cider", "distinct-1", "distinct-2"]
    ```
    """
    if measures is None:
        measures = DEFAULT
    if isinstance(measures, (str, Measure)):
        measures = [measures]
    chosen: dict[str, Measure] = {}
    for given in measures:
        if isinstance(given, Measure):
            chosen[given.name] = given
            continue
        for name in FAMILIES.get(given, (given,)):
            if name not in MEASURES:
                known = ", ".join([*MEASURES, *FAMILIES])
                raise SettingError(f"unknown measure of diversity {name!r}; known: {known}")
            measure = MEASURES[name]
            if isinstance(measure, SelfCider):
                measure = SelfCider(kernel)
            elif isinstance(measure, Lsa):
                measure = Lsa(stop_words)
            chosen[name] = measure
    if not chosen:
        raise SettingError("no measures of diversity were asked for")
    return chosen
