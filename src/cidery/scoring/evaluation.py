"""score(): from captions to numbers with signatures."""

from __future__ import annotations

from dataclasses import replace

from cidery.corpus import Candidates, Corpus, Missing, References
from cidery.files.slices import SlicesLike
from cidery.metrics import MetricsLike, get_metrics
from cidery.metrics.base import Faithful
from cidery.scoring.preparation import prepare_scorers, warn_swapped
from cidery.scoring.scorer import FrequenciesLike
from cidery.scoring.segmentation import SegmentersLike, check_segmenters, score_segmenters
from cidery.scoring.slices import SliceMode, Slicing, check_mode
from cidery.scoring.tables import ScoreTable
from cidery.text import TokenizerLike


def score(
    candidates: Candidates,
    references: References,
    metrics: MetricsLike = None,
    *,
    preset: str | None = None,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    frequencies: FrequenciesLike = "references",
    faithful: Faithful | None = None,
    missing: Missing = "error",
    threads: int = 0,
    segmenters: SegmentersLike | None = None,
    by: SlicesLike | None = None,
    slices: SliceMode = "whole",
    candidates_name: str = "candidates",
    references_name: str = "references",
    by_name: str | None = None,
) -> ScoreTable:
    """Score candidate captions against reference captions.

    Args:
        candidates: id -> caption (or captions), or a list in the references' order.
        references: id -> captions, or a list of lists.
        metrics: names (`"cider-d"`, `"bleu"`, `"rouge-l:beta=1"`), metric objects, functions
            `f(candidate, references) -> float`, or a dict of labels to these; by default BLEU 1-4,
            ROUGE-L, CIDEr-D and CIDEr-R.
        preset: metrics that are reported together: `"coco"`, `"nocaps"`, `"dcase"`,
            `"dense-video"`, `"vlm"`, or a TOML file of your own; `metrics` are added to it.
        tokenizer: `"ptb"`, `"ptb-coco"`, `"whitespace"`, `"words"`, `"char"`, a segmenter such as
            `"jieba"`, the name of one that another package adds, or a callable; by default that
            of the language, or `"ptb"`.
        language: a code such as `"zh"` or `"de"`, which chooses the tokenizer, the spelling and,
            for metrics given by name, the stemmer and METEOR's data; by default captions are taken
            for English.
        frequencies: what the CIDEr family's weights are counted on: `"references"` (the images
            scored), a shipped set (`"coco-val2014"`, `"coco-train2014"`), a DocumentFrequencies
            or the path of a saved one.
        faithful: `"coco"` or `"paper"` for metrics given by name; by default each metric's own.
        missing: `"skip"` leaves out images without candidates or without references, from the
            weights counted on references too.
        threads: 0 means one per core; any number gives the same bits.
        segmenters: other tokenizers to score with too, as `table.by_segmenter`: names, or `"all"`
            for those of the language that are installed; not together with `by`.
        by: slices to score apart, as `table.slices`: id -> slice or list of slices, a list in the
            references' order, a file (`"domains.csv"`, `"annotations.json:domain"`), `"length"`
            (quartiles of the references' words; `"length:8,12"` has these edges) or `"references"`
            (how many an image has).
        slices: `"whole"`: a slice has the scores that its captions have in the whole set;
            `"separate"`: each slice is scored by itself, with its own document frequencies.
        candidates_name: what messages call the candidates, for instance their file.
        references_name: what messages call the references.
        by_name: what tables and messages call the slices.

    ```python
    table = cidery.score({"a": "a dog runs"}, {"a": ["a dog is running", "the dog runs"]},
                         frequencies="coco-val2014")
    table.corpus["cider-d"]
    ```
    """
    check_mode(slices)
    others = check_segmenters(segmenters, language, by)
    chosen = get_metrics(metrics, faithful, language, preset)
    corpus = Corpus.build(
        candidates,
        references,
        missing=missing,
        candidates_name=candidates_name,
        references_name=references_name,
    )
    corpora = {candidates_name: corpus}
    warn_swapped(corpora, references_name)
    prepare = prepare_scorers(
        corpora,
        references_name,
        chosen,
        tokenizer=tokenizer,
        language=language,
        frequencies=frequencies,
        threads=threads,
    )
    scorer = prepare(corpus)
    slicing = (
        Slicing.build(by, slices, corpus, scorer, prepare, by_name) if by is not None else None
    )
    table = scorer.score(corpus.candidates, corpus.candidate_images, corpus.candidate_ids)
    if others:
        found = score_segmenters(others, {"": corpus}, prepare)[""]
        table = replace(table, by_segmenter=found)
    return table if slicing is None else slicing.score({"": corpus}, {"": table})[""]
