"""measure_diversity(): diversity and accuracy of sets of captions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cidery import _version
from cidery.corpus import Corpus, Missing
from cidery.diversity.accuracy import (
    BETA_SQUARED,
    AccuracyReferences,
    choose_accuracy,
    f_measure,
    list_rows,
    measure_accuracy,
    pair_references,
)
from cidery.diversity.base import Measure
from cidery.diversity.caption_sets import (
    CaptionSets,
    SetsLike,
    TokenizedSets,
    Training,
    tokenize_training,
)
from cidery.diversity.kernels import Kernel
from cidery.diversity.measures import MeasureLike, get_measures
from cidery.diversity.reference_scores import count_references
from cidery.diversity.self_cider import SelfCider
from cidery.errors import SettingError
from cidery.frequencies import CountedFrequencies, DocumentFrequencies
from cidery.metrics.base import GroupedCaptions, TokenizedReferences, find_frequencies
from cidery.runtime import Workspace
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.score_table import Resampling, ScoreTable, Signature
from cidery.statistics import Floats

if TYPE_CHECKING:
    from typing_extensions import Unpack


def measure_diversity(
    sets: SetsLike,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    kernel: Kernel = "cider",
    references: AccuracyReferences = None,
    accuracy: PipelineLike = "cider-d",
    beta_squared: float = BETA_SQUARED,
    training: Training | None = None,
    stop_words: str | tuple[str, ...] | None = None,
    missing: Missing = "error",
    **settings: Unpack[PipelineSettings],
) -> ScoreTable:
    """Measure the diversity of each image's captions: one row per image, means in `corpus`.

    Args:
        sets: id -> captions, a list of lists, or `(id, caption)` rows; at least two per image.
        measures: names (`"self-cider"`, `"lsa"`, `"mbleu"`, `"distinct"`, `"unique"`, `"novel"`,
            `"vocabulary"`) or measure objects; by default all of them (novel with `training`).
        kernel: of Self-CIDEr: `"cider"`, `"cider-d"`, `"cider-r"`, an encoder such as `"minilm"`,
            or a function; see `SelfCider`.
        references: adds `accuracy`, the mean of the image's captions against them, and, where
            Self-CIDEr is measured, `f`. `"leave-one-out"` scores each caption against the others
            of its set: for sets written by humans.
        accuracy: the metric of `accuracy`: a name, a metric object or a function.
        beta_squared: β² of `f`; above 1, accuracy has more weight.
        training: captions of the training set, by image or as a list; adds `novel`.
        stop_words: words that `lsa` ignores: `"english"` or a tuple of words.
        missing: `"skip"` skips images with fewer than two captions or without references.
        settings: as in `score`. `frequencies` are for the kernel and for accuracy; their default is
            `"coco-train2014"` for English, and else `"references"`.

    ```python
    table = cidery.measure_diversity({"img1": ["a cat", "a dog"]}, ["self-cider", "lsa", "mbleu"])
    table.corpus["self-cider"], table.each["self-cider"], table.interval("self-cider")
    ```
    """
    chosen = get_measures(measures, kernel=kernel, stop_words=stop_words)
    if training is not None and measures is None:
        chosen |= get_measures("novel")
    pipeline = choose_accuracy(accuracy, **settings)
    against = pair_references(sets, references, missing)
    checked = CaptionSets.build(sets if against is None else list_rows(against), missing=missing)
    captions = {"captions": checked.captions}
    if against is not None:
        captions["references"] = against.references
    pipeline.check_captions(captions, None if against is None else len(against.images))
    weights = _find_weights(pipeline, references, against, checked, chosen)
    tokenized = _tokenize(checked, pipeline, weights, training)
    work = Workspace(pipeline.threads)
    each = {label: measure.measure(tokenized, work) for label, measure in chosen.items()}
    whole = {label: measure.whole(tokenized, work) for label, measure in chosen.items()}
    signatures = {label: str(_sign(m, tokenized)) for label, m in chosen.items()}
    if references is not None:
        values, signature = measure_accuracy(pipeline, checked, against)
        each["accuracy"] = tokenized.mean(values)
        signatures["accuracy"] = f"accuracy|metric:{signature}"
    spreads = [label for label, measure in chosen.items() if isinstance(measure, SelfCider)]
    return _make_table(checked, each, whole, signatures, spreads, beta_squared)


def _tokenize(
    sets: CaptionSets,
    pipeline: Pipeline,
    frequencies: str | DocumentFrequencies | CountedFrequencies,
    training: Training | None,
) -> TokenizedSets:
    tokenizer = pipeline.tokenizer
    captions = tokenizer(sets.captions, pipeline.threads)
    groups = GroupedCaptions(captions, sets.offsets.astype(np.uint64))
    return TokenizedSets(
        TokenizedReferences(groups, tokenizer, frequencies),
        sets.sizes,
        None if training is None else tokenize_training(training, tokenizer),
    )


def _find_weights(
    pipeline: Pipeline,
    references: AccuracyReferences,
    against: Corpus | None,
    sets: CaptionSets,
    measures: Mapping[str, Measure],
) -> str | DocumentFrequencies | CountedFrequencies:
    """Return the kernels' frequencies, counted on the references if requested."""
    kernels = [m.kernel_metric for m in measures.values() if m.kernel_metric is not None]
    if pipeline.frequencies != "references" or not kernels:
        return pipeline.frequencies
    if references is None:
        raise SettingError(
            "self-cider needs document frequencies, and there are no references to count them on; "
            "pass references=… (--references FILE), frequencies counted with the same "
            "tokenizer (`cidery frequencies build`), or remove self-cider"
        )
    counted = sets
    if against is not None:
        counted = CaptionSets(against.images, against.references, against.reference_offsets)
    return count_references(counted, pipeline.tokenizer, kernels)


def _sign(measure: Measure, sets: TokenizedSets) -> Signature:
    fewest, most = int(sets.sizes.min()), int(sets.sizes.max())
    settings = measure.settings() | measure.data_settings()
    settings["captions"] = str(most) if fewest == most else f"{fewest}-{most}"
    if sets.captions.tokenizer.language is not None:
        settings["language"] = sets.captions.tokenizer.language
    settings["tokenizer"] = sets.captions.tokenizer.id
    metric = measure.kernel_metric
    needed = None if metric is None else metric.needs.frequencies
    if needed is not None:
        found = find_frequencies(sets.captions.frequencies, needed.stemmer)
        settings["frequencies"] = f"{found.name}-{found.fingerprint}"
    settings["version"] = _version.__version__
    return Signature(measure.name, tuple(settings.items()))


def _make_table(
    sets: CaptionSets,
    each: dict[str, Floats],
    whole: Mapping[str, float | None],
    signatures: dict[str, str],
    spreads: Sequence[str],
    beta_squared: float,
) -> ScoreTable:
    """Return the table; measures in `spreads` are combined with accuracy."""
    corpus: dict[str, float] = {}
    resampling: dict[str, Resampling] = {}
    for label, values in each.items():
        together = whole.get(label)
        corpus[label] = float(values.mean()) if together is None else together
        if together is None:
            resampling[label] = Resampling(_with_count(values), _pool_mean)

    def pool_f(sums: Floats) -> Floats:
        # F of means equals F of sums: both are divided by the same count.
        return f_measure(sums[..., 0], sums[..., 1], beta_squared) / sums[..., 2]

    for spread in spreads if "accuracy" in each else ():
        label = "f" if len(spreads) == 1 else f"f{spread.removeprefix('self-cider')}"
        both = np.stack([each[spread], each["accuracy"]], axis=1)
        resampling[label] = Resampling(_with_count(both), pool_f)
        corpus[label] = float(pool_f(resampling[label].rows.sum(axis=0)))
        each[label] = f_measure(each[spread], each["accuracy"], beta_squared)
        settings = (("beta_squared", f"{beta_squared:.12g}"), ("div", spread))
        signatures[label] = str(Signature("f", settings))
    return ScoreTable(
        ids=list(sets.images),
        image_count=len(sets.images),
        corpus=corpus,
        each=each,
        signatures=signatures,
        resampling=resampling,
    )


def _with_count(values: Floats) -> NDArray[np.float64]:
    """Append a column of ones, whose sum is the number of rows."""
    columns = values.reshape(len(values), -1)
    return np.concatenate([columns, np.ones((len(values), 1))], axis=1)


def _pool_mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1], np.float64)
