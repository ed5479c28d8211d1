"""Self-CIDEr and LSA: spread of an image's captions over topics."""

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
    """Self-CIDEr: spread of an image's captions over topics by CIDEr; in [0, 1].

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
    """CIDEr-D and CIDEr-R are not symmetric: `both` is the mean of the two directions; with `once`,
    as in the paper, the earlier caption is the candidate, and the order of captions matters."""

    paper: ClassVar[str] = "Wang and Chan 2019, section 3.2"

    def __post_init__(self) -> None:
        require_choice("pairs", self.pairs, ("both", "once"))
        if isinstance(found := get_kernel(self.kernel), SetKernel):
            symmetric = (
                f'pairs="once" is only valid for CIDEr\'s kernels; {found.name} is symmetric'
            )
            require(self.pairs == "both", symmetric)

    @property
    def name(self) -> str:
        """`self-cider`."""
        return "self-cider"

    @property
    def kernel_metric(self) -> Metric | None:
        """Metric of the kernel; None if it is not a metric."""
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
        """Return the kernel's entries of the signature for data."""
        return get_kernel(self.kernel).data_settings()


@dataclass(frozen=True)
class Lsa(Measure):
    """LSA: spread of captions over topics by their words; in [0, 1].

    σ the singular values of the word-caption matrix, r = σ1 / Σσi, div = -log_m r: Wang and Chan
    2019, section 3.1.

    ```python
    cidery.measure_diversity(sets, measures=[Lsa(stop_words="english")])
    ```
    """

    stop_words: str | tuple[str, ...] | None = None
    """Ignored words: those of a language (`"english"`, `"german"`), or lower-case words."""

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
