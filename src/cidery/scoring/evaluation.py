"""score(), and the steps that it shares with compare() and write_report()."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cidery.corpus import (
    Candidates,
    Corpus,
    Missing,
    References,
    SlicesLike,
    SystemCaptions,
    find_suspicious,
    issue_notices,
    list_runs,
)
from cidery.errors import MismatchError, UnreliableWarning, warn_caller
from cidery.runtime import split_progress
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.score_table import ScoreTable, join_runs
from cidery.scoring.scorer import Scorer
from cidery.scoring.segmentation import SegmentersLike, choose_segmenters, score_segmenters
from cidery.scoring.slice_scores import SliceMode, Slicing, check_mode
from cidery.text import ScannedCaptions, check_debris_kinds

if TYPE_CHECKING:
    from typing_extensions import Unpack


def score(
    candidates: Candidates,
    references: References,
    metrics: PipelineLike = None,
    *,
    missing: Missing = "error",
    segmenters: SegmentersLike | None = None,
    by: SlicesLike | None = None,
    slices: SliceMode = "whole",
    strict: bool = False,
    clean: str | Sequence[str] = (),
    candidates_name: str = "candidates",
    references_name: str = "references",
    by_name: str | None = None,
    **settings: Unpack[PipelineSettings],
) -> ScoreTable:
    """Score candidate captions against reference captions.

    Args:
        candidates: id -> caption (or captions), or a list in the references' order.
        references: id -> captions, or a list of lists.
        metrics: names (`"cider-d"`, `"bleu"`, `"rouge-l:beta=1"`), metric objects, functions
            `f(candidate, references) -> float`, a dict of labels to these, or a `Pipeline`.
            Default: BLEU 1-4, ROUGE-L, CIDEr-D and CIDEr-R.
        missing: `"skip"` ignores images without candidates or without references, also in the
            document frequencies of `"references"`.
        segmenters: other tokenizers to score with too, as `table.by_segmenter`: names, or `"all"`
            for those of the language that are installed; not together with `by`.
        by: slices to score, as `table.slices`: id -> slice or list of slices, a list in the
            references' order, a file (`"domains.csv"`, `"annotations.json:domain"`), `"length"`
            (quartiles of the references' words; `"length:8,12"` has these edges) or `"references"`
            (number of references of an image).
        slices: `"whole"`: captions have the scores of the whole set; `"separate"`: each slice is
            scored separately, with its own document frequencies.
        strict: raise an error for captions that look wrong (repeated, empty, with debris, …)
            instead of an `InputWarning`; `table.notices` has all.
        clean: kinds of debris to remove from captions before scoring, such as `"special-tokens"`
            or `["prefix", "quotes"]`; signatures name them. `cidery.text.KINDS` has all.
        candidates_name: name of the candidates in messages, for instance their file.
        references_name: name of the references in messages.
        by_name: name of the slices in tables and messages.
        settings: `preset`, `tokenizer`, `language`, `frequencies`, `faithful` and `threads`, as
            described in `Pipeline.choose`.

    ```python
    table = cidery.score({"a": "a dog runs"}, {"a": ["a dog is running", "the dog runs"]},
                         frequencies="coco-val2014")
    table.corpus["cider-d"]
    ```
    """
    evaluation = Evaluation.run(
        {candidates_name: candidates},
        references,
        Pipeline.choose(metrics, **settings),
        missing=missing,
        segmenters=segmenters,
        by=by,
        slices=slices,
        strict=strict,
        clean=clean,
        references_name=references_name,
        by_name=by_name,
    )
    return evaluation.tables[candidates_name]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Systems scored against the same references, which are prepared once."""

    corpora: Mapping[str, Corpus]
    """system -> its captions, of all its runs, of the images that all systems describe"""
    scorer: Scorer
    tables: Mapping[str, ScoreTable]
    """system -> its scores"""

    @classmethod
    def run(
        cls,
        systems: Mapping[str, SystemCaptions],
        references: References,
        pipeline: Pipeline,
        *,
        missing: Missing = "error",
        segmenters: SegmentersLike | None = None,
        by: SlicesLike | None = None,
        slices: SliceMode = "whole",
        strict: bool = False,
        clean: str | Sequence[str] = (),
        references_name: str = "references",
        by_name: str | None = None,
    ) -> Evaluation:
        """Match, check and score captions; the arguments are those of `score`."""
        check_mode(slices)
        tokenizers = choose_segmenters(segmenters, pipeline.language, by)
        runs = name_runs(systems)
        captions = {name: run for named in runs.values() for name, run in named.items()}
        corpora = match_systems(
            captions, references, missing, references_name, strict=strict, clean=clean
        )
        first = next(iter(corpora.values()))
        pipeline.check(corpora, references_name)
        sizes = [len(corpus.candidates) for corpus in corpora.values()]
        # More passes follow with segmenters and slices that are scored separately.
        again = len(tokenizers) + (by is not None and slices == "separate")
        parts = split_progress([len(first.references), *sizes, again * sum(sizes)])
        with next(parts):
            scorer = pipeline.prepare(first)
        slicing = None if by is None else Slicing.build(by, slices, first, scorer, by_name)
        tables = {}
        for name, corpus in corpora.items():
            with next(parts):
                tables[name] = replace(scorer.score_corpus(corpus), notices=corpus.notices)
        with next(parts):
            if tokenizers:
                found = score_segmenters(tokenizers, corpora, pipeline)
                tables = {n: replace(table, by_segmenter=found[n]) for n, table in tables.items()}
            if slicing is not None:
                tables = slicing.score(corpora, tables)
        return cls(
            {name: _join_captions([corpora[run] for run in named]) for name, named in runs.items()},
            scorer,
            {name: join_runs([tables[run] for run in named]) for name, named in runs.items()},
        )


def name_runs(systems: Mapping[str, SystemCaptions]) -> dict[str, dict[str, Candidates]]:
    """Return system -> name of the run in messages -> its captions."""
    found = {}
    for system, given in systems.items():
        runs = list_runs(given, system)
        several = len(runs) > 1
        found[system] = {
            f"{system} (run {number})" if several else system: run
            for number, run in enumerate(runs, 1)
        }
    return found


def _join_captions(runs: Sequence[Corpus]) -> Corpus:
    """Return the captions of several runs as those of one system."""
    if len(runs) == 1:
        return runs[0]
    return replace(
        runs[0],
        candidates=ScannedCaptions(caption for run in runs for caption in run.candidates),
        candidate_images=np.concatenate([run.candidate_images for run in runs]),
        candidate_ids=[image for run in runs for image in run.candidate_ids],
    )


def match_systems(
    systems: Mapping[str, Candidates],
    references: References,
    missing: Missing,
    name: str,
    *,
    strict: bool = False,
    clean: str | Sequence[str] = (),
) -> dict[str, Corpus]:
    """Match each system's captions to the references; keep the images that all systems describe.

    Warn of captions that look wrong, and if references seem to be given as candidates. `name` is
    that of the references in messages; `strict` and `clean` are those of `score`.
    """
    clean = check_debris_kinds(clean)
    corpora = {
        system: Corpus.build(
            candidates, references, missing=missing, candidates_name=system, references_name=name
        )
        for system, candidates in systems.items()
    }
    images = {system: set(corpus.images) for system, corpus in corpora.items()}
    common = set.intersection(*images.values())
    if any(found != common for found in images.values()):
        if not common:
            raise MismatchError(f"no image is described by all of {', '.join(systems)}")
        corpora = {system: corpus.select(common) for system, corpus in corpora.items()}
    corpora = _inspect(corpora, name, strict, clean)
    for system, corpus in corpora.items():
        if _look_swapped(corpus):
            warn_caller(
                f"{name} has one caption per image and {system} several: are they swapped? score "
                "takes candidates first, then references; on the command line compare and report "
                "take references first",
                UnreliableWarning,
            )
            break
    return corpora


def _inspect(
    corpora: Mapping[str, Corpus], references_name: str, strict: bool, clean: Sequence[str]
) -> dict[str, Corpus]:
    """Clean captions, add notices about those that look wrong, and issue the notices."""
    read = {notice for corpus in corpora.values() for notice in corpus.notices}
    corpora = {
        system: corpus.without_debris(clean, references_name, system)
        for system, corpus in corpora.items()
    }
    first = next(iter(corpora.values()))
    of_references = find_suspicious(
        first.references, first.reference_images(), first.images, references_name, "references"
    )
    found = {}
    for system, corpus in corpora.items():
        own = find_suspicious(corpus.candidates, corpus.candidate_images, corpus.images, system)
        notices = dict.fromkeys((*corpus.notices, *of_references, *own))
        found[system] = replace(corpus, notices=tuple(notices))
    listed = [notice for corpus in found.values() for notice in corpus.notices]
    read = {notice for notice in read if notice.kind != "ids"}  # issued by the readers
    issue_notices([notice for notice in listed if notice not in read], strict=strict)
    return found


def _look_swapped(corpus: Corpus) -> bool:
    """Return True if every image has several candidates and one reference."""
    images = len(corpus.images)
    counts = np.bincount(corpus.candidate_images, minlength=images)
    return len(corpus.references) == images > 1 and bool(counts.min() > 1)
