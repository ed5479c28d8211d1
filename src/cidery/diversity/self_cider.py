"""Self-CIDEr and LSA: how evenly an image's captions spread over topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cidery.diversity.base import Measure
from cidery.diversity.caption_sets import TokenizedSets
from cidery.diversity.kernels import (
    Directions,
    Kernel,
    SetKernel,
    compare_captions,
    get_kernel,
    word_products,
)
from cidery.diversity.spectrum import measure_spread
from cidery.metrics import Metric
from cidery.metrics.settings import require, require_choice
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import STOP_WORDS


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
    """`cider`, `cider-d`, `cider-r`, or one of these metrics with its own settings; an encoder
    (`minilm`, `mpnet`, the folder of a language model, an `EncoderKernel`); or a function from
    captions to a matrix that is positive definite."""
    pairs: Directions = "both"
    """CIDEr-D and CIDEr-R tell candidate from reference: `both` takes the mean of the two
    directions; `once` lets the earlier caption be the candidate, as the printed values of the
    paper have it, so that the order of captions matters a little."""

    paper: ClassVar[str] = "Wang and Chan 2019, section 3.2"

    def __post_init__(self) -> None:
        require_choice("pairs", self.pairs, ("both", "once"))
        if isinstance(found := get_kernel(self.kernel), SetKernel):
            symmetric = f'pairs="once" is of CIDEr\'s kernels; {found.name} is symmetric'
            require(self.pairs == "both", symmetric)

    @property
    def name(self) -> str:
        """`self-cider`."""
        return "self-cider"

    @property
    def kernel_metric(self) -> Metric | None:
        """The metric that makes the kernel; None for one that is no metric."""
        found = get_kernel(self.kernel)
        return None if isinstance(found, SetKernel) else found

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        return measure_spread(compare_captions(sets, work, self.kernel, self.pairs), sets.sizes)

    def settings(self) -> dict[str, str]:
        """Return the kernel and its settings."""
        found = get_kernel(self.kernel)
        if isinstance(found, SetKernel):
            return {"kernel": found.name}
        return {"kernel": found.name, **found.settings(), "pairs": self.pairs}

    def data_settings(self) -> dict[str, str]:
        """Return what the kernel's signature says about data."""
        return get_kernel(self.kernel).data_settings()


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
    """Words that do not count: those of a language (`"english"`, `"german"`), or the words
    themselves, in lower case."""

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
