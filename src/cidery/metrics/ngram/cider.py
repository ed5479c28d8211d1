"""CIDEr, CIDEr-D (Vedantam, Zitnick, Parikh 2015) and CIDEr-R (Santos, Colombini, Avila 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cidery import _native
from cidery.metrics.base import (
    FrequencyNeeds,
    GroupedCaptions,
    Images,
    Metric,
    Needs,
    Prepared,
    TokenizedCandidates,
    TokenizedReferences,
    find_weights,
    index_ngrams,
)
from cidery.metrics.ngram.overlap import translate
from cidery.metrics.settings import Faithful, Interval, NgramOrder, Proportion, require
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import SPLIT, WORD_RUNS, TokenForm, TokenizedCaptions, name_stemmer, stem_form

if TYPE_CHECKING:
    from cidery.metrics.explanations import Contributions
    from cidery.text import Language


@dataclass(frozen=True, eq=False)
class PreparedCider(Prepared):
    """References prepared for the CIDEr family."""

    references: TokenizedReferences
    native: _native.Cider
    similar: _native.Cider
    """The same without penalties, shared by metrics that differ only in those."""
    form: TokenForm
    parts: TokenForm | None
    """Form of the tokens whose repetition is penalized (CIDEr-R)."""

    def translate(self, captions: TokenizedCaptions, work: Workspace) -> _native.Translation:
        """Return the captions' words as ids of the references' vocabulary."""
        native = self.native if self.parts else self.similar
        return work.once(translate, native, captions.word_source, self.form, self.parts)

    def read_words(self, captions: TokenizedCaptions, work: Workspace) -> None:
        """Look up the words in the references' vocabulary."""
        self.translate(captions, work)
        work.once(translate, self.similar, captions.word_source, self.form, None)

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, 1]."""
        captions, images = candidates.captions, candidates.images
        words = captions.form(self.form, work)
        plain = work.once(translate, self.similar, captions.word_source, self.form, None)
        similarities = work.once(_find_similarities, self.similar, candidates, words, plain)
        parts, translation = None, plain
        if self.parts:
            parts, translation = captions.form(self.parts, work), self.translate(captions, work)
        return self.native.measure(words, images, translation, similarities, parts, work.threads)

    def arguments(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> tuple[
        _native.Cider, _native.Captions, Images, _native.Translation, _native.Captions | None
    ]:
        """Return the arguments of the native functions that split scores."""
        captions = candidates.captions
        parts = captions.form(self.parts, work) if self.parts else None
        words = captions.form(self.form, work)
        return (
            self.native,
            words,
            candidates.images,
            self.translate(captions, work),
            parts,
        )

    def credit(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> list[list[tuple[tuple[str, ...], int, float, float]]]:
        """Return the n-grams of each caption: words, count, gain and loss."""
        words = candidates.captions.form(self.form, work).tokens()
        credits = _native.credit(*self.arguments(candidates, work))
        return [
            [
                (tuple(caption[start : start + n]), count, gain, loss)
                for n, start, count, gain, loss in ngrams
            ]
            for caption, ngrams in zip(words, credits, strict=True)
        ]

    def credit_pieces(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> list[dict[str, float]]:
        """Return the contribution of each n-gram of each caption."""
        return [
            {" ".join(words): gain + loss for words, _, gain, loss in ngrams}
            for ngrams in self.credit(candidates, work)
        ]

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Divide the contribution of each n-gram equally among the words of its occurrences."""
        from cidery.metrics.explanations import Contributions, describe_count, make_spans
        from cidery.metrics.located_captions import locate_candidates, locate_references

        scores = self.measure(candidates, work)[:, 0].tolist()
        arguments = self.arguments(candidates, work)
        flat = _native.word_shares(*arguments, work.threads)
        values, holders, losses, lacking = (array.tolist() for array in flat)
        found = work.once(locate_candidates, candidates, self.form)
        places = work.once(locate_references, self.references, candidates, self.form)
        images = candidates.images.tolist()
        offsets = self.references.image_offsets.tolist()
        most = max(offsets[i + 1] - offsets[i] for i in range(len(offsets) - 1))
        notes = [[describe_count(k, m) for k in range(m + 1)] for m in range(most + 1)]
        shares = []
        begin = lack = 0
        for number, image in enumerate(images):
            here = found[number].places
            end = begin + len(here)
            first, last = offsets[image], offsets[image + 1]
            named = notes[last - first]
            held = [named[k] for k in holders[begin:end]]
            spans = make_spans(zip(here, values[begin:end], held, strict=True))
            lacked = []
            for reference in range(first, last):
                there = places[reference].places
                until = lack + len(there)
                missing = compress(range(lack, until), lacking[lack:until])
                lacked.append(
                    make_spans([(there[i - lack], losses[i], "missing") for i in missing])
                )
                lack = until
            shares.append(Contributions(scores[number], spans, lacked, exact=None not in here))
            begin = end
        return shares


def _find_similarities(
    work: Workspace,
    similar: _native.Cider,
    candidates: TokenizedCandidates,
    words: _native.Captions,
    translation: _native.Translation,
) -> Floats:
    """Return the similarity of each candidate to each reference, before penalties."""
    return similar.similarities(words, candidates.images, translation, work.threads)


def _weight_ngrams(
    work: Workspace,
    groups: GroupedCaptions,
    form: TokenForm,
    order: int,
    trie: _native.FrequencyTrie | None,
    log_image_count: float,
    uniform_idf: bool,
) -> _native.Cider:
    """Return the weighted n-grams of the references, shared by metrics with these weights."""
    index = index_ngrams(work, groups, form, order)
    settings = _native.CiderSettings([1 / order] * order, uniform_idf=uniform_idf)
    return _native.Cider(index, trie, log_image_count, settings, None, work.threads)


def _without_penalties(
    work: Workspace,  # noqa: ARG001
    weighted: _native.Cider,
    order_weights: tuple[float, ...],
    uniform_idf: bool,
    clip: bool,
    relative_counts: bool,
) -> _native.Cider:
    settings = _native.CiderSettings(
        list(order_weights), uniform_idf=uniform_idf, clip=clip, relative_counts=relative_counts
    )
    return weighted.variant(settings)


@dataclass(frozen=True)
class _CiderFamily(Metric):
    """Settings that CIDEr, CIDEr-D and CIDEr-R have in common."""

    explanation_unit = "n-gram"

    n: NgramOrder = 4
    """Length of the longest n-grams, N of equation (3)."""

    @property
    def stems(self) -> str | None:
        """Language of the stemmer; None: words are not stemmed."""
        return None

    @property
    def range(self) -> tuple[float, float]:
        """From 0 to 10."""
        return 0.0, 10.0

    @property
    def needs(self) -> Needs:
        """Document frequencies of n-grams."""
        return Needs(frequencies=FrequencyNeeds(self.n, self.stems))

    def order_weights(self) -> list[float]:
        """Return w_n of equation (3)."""
        return [1 / self.n] * self.n

    def _prepare(
        self,
        references: TokenizedReferences,
        work: Workspace,
        *,
        parts: TokenForm | None = None,
        uniform_idf: bool = False,
        clip: bool = False,
        relative_counts: bool = False,
        **settings: Any,
    ) -> Prepared:
        form = stem_form(self.stems)
        trie, log_image_count = find_weights(references, self.needs.frequencies)
        weighted = work.once(
            _weight_ngrams, references.groups, form, self.n, trie, log_image_count, uniform_idf
        )
        order_weights = tuple(self.order_weights())
        similar = work.once(
            _without_penalties, weighted, order_weights, uniform_idf, clip, relative_counts
        )
        chosen = _native.CiderSettings(
            list(order_weights),
            uniform_idf=uniform_idf,
            clip=clip,
            relative_counts=relative_counts,
            **settings,
        )
        words = references.captions.form(parts, work) if parts else None
        return PreparedCider(references, weighted.variant(chosen, words), similar, form, parts)


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
    """Language of the Snowball stemmer, or None; not used in coco mode."""
    weights: Literal["uniform", "exponential"] | tuple[float, ...] = "uniform"
    """w_n: uniform 1/N; exponential ∝ 2^n; or N numbers. Appendix VIII names a "CIDEr exp" without
    a formula; 2^n is an interpretation."""
    over: Literal["mean", "max"] = "mean"
    """Combination of the scores against several references; max is Appendix VIII's "CIDEr max"."""
    idf: bool = True
    """False is Appendix VIII's "CIDEr no idf"."""

    paper: ClassVar[str] = "Vedantam, Zitnick, Parikh 2015, equations (1)-(3), Appendix VIII"
    name = "cider"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.weights, str):
            object.__setattr__(self, "weights", tuple(map(float, self.weights)))
            require(
                len(self.weights) == self.n and min(self.weights) >= 0 < sum(self.weights),
                f"weights must be {self.n} numbers, none negative, not all zero",
            )

    @property
    def range(self) -> tuple[float, float]:
        """Up to the sum of the weights; ten times that in coco mode."""
        return 0.0, self._scale * sum(self.order_weights())

    @property
    def needs(self) -> Needs:
        """Document frequencies, unless `idf` is False."""
        return super().needs if self.idf else Needs()

    @classmethod
    def language_settings(cls, language: Language) -> dict[str, Any]:
        """Return the language's stemmer, or None."""
        return {"stemmer": language.stemmer}

    @property
    def stems(self) -> str | None:
        """Language of the stemmer; None in coco mode."""
        return None if self.faithful == "coco" else self.stemmer

    @property
    def _scale(self) -> float:
        return 10.0 if self.faithful == "coco" else 1.0

    def settings(self) -> dict[str, str]:
        """Return the settings for signatures, with the stemmer that is used."""
        return super().settings() | {"stemmer": name_stemmer(self.stems) if self.stems else "none"}

    def order_weights(self) -> list[float]:
        """Return w_n of equation (3)."""
        if self.weights == "uniform":
            return super().order_weights()
        if self.weights == "exponential":
            total = sum(2.0**n for n in range(self.n))
            return [2.0**n / total for n in range(self.n)]
        return [float(w) for w in self.weights]

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""
        return self._prepare(
            references,
            work,
            scale=self._scale,
            uniform_idf=not self.idf,
            best_reference=self.over == "max",
        )


@dataclass(frozen=True)
class CiderD(_CiderFamily):
    """CIDEr-D: CIDEr against gaming, with clipped counts and a length penalty; in [0, 10].

    CIDEr-D_n(c, S) = 10/m Σ_j exp(-(l(c)-l(s_j))²/2σ²) · min(g_n(c), g_n(s_j))·g_n(s_j) /
    (‖g_n(c)‖ ‖g_n(s_j)‖): equations (4)-(5) of Vedantam, Zitnick, Parikh, CVPR 2015. `coco` (the
    "CIDEr" of coco-caption) clips raw counts; `paper` clips the TF-normalized g of equation (1).

    ```python
    cidery.score(candidates, references, metrics=[CiderD(sigma=6.0)])
    ```
    """

    sigma: Annotated[float, Interval(1e-3, 1e6)] = 6.0
    """Width of the length penalty, in words."""
    faithful: Faithful = "coco"

    paper: ClassVar[str] = "Vedantam, Zitnick, Parikh 2015, equations (4)-(5)"
    name = "cider-d"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""
        return self._prepare(
            references,
            work,
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

    repetition: Proportion = 0.8
    """k_r: weight of the repetition penalty; 1 - k_r is that of the length penalty."""
    faithful: Faithful = "coco"

    paper: ClassVar[str] = "Santos, Colombini, Avila 2021, equations (5)-(7)"
    name = "cider-r"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""
        coco = self.faithful == "coco"
        return self._prepare(
            references,
            work,
            parts=WORD_RUNS if coco else SPLIT,
            scale=10.0,
            clip=True,
            penalty="relative",
            repetition_weight=self.repetition,
            mean_repetition=coco,
            relative_counts=not coco,
        )
