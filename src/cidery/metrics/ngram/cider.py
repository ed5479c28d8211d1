"""CIDEr, CIDEr-D (Vedantam, Zitnick, Parikh 2015) and CIDEr-R (Santos, Colombini, Avila 2021)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cidery import _native
from cidery.captions.tokenizers import TokenizedCaptions, stem_form
from cidery.metrics.base import (
    Faithful,
    Images,
    Metric,
    Prepared,
    ReferenceSet,
    require,
    require_between,
    require_choice,
    require_order,
)
from cidery.statistics import Floats


@dataclass(frozen=True, eq=False)
class PreparedCider:
    """References ready for the CIDEr family."""

    native: _native.Cider
    form: str
    parts: str | None
    """The form whose repeated words are punished (CIDEr-R)."""
    alike: Hashable
    """Metrics with the same one have the same similarities, before penalties."""

    def translate(self, candidates: TokenizedCaptions) -> _native.Translation:
        """Return the candidates' words in the references' ids, for calls with that vocabulary."""
        parts = candidates.form(self.parts) if self.parts else None
        return self.native.translate(candidates.form(self.form), parts)

    def measure(
        self,
        candidates: TokenizedCaptions,
        images: Images,
        threads: int = 0,
        translation: _native.Translation | None = None,
    ) -> Floats:
        """Return rows, float64[captions, 1]."""
        words = candidates.form(self.form)
        parts = candidates.form(self.parts) if self.parts else None
        translation = translation or self.native.translate(words, parts)
        known = candidates.measured.get(self.alike)
        if known is None or known[0] is not images:
            known = images, self.native.similarities(words, images, translation, threads)
            candidates.measured[self.alike] = known
        return self.native.measure(words, images, translation, known[1], parts, threads)


@dataclass(frozen=True)
class _CiderFamily(Metric):
    """What the three have in common."""

    n: int = 4
    """The longest n-grams, N of equation (3)."""

    def __post_init__(self) -> None:
        require_order(self.n)

    @property
    def uses_frequencies(self) -> bool:
        """Its n-grams are weighted by document frequencies."""
        return True

    @property
    def range(self) -> tuple[float, float]:
        """From 0 to 10."""
        return 0.0, 10.0

    @property
    def over_references(self) -> Literal["mean", "max"] | None:
        """Equation (2) averages."""
        return "mean"

    def order_weights(self) -> list[float]:
        """w_n of equation (3)."""
        return [1 / self.n] * self.n

    def _prepare(
        self, references: ReferenceSet, *, parts: str | None = None, **settings: Any
    ) -> Prepared:
        form = stem_form(self.stems) if self.stems else "split"
        chosen = _native.CiderSettings(self.order_weights(), **settings)
        words = references.captions.form(parts) if parts else None
        key = (form, self.n, settings.get("uniform_idf", False))
        first = references.ciders.get(key)
        if first is None:
            trie, log_image_count = references.weights(self)
            index = references.index(form, self.n)
            native = _native.Cider(index, trie, log_image_count, chosen, words, references.threads)
            first = references.ciders[key] = native
        else:
            native = first.variant(chosen, words)  # references are weighed once for all
        clipping = (settings.get("clip", False), settings.get("relative_counts", False))
        return PreparedCider(native, form, parts, (first, *self.order_weights(), *clipping))


@dataclass(frozen=True)
class Cider(_CiderFamily):
    """CIDEr: mean cosine of TF-IDF weighted n-grams with the references; in [0, 1].

    CIDEr_n(c, S) = 1/m Σ_j g_n(c)·g_n(s_j) / (‖g_n(c)‖ ‖g_n(s_j)‖), CIDEr = Σ_n w_n CIDEr_n:
    equations (1)-(3) of Vedantam, Zitnick, Parikh, CVPR 2015. Words are stemmed. `faithful="coco"`
    is the community's plain CIDEr: unstemmed and times 10.

    ```python
    cidery.score({"a": "a dog runs"}, {"a": ["a dog is running"]}, metrics=[Cider()],
                 frequencies="coco-val2014")
    ```
    """

    faithful: Faithful = "paper"
    stemmer: str | None = "english"
    """A Snowball language, or None; not used in coco mode."""
    weights: Literal["uniform", "exponential"] | tuple[float, ...] = "uniform"
    """w_n: uniform 1/N; exponential ∝ 2^n; or N numbers. Appendix VIII names a "CIDEr exp" without
    its formula: 2^n is our reading."""
    references: Literal["mean", "max"] = "mean"
    """Over references; max is Appendix VIII's "CIDEr max"."""
    idf: bool = True
    """False is Appendix VIII's "CIDEr no idf"."""

    paper: ClassVar[str] = "Vedantam, Zitnick, Parikh 2015, equations (1)-(3), Appendix VIII"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("faithful", self.faithful, ("coco", "paper"))
        require_choice("references", self.references, ("mean", "max"))
        if isinstance(self.weights, str):
            require_choice("weights", self.weights, ("uniform", "exponential"))
        else:
            object.__setattr__(self, "weights", tuple(map(float, self.weights)))
            require(
                len(self.weights) == self.n and min(self.weights) >= 0 < sum(self.weights),
                f"weights must be {self.n} numbers, none negative, not all zero",
            )

    @property
    def name(self) -> str:
        """`cider`."""
        return "cider"

    @property
    def over_references(self) -> Literal["mean", "max"] | None:
        """As chosen."""
        return self.references

    @property
    def range(self) -> tuple[float, float]:
        """Up to the sum of the weights; ten times that in coco mode."""
        return 0.0, self._scale * sum(self.order_weights())

    @property
    def uses_frequencies(self) -> bool:
        """Not without idf."""
        return self.idf

    @property
    def stems(self) -> str | None:
        """The stemmer's language; none in coco mode."""
        return None if self.faithful == "coco" else self.stemmer

    @property
    def _scale(self) -> float:
        return 10.0 if self.faithful == "coco" else 1.0

    def settings(self) -> dict[str, str]:
        """Return what the signature says; the stemmer that is used, not the one that was set."""
        return super().settings() | {"stemmer": self.stems or "none"}

    def order_weights(self) -> list[float]:
        """w_n of equation (3)."""
        if self.weights == "uniform":
            return super().order_weights()
        if self.weights == "exponential":
            total = sum(2.0**n for n in range(self.n))
            return [2.0**n / total for n in range(self.n)]
        return [float(w) for w in self.weights]

    def prepare(self, references: ReferenceSet) -> Prepared:
        """Make references ready."""
        return self._prepare(
            references,
            scale=self._scale,
            uniform_idf=not self.idf,
            best_reference=self.references == "max",
        )


@dataclass(frozen=True)
class CiderD(_CiderFamily):
    """CIDEr-D: CIDEr against gaming, with clipped counts and a length penalty; in [0, 10].

    CIDEr-D_n(c, S) = 10/m Σ_j exp(-(l(c)-l(s_j))²/2σ²) · min(g_n(c), g_n(s_j))·g_n(s_j) /
    (‖g_n(c)‖ ‖g_n(s_j)‖): equations (4)-(5) of Vedantam, Zitnick, Parikh, CVPR 2015. `coco` (the
    "CIDEr" of coco-caption) clips raw counts; `paper` clips the TF-normalised g of equation (1).

    ```python
    cidery.score(candidates, references, metrics=[CiderD(sigma=6.0)])
    ```
    """

    sigma: float = 6.0
    """The penalty's width, in words."""
    faithful: Faithful = "coco"

    paper: ClassVar[str] = "Vedantam, Zitnick, Parikh 2015, equations (4)-(5)"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("faithful", self.faithful, ("coco", "paper"))
        require_between("sigma", self.sigma, 1e-3, 1e6)

    @property
    def name(self) -> str:
        """`cider-d`."""
        return "cider-d"

    def prepare(self, references: ReferenceSet) -> Prepared:
        """Make references ready."""
        return self._prepare(
            references,
            scale=10.0,
            clip=True,
            penalty="gaussian",
            sigma=self.sigma,
            relative_counts=self.faithful == "paper",
        )


@dataclass(frozen=True)
class CiderR(_CiderFamily):
    r"""CIDEr-R: CIDEr-D for long, uneven captions; in [0, 10].

    CIDEr-R_n(c, S) = 10/m Σ_j sim(c, s_j) · Pen_R^k · Pen_L^(1-k), with Pen_L = exp(-(l(c)-l(s))² /
    l(s)²) and Pen_R = Π_w f(w)^(1/l(c)), f = 1/(1+|freq(w,c)-freq(w,s)|) for shared words and
    1/freq(w,c) for others: equations (5)-(7) of Santos, Colombini, Avila 2021. `coco` is the
    authors' code: Pen_R is the geometric mean of f over the candidate's distinct `\w+` words, and
    raw counts are clipped as in CIDEr-D.

    ```python
    cidery.score(candidates, references, metrics=[CiderR(repetition=0.8)])
    ```
    """

    repetition: float = 0.8
    """k_r: the repetition penalty's share; 1 - k_r is the length penalty's."""
    faithful: Faithful = "coco"

    paper: ClassVar[str] = "Santos, Colombini, Avila 2021, equations (5)-(7)"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("faithful", self.faithful, ("coco", "paper"))
        require_between("repetition", self.repetition, 0.0, 1.0)

    @property
    def name(self) -> str:
        """`cider-r`."""
        return "cider-r"

    def prepare(self, references: ReferenceSet) -> Prepared:
        """Make references ready."""
        coco = self.faithful == "coco"
        return self._prepare(
            references,
            parts="parts" if coco else "split",
            scale=10.0,
            clip=True,
            penalty="relative",
            repetition_weight=self.repetition,
            mean_repetition=coco,
            relative_counts=not coco,
        )
