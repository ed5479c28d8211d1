"""Interface of metrics: settings, `prepare`, `measure`, `reduce`.

    metric.prepare(references, work) -> Prepared       once; immutable
    prepared.measure(candidates, work)                 -> rows: float64[captions, k]
    metric.each(rows)                                  -> float64[captions]
    metric.reduce(rows)                                -> the corpus score

`prepare` and `measure` are functions of their arguments; `work` is the run's workspace, through
which metrics share what they compute on the same captions. The corpus score is always a function of
the *sum* of rows (and their number): `pool`. Intervals, tests and sharding rest on that.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from cidery._native import Captions, FrequencyTrie, NgramIndex
from cidery.errors import FrequenciesError
from cidery.frequencies import (
    SHIPPED,
    CountedFrequencies,
    DocumentFrequencies,
    load_shipped,
)
from cidery.metrics.settings import check_settings, format_setting
from cidery.runtime import Workspace
from cidery.statistics import Floats, sum_exactly
from cidery.text import TokenForm, TokenizedCaptions, Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cidery.corpus import ImageId
    from cidery.metrics.explanations import Contributions
    from cidery.text import Language

Images: TypeAlias = "NDArray[np.uint32]"


@dataclass(frozen=True, eq=False)
class GroupedCaptions:
    """Captions, grouped by image."""

    captions: TokenizedCaptions
    offsets: NDArray[np.uint64]
    """Captions of image i are [offsets[i], offsets[i + 1])."""

    @property
    def image_count(self) -> int:
        """Number of images."""
        return len(self.offsets) - 1


@dataclass(frozen=True, eq=False)
class TokenizedReferences:
    """References of all images, with the document frequencies of the CIDEr family."""

    groups: GroupedCaptions
    tokenizer: Tokenizer
    frequencies: Literal["references"] | str | DocumentFrequencies | CountedFrequencies = (
        "references"
    )
    images: Sequence[ImageId] | None = None
    """Ids of the images, if known."""

    @property
    def captions(self) -> TokenizedCaptions:
        """References of all images, in order."""
        return self.groups.captions

    @property
    def image_offsets(self) -> NDArray[np.uint64]:
        """Captions of image i are [offsets[i], offsets[i + 1])."""
        return self.groups.offsets

    @property
    def image_count(self) -> int:
        """Number of images."""
        return self.groups.image_count

    def weighted_by(
        self, frequencies: str | DocumentFrequencies | CountedFrequencies
    ) -> TokenizedReferences:
        """Return the same captions with other document frequencies."""
        return replace(self, frequencies=frequencies)


@dataclass(frozen=True, eq=False)
class TokenizedCandidates:
    """Candidates, with the image of each."""

    captions: TokenizedCaptions
    images: Images
    """`images[i]` is the index of the image of caption i."""

    def __len__(self) -> int:
        return len(self.captions)


class Prepared(ABC):
    """References prepared for one metric; immutable, so threads and processes may share it."""

    @abstractmethod
    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, k]."""

    def read_words(self, captions: TokenizedCaptions, work: Workspace) -> None:  # noqa: B027
        """Compute results that depend on the captions' distinct words only.

        A caller that scores captions over one vocabulary many times, such as a reward, calls this
        once and keeps the workspace; `measure` asks the workspace for the same results.
        """

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> Sequence[Contributions]:
        """Return the contributions of words to each caption's score."""
        raise NotImplementedError(f"{type(self).__name__} does not define explain()")

    def credit_pieces(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> Sequence[Mapping[str, float]]:
        """Return the contributions to each caption's score by `Metric.explanation_unit`.

        By default they are those of the words. Summed over the captions of two systems, they show
        where a difference comes from.
        """
        pieces: list[Mapping[str, float]] = []
        explained = self.explain(candidates, work)
        for text, shares in zip(candidates.captions.texts, explained, strict=True):
            sums: dict[str, float] = {}
            for span in shares.spans:
                word = text[span.start : span.end].lower()
                sums[word] = sums.get(word, 0.0) + span.value
            pieces.append(sums)
        return pieces


def index_ngrams(
    work: Workspace, groups: GroupedCaptions, form: TokenForm, order: int
) -> NgramIndex:
    """Return the n-gram index of grouped captions in a form, up to that order."""
    return work.once(_index, groups.captions.form(form, work), groups, order)


def _index(work: Workspace, captions: Captions, groups: GroupedCaptions, order: int) -> NgramIndex:
    return NgramIndex(captions, groups.offsets, order, work.threads)


@dataclass(frozen=True)
class FrequencyNeeds:
    """Document frequencies that a metric weights n-grams with."""

    order: int
    """Length of the longest n-grams."""
    stemmer: str | None = None
    """Language of the stemmer; None: words are not stemmed."""


@dataclass(frozen=True)
class Needs:
    """Requirements of a metric beyond captions and references; by default none."""

    extra: str | None = None
    """Extra of cidery that installs its packages and data."""
    settings: str | None = None
    """Settings without a default that are not set, such as features of images."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Settings that name files or folders, with their values."""
    language: str | None = None
    """Language of the captions, where only one is supported."""
    frequencies: FrequencyNeeds | None = None
    """Document frequencies."""
    all_references: bool = False
    """True if scores depend on other images' references beyond document frequencies.

    Such a metric cannot score images in parts, as streams do.
    """
    all_candidates: bool = False
    """True if a caption's score depends on other candidates: the metric describes a corpus."""


def find_weights(
    references: TokenizedReferences, needs: FrequencyNeeds | None
) -> tuple[FrequencyTrie | None, float]:
    """Return document frequencies (None: those of the references) and log |I|."""
    if references.frequencies == "references" or needs is None:
        return None, math.log(max(1, references.image_count))
    chosen = find_frequencies(references.frequencies, needs.stemmer)
    check_frequencies(chosen, needs, references.tokenizer)
    return chosen.trie, chosen.log_image_count


def find_frequencies(
    frequencies: str | DocumentFrequencies | CountedFrequencies, stemmer: str | None
) -> DocumentFrequencies:
    """Return document frequencies; of shipped ones, those with that stemmer."""
    if isinstance(frequencies, CountedFrequencies):
        return frequencies.find(stemmer)
    if isinstance(frequencies, DocumentFrequencies):
        return frequencies
    return load_shipped(frequencies, stemmer)


def check_frequencies(
    frequencies: DocumentFrequencies, needs: FrequencyNeeds, tokenizer: Tokenizer
) -> None:
    """Raise a FrequenciesError if the frequencies are not of the metric's n-grams."""
    if frequencies.order < needs.order:
        raise FrequenciesError(
            f"{frequencies.name} holds n-grams up to {frequencies.order}; {needs.order} are needed"
        )
    if frequencies.tokenizer not in ("unknown", tokenizer.family):
        raise FrequenciesError(
            f"{frequencies.name} was counted with the tokenizer {frequencies.tokenizer!r}, but "
            f"the captions are tokenized with {tokenizer.id!r}; use the same tokenizer for both"
        )
    if frequencies.stemmer != needs.stemmer:
        raise FrequenciesError(
            f"{frequencies.name} was counted with {_describe_stemmer(frequencies.stemmer)}, the "
            f"metric uses {_describe_stemmer(needs.stemmer)}; count it again with "
            f"stemmer={needs.stemmer!r}, or pass the name of a shipped set "
            f"({', '.join(SHIPPED)}), which has both"
        )


def _describe_stemmer(stemmer: str | None) -> str:
    return f"{stemmer} stems" if stemmer else "unstemmed words"


@dataclass(frozen=True)
class Metric(ABC):
    """Settings of a metric.

    Subclasses are frozen dataclasses: fields are settings, and there is no other state.
    """

    paper: ClassVar[str] = ""
    """Publication that defines the metric."""

    def __post_init__(self) -> None:
        check_settings(self)

    @classmethod
    def variants(cls) -> Sequence[Metric]:
        """Return the metrics of this class that have names; by default one, `cls()`."""
        return (cls(),)

    @classmethod
    def language_settings(cls, language: Language) -> dict[str, Any]:  # noqa: ARG003
        """Return settings for captions in a language, for metrics that are given by name."""
        return {}

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in tables, in files and on the command line."""

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest score."""
        return 0.0, 1.0

    @property
    def lower_is_better(self) -> bool:
        """True if lower scores are better."""
        return False

    @property
    def needs(self) -> Needs:
        """Requirements beyond captions and references."""
        return Needs()

    @property
    def explanation_unit(self) -> str | None:
        """Unit that explanations credit, such as `word` or `n-gram`; None: no explanations.

        A metric that has one prepares references as a `Prepared` that defines `explain`.
        """
        return None

    @abstractmethod
    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""

    def each(self, rows: Floats) -> Floats:
        """Return one score per caption."""
        return np.ascontiguousarray(rows[:, 0])

    def pool(self, sums: Floats, count: Floats) -> Floats:
        """Return corpus scores from sums of rows, float64[..., k], and the numbers of rows."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(count > 0, sums[..., 0] / count, np.nan)

    def reduce(self, rows: Floats) -> float:
        """Return the corpus score; it does not depend on the order of the rows."""
        return float(self.pool(sum_exactly(rows), np.asarray(float(len(rows)))))

    def settings(self) -> dict[str, str]:
        """Return the settings as signatures show them, in order."""
        return {f.name: format_setting(getattr(self, f.name)) for f in fields(self)}

    def data_settings(self) -> dict[str, str]:
        """Return digests and versions of the data that scores depend on, for signatures."""
        return {}
