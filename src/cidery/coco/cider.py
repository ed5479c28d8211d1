"""Drop-in replacements for the CIDEr family.

Two tools share the name `Cider`. pycocoevalcap's is CIDEr-D, without stems; that of the code for
training rewards (pyciderevalcap) is plain CIDEr, without stems and times 10, and its `CiderD` is
CIDEr-D. The latter two take `df`, where document frequencies come from, and a list of results.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cidery import metrics
from cidery.coco.matching import (
    SPLIT,
    TokenizedCorpus,
    check_references,
    match_captions,
    match_entries,
    match_rows,
)
from cidery.errors import FrequenciesError, InputError, SettingError, UnreliableWarning
from cidery.frequencies import SHIPPED, DocumentFrequencies
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import Tokenizer

FrequenciesLike: TypeAlias = str | os.PathLike[str] | DocumentFrequencies
CiderScores: TypeAlias = tuple[np.float64, Floats]
"""The mean, and the score of each caption."""

_IMAGES_OF = {"coco-val-df": 40504}
"""Sets whose pickle has no number of images; the original has this one in its code."""


def find_frequencies(df: FrequenciesLike) -> str | DocumentFrequencies:
    """Return the document frequencies that `df` names.

    `"corpus"` are those of the references that are scored. Otherwise a DocumentFrequencies, a
    shipped set, a file, or NAME for the pickle `data/NAME.p`, as the original has it.
    """
    if isinstance(df, DocumentFrequencies):
        return df
    if df == "corpus":
        return "references"
    if df in SHIPPED:
        return str(df)
    places = (Path(df), Path("data") / f"{os.fspath(df)}.p")
    for path in places:
        if path.is_file():
            if path.suffix == ".df":
                return DocumentFrequencies.load(path)
            return DocumentFrequencies.from_pickle(path, image_count=_IMAGES_OF.get(path.stem))
    raise FrequenciesError(
        f"no document frequencies {os.fspath(df)!r}: neither 'corpus', a shipped set "
        f"({', '.join(SHIPPED)}) nor a file {' or '.join(map(str, places))}"
    )


def _choose_tokenizer(frequencies: str | DocumentFrequencies) -> Tokenizer:
    """Return the tokenizer that splits at blanks, under the name that the frequencies expect.

    Captions come here as the caller's tokenizer left them; that it was the one of the frequencies
    is for the caller to see to.
    """
    if isinstance(frequencies, DocumentFrequencies):
        return SPLIT if frequencies.tokenizer == "unknown" else _named(frequencies.tokenizer)
    return SPLIT if frequencies == "references" else _named("ptb")


def _named(tokenizer: str) -> Tokenizer:
    return Tokenizer(tokenizer, str.split)


class _CiderDropIn:
    """Base class: a metric and the source of its document frequencies."""

    def __init__(self, metric: metrics.Metric, df: FrequenciesLike = "corpus") -> None:
        self._metric = metric
        self._frequencies = find_frequencies(df)

    def compute_score(self, gts: Any, res: Any) -> CiderScores:
        """Return the mean and the scores, in the order of `gts` or of the list `res`.

        `res` is `{id: [caption]}` or a list of `{"image_id": id, "caption": [caption]}`.
        """
        own = self._frequencies == "references"
        if isinstance(res, list | tuple):
            corpus = match_entries(gts, res, merge=not own)
        else:
            corpus = match_captions(gts, res)
        tokenizer = _choose_tokenizer(self._frequencies)
        tokenized = TokenizedCorpus.build(corpus, tokenizer, self._frequencies)
        return _score(tokenized, self._metric, Workspace())

    def score_tokenized(self, corpus: TokenizedCorpus, work: Workspace) -> CiderScores:
        """Return the same for captions that are tokenized already."""
        return _score(corpus.weighted_by(self._frequencies), self._metric, work)


def _score(corpus: TokenizedCorpus, metric: metrics.Metric, work: Workspace) -> CiderScores:
    if corpus.references.frequencies == "references" and corpus.references.image_count == 1:
        warnings.warn(
            "document frequencies are counted on 1 image only, so every CIDEr score is 0; score "
            'more images together, or pass df="coco-val2014"',
            UnreliableWarning,
            stacklevel=4,
        )
    each = metric.each(corpus.measure({metric.name: metric}, work)[metric.name])
    return np.float64(np.mean(each)), each


class Cider(_CiderDropIn):
    """CIDEr as pycocoevalcap returns it: CIDEr-D in [0, 10]; with `df`, plain CIDEr times 10.

    Vedantam, Zitnick, Parikh, CVPR 2015, equations (1)-(5).

    ```python
    score, scores = Cider().compute_score(
        {1: ["a dog runs"], 2: ["a red bus", "the bus"]}, {1: ["a dog"], 2: ["a bus"]}
    )
    ```
    """

    def __init__(
        self,
        test: None = None,
        refs: None = None,
        n: int = 4,
        sigma: float = 6.0,
        *,
        df: FrequenciesLike | None = None,
    ) -> None:
        """Choose the metric; `test` and `refs` have no effect, here as in the original."""
        del test, refs
        if df is None:
            super().__init__(metrics.CiderD(n, sigma))
        else:
            super().__init__(metrics.Cider(n, faithful="coco"), df)

    def method(self) -> str:
        """Return the printed name."""
        return "CIDEr"


class PlainCider(_CiderDropIn):
    """CIDEr as pyciderevalcap's `Cider` returns it: without stems, times 10.

    Vedantam, Zitnick, Parikh, CVPR 2015, equations (1)-(3).

    ```python
    score, scores = PlainCider(df="corpus").compute_score(
        {1: ["a dog runs"], 2: ["a red bus"]},
        [{"image_id": 1, "caption": ["a dog"]}, {"image_id": 2, "caption": ["a bus"]}],
    )
    ```
    """

    def __init__(self, n: int = 4, df: FrequenciesLike = "corpus") -> None:
        super().__init__(metrics.Cider(n, faithful="coco"), df)

    def method(self) -> str:
        """Return the printed name."""
        return "CIDEr"


class CiderD(_CiderDropIn):
    """CIDEr-D as pyciderevalcap's `CiderD` returns it, in [0, 10].

    Vedantam, Zitnick, Parikh, CVPR 2015, equations (4)-(5).

    ```python
    score, scores = CiderD(df="corpus").compute_score(
        {1: ["a dog runs"], 2: ["a red bus"]},
        [{"image_id": 1, "caption": ["a dog"]}, {"image_id": 1, "caption": ["dogs"]}],
    )
    ```
    """

    def __init__(
        self,
        n: int = 4,
        sigma: float = 6.0,
        df: FrequenciesLike = "corpus",
        *,
        ignore_sigma: bool = False,
    ) -> None:
        """Set up the metric; `ignore_sigma` always uses 6, as the original does."""
        super().__init__(metrics.CiderD(n, 6.0 if ignore_sigma else sigma), df)

    def method(self) -> str:
        """Return the printed name."""
        return "CIDEr-D"


class CiderR(_CiderDropIn):
    """CIDEr-R as its authors' code returns it, in [0, 10] (Santos, Colombini, Avila 2021).

    ```python
    score, scores = CiderR().compute_score(
        {1: ["a dog runs"], 2: ["a red bus", "the bus"]}, {1: ["a dog"], 2: ["a bus"]}
    )
    ```
    """

    def __init__(
        self,
        test: None = None,
        refs: None = None,
        n: int = 4,
        sigma: float = 6.0,
        *,
        df: FrequenciesLike = "corpus",
        repetition: float = 0.8,
    ) -> None:
        """Choose the metric; `test` and `refs` have no effect, and `sigma` may only be 6."""
        del test, refs
        if sigma != 6.0:
            raise SettingError(f"CIDEr-R has no sigma; remove sigma={sigma}, or set repetition=")
        super().__init__(metrics.CiderR(n, repetition), df)

    def method(self) -> str:
        """Return the printed name."""
        return "CIDEr-R"


class _CiderScorer:
    """Captions that are added one by one, with `+=`, and then scored together."""

    def __init__(
        self,
        metric: metrics.Metric,
        df_mode: FrequenciesLike,
        test: str | None,
        refs: Sequence[str] | None,
    ) -> None:
        self._metric = metric
        self._frequencies = find_frequencies(df_mode)
        self._candidates: list[str] = []
        self._references: list[Sequence[str]] = []
        self.cook_append(test, refs)

    def cook_append(self, test: str | None, refs: Sequence[str] | None) -> None:
        """Add a candidate and its references."""
        if refs is not None:
            if test is None:
                raise InputError("references without a candidate; add both together")
            check_references(self.size(), refs)
            self._candidates.append(test)
            self._references.append(refs)

    def __iadd__(self, other: Any) -> Any:
        if isinstance(other, tuple):
            self.cook_append(*other)
        elif isinstance(other, _CiderScorer):
            self._candidates.extend(other._candidates)
            self._references.extend(other._references)
        else:
            raise InputError(
                f"expected (candidate, references) or another scorer, not {type(other).__name__}"
            )
        return self

    def copy(self) -> Any:
        """Return a copy with the same settings and captions."""
        new = type(self).__new__(type(self))
        vars(new).update(vars(self))
        new._candidates = list(self._candidates)
        new._references = list(self._references)
        return new

    def clear(self) -> None:
        """Remove all captions."""
        self._candidates = []
        self._references = []

    def size(self) -> int:
        """Return the number of captions."""
        return len(self._candidates)

    def compute_score(self, option: None = None, verbose: int = 0) -> CiderScores:
        """Return the mean and the scores, in the order in which captions were added.

        `option` and `verbose` have no effect, here as in the original.
        """
        del option, verbose
        corpus = match_rows(range(self.size()), self._candidates, self._references)
        tokenizer = _choose_tokenizer(self._frequencies)
        tokenized = TokenizedCorpus.build(corpus, tokenizer, self._frequencies)
        return _score(tokenized, self._metric, Workspace())


class CiderScorer(_CiderScorer):
    """CIDEr-D of captions that are added one by one, as pycocoevalcap's `CiderScorer`.

    ```python
    scorer = CiderScorer(n=4, sigma=6.0)
    scorer += ("a dog runs", ["a dog is running", "the dog runs"])
    scorer += ("a bus", ["a red bus"])
    score, scores = scorer.compute_score()
    ```
    """

    def __init__(
        self,
        test: str | None = None,
        refs: Sequence[str] | None = None,
        n: int = 4,
        sigma: float = 6.0,
        *,
        df_mode: FrequenciesLike = "corpus",
    ) -> None:
        super().__init__(metrics.CiderD(n, sigma), df_mode, test, refs)


class CiderDScorer(_CiderScorer):
    """CIDEr-D of captions that are added one by one, as pyciderevalcap's scorer of CIDEr-D."""

    def __init__(
        self,
        df_mode: FrequenciesLike = "corpus",
        test: str | None = None,
        refs: Sequence[str] | None = None,
        n: int = 4,
        sigma: float = 6.0,
    ) -> None:
        super().__init__(metrics.CiderD(n, sigma), df_mode, test, refs)


class PlainCiderScorer(_CiderScorer):
    """Plain CIDEr of captions that are added one by one, as pyciderevalcap's scorer of CIDEr."""

    def __init__(
        self,
        df_mode: FrequenciesLike = "corpus",
        test: str | None = None,
        refs: Sequence[str] | None = None,
        n: int = 4,
        sigma: float = 6.0,
    ) -> None:
        """Choose the metric; plain CIDEr has no sigma, and the original's has no effect."""
        del sigma
        super().__init__(metrics.Cider(n, faithful="coco"), df_mode, test, refs)
