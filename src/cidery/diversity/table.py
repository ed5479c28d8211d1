"""measure_diversity(): from sets of captions to a table, with accuracy beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cidery import _version
from cidery.captions.corpus import Corpus, ImageId, Missing, References
from cidery.captions.tokenizers import Tokenizer, TokenizerLike, get_tokenizer
from cidery.captions.workspace import Workspace
from cidery.diversity.kernels import Kernel, get_kernel
from cidery.diversity.measures import Measure, MeasureLike, SelfCider, get_measures
from cidery.diversity.references import count_references, score_references
from cidery.diversity.sets import (
    CaptionSets,
    Sets,
    TokenizedSets,
    Training,
    tokenize_training,
)
from cidery.errors import InputError, SettingError
from cidery.frequencies import DocumentFrequencies
from cidery.metrics import Metric, MetricLike, get_metrics
from cidery.metrics.base import GroupedCaptions, TokenizedReferences, find_frequencies
from cidery.scoring.scorer import FrequenciesLike, Scorer, read_frequencies
from cidery.scoring.tables import Resampling, ScoreTable, Signature
from cidery.statistics import Floats

AccuracyReferences: TypeAlias = References | Literal["leave-one-out"] | None

COUNTS = (2, 5, 8, 10)
"""Numbers of captions at which the paper looks (figure 6)."""
BETA_SQUARED = 5.0
"""β² of the F measure in the paper: accuracy counts more than diversity."""


def measure_diversity(
    sets: Sets,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    kernel: Kernel = "cider",
    frequencies: FrequenciesLike = "coco-train2014",
    references: AccuracyReferences = None,
    accuracy: MetricLike = "cider-d",
    beta_squared: float = BETA_SQUARED,
    training: Training | None = None,
    stop_words: str | tuple[str, ...] | None = None,
    tokenizer: TokenizerLike = "ptb",
    missing: Missing = "error",
    threads: int = 0,
) -> ScoreTable:
    """Measure how varied each image's captions are: one row per image, means in `corpus`.

    Args:
        sets: id -> captions, a list of lists, or `(id, caption)` rows; at least two per image.
        measures: names (`"self-cider"`, `"lsa"`, `"mbleu"`, `"distinct"`, `"unique"`, `"novel"`,
            `"vocabulary"`) or measure objects; by default all of them (novel with `training`).
        kernel: of Self-CIDEr: `"cider"`, `"cider-d"`, `"cider-r"`, or such a metric.
        frequencies: what n-grams are weighed with, for the kernel and for accuracy.
        references: adds `accuracy`, the mean of the image's captions against them, and, where
            Self-CIDEr is measured, `f`. `"leave-one-out"` scores each caption against the others
            of its set: for sets written by humans.
        accuracy: the metric of `accuracy`: a name, a metric object or a function.
        beta_squared: of `f`; above 1 it weighs accuracy more.
        training: captions a model has seen, by image or one by one; adds `novel`.
        stop_words: words that `lsa` ignores: `"english"` or a tuple of words.
        tokenizer: as in `score`.
        missing: `"skip"` leaves out images with fewer than two captions or without references.
        threads: 0 means one per core; any number gives the same bits.

    ```python
    table = cidery.measure_diversity({"img1": ["a cat", "a dog"]}, ["self-cider", "lsa", "mbleu"])
    table.corpus["self-cider"], table.each["self-cider"], table.interval("self-cider")
    ```
    """
    chosen = get_measures(measures, kernel=kernel, stop_words=stop_words)
    if training is not None and measures is None:
        chosen |= get_measures("novel")
    judge = _get_judge(accuracy) if references is not None else None
    against = _match_references(sets, references, missing)
    checked = CaptionSets.build(sets if against is None else _rows(against), missing=missing)
    cut = get_tokenizer(tokenizer)
    counted_on = read_frequencies(frequencies)
    weights = _weights(counted_on, references, against, checked, chosen, cut)
    tokenized = TokenizedSets(
        TokenizedReferences(
            GroupedCaptions(cut(checked.captions, threads), checked.offsets.astype(np.uint64)),
            cut,
            weights,
        ),
        checked.sizes,
        None if training is None else tokenize_training(training, cut),
    )
    work = Workspace(threads)
    each = {label: measure.measure(tokenized, work) for label, measure in chosen.items()}
    whole = {label: measure.whole(tokenized, work) for label, measure in chosen.items()}
    signatures = {label: str(_sign(m, tokenized)) for label, m in chosen.items()}
    if judge is not None:
        values, signature = _accuracies(
            judge, checked, against, tokenizer=cut, frequencies=counted_on, threads=threads
        )
        each["accuracy"] = tokenized.mean(values)
        signatures["accuracy"] = f"accuracy|metric:{signature}"
    return _make_table(checked, each, whole, signatures, beta_squared)


def f_measure(diversity: Any, accuracy: Any, beta_squared: float = BETA_SQUARED) -> Floats:
    """Combine diversity and accuracy: (1 + β²) div acc / (β² div + acc); 0 where both are 0.

    Wang and Chan 2019, section 4.2, print the formula with a sum in the numerator; this is the F
    measure that they describe. Accuracy is on the scale of CIDEr-D, 0 to 10, as in their figures.

    ```python
    f_measure(0.8, 0.9)   # 0.8816…
    ```
    """
    div, acc = np.asarray(diversity, np.float64), np.asarray(accuracy, np.float64)
    below = beta_squared * div + acc
    above = (1 + beta_squared) * div * acc
    return np.divide(above, below, out=np.zeros(np.shape(below)), where=below > 0)


def diversity_by_count(
    sets: Sets,
    references: References,
    counts: Sequence[int] | None = None,
    measures: MeasureLike | Iterable[MeasureLike] | None = ("self-cider", "lsa"),
    *,
    kernel: Kernel = "cider",
    frequencies: FrequenciesLike = "coco-train2014",
    accuracy: MetricLike = "cider-d",
    beta_squared: float = BETA_SQUARED,
    tokenizer: TokenizerLike = "ptb",
    missing: Missing = "error",
    threads: int = 0,
) -> dict[int, ScoreTable]:
    """Measure diversity of each image's best 2, 5, 8, 10 captions: figure 6 of Wang and Chan 2019.

    Captions are ranked by accuracy, equally good ones in the order given. Without `counts`, those
    of the paper are taken that every image reaches, and the size of the smallest set. The other
    arguments are those of `measure_diversity`.

    ```python
    curve = diversity_by_count(sets, references, counts=(2, 5))
    [table.corpus["self-cider"] for table in curve.values()]
    ```
    """
    against = _match_references(sets, references, missing)
    if against is None:
        raise SettingError("diversity_by_count ranks captions by accuracy and needs references")
    checked = CaptionSets.build(_rows(against), missing=missing)
    fewest = int(checked.sizes.min())
    if counts is None:
        counts = [*(count for count in COUNTS if count < fewest), fewest]
    if not counts or min(counts) < 2 or max(counts) > fewest:
        image = checked.images[int(checked.sizes.argmin())]
        raise InputError(
            f"counts lie between 2 and the {fewest} captions of image {image!r}, not {list(counts)}"
        )
    values, _ = _accuracies(
        _get_judge(accuracy),
        checked,
        against,
        tokenizer=get_tokenizer(tokenizer),
        frequencies=read_frequencies(frequencies),
        threads=threads,
    )
    ranked = {
        image: [
            captions[i] for i in np.argsort(-values[start : start + len(captions)], kind="stable")
        ]
        for image, start, captions in zip(
            checked.images, checked.offsets.tolist(), checked.groups(), strict=False
        )
    }
    return {
        count: measure_diversity(
            {image: captions[:count] for image, captions in ranked.items()},
            measures,
            kernel=kernel,
            frequencies=frequencies,
            references=references,
            accuracy=accuracy,
            beta_squared=beta_squared,
            tokenizer=tokenizer,
            missing="skip",
            threads=threads,
        )
        for count in counts
    }


def _get_judge(accuracy: MetricLike) -> Metric:
    judges = get_metrics(accuracy)
    if len(judges) > 1:
        raise SettingError(f"accuracy is one metric, not {', '.join(judges)}")
    return next(iter(judges.values()))


def _match_references(
    sets: Sets, references: AccuracyReferences, missing: Missing
) -> Corpus | None:
    """Return sets and references as one corpus; None where there are no references to match."""
    if references is None or isinstance(references, str):
        if isinstance(references, str) and references != "leave-one-out":
            raise SettingError(f'references are captions or "leave-one-out", not {references!r}')
        return None
    CaptionSets.build(sets, missing=missing)  # says what is wrong with the sets themselves
    return Corpus.build(sets, references, missing=missing, candidates_name="captions")


def match_references(
    sets: Sets, references: References, missing: Missing = "error"
) -> dict[ImageId, list[str]]:
    """Return the references of the sets' images: humans on the same images.

    ```python
    humans = measure_diversity(match_references(sets, references), references="leave-one-out")
    ```
    """
    corpus = Corpus.build(sets, references, missing=missing, candidates_name="captions")
    bounds = corpus.reference_offsets.tolist()
    return {
        image: corpus.references[a:b]
        for image, (a, b) in zip(corpus.images, pairwise(bounds), strict=True)
    }


def _rows(corpus: Corpus) -> list[tuple[Any, str]]:
    return list(zip(corpus.candidate_ids, corpus.candidates, strict=True))


def _weights(
    frequencies: str | DocumentFrequencies,
    references: AccuracyReferences,
    against: Corpus | None,
    sets: CaptionSets,
    measures: Mapping[str, Measure],
    tokenizer: Tokenizer,
) -> str | DocumentFrequencies:
    """Return the kernel's frequencies; counted on the references where that is asked for."""
    if frequencies != "references":
        return frequencies
    if references is None:
        raise SettingError(
            'frequencies="references" counts on the references; pass references=… '
            "(--references FILE), a shipped set or a DocumentFrequencies"
        )
    counted = sets
    if against is not None:
        counted = CaptionSets(against.images, against.references, against.reference_offsets)
    kernel = next((m.kernel for m in measures.values() if isinstance(m, SelfCider)), "cider")
    metric = get_kernel(kernel)
    return count_references(counted, tokenizer, metric.stems, metric.n)


def _accuracies(
    judge: Metric,
    sets: CaptionSets,
    against: Corpus | None,
    *,
    tokenizer: Tokenizer,
    frequencies: str | DocumentFrequencies,
    threads: int,
) -> tuple[Floats, str]:
    """Return the accuracy of each caption, in the order of the sets, and its signature."""
    if against is None:
        groups = dict(zip(sets.images, sets.groups(), strict=True))
        table = score_references(
            groups, judge, tokenizer=tokenizer, frequencies=frequencies, threads=threads
        )
        return table.each[judge.name], table.signatures[judge.name]
    scorer = Scorer.build(
        against, {judge.name: judge}, tokenizer=tokenizer, frequencies=frequencies, threads=threads
    )
    table = scorer.score(against.candidates, against.candidate_images, against.candidate_ids)
    # Rows of one image may lie apart; sets gather them in order of first occurrence.
    order: dict[Any, list[int]] = {}
    for place, image in enumerate(against.candidate_ids):
        order.setdefault(image, []).append(place)
    places = np.concatenate([np.asarray(p, np.intp) for p in order.values() if len(p) > 1])
    return table.each[judge.name][places], table.signatures[judge.name]


def _sign(measure: Measure, sets: TokenizedSets) -> Signature:
    fewest, most = int(sets.sizes.min()), int(sets.sizes.max())
    settings = measure.settings()
    settings["captions"] = str(most) if fewest == most else f"{fewest}-{most}"
    settings["tokenizer"] = sets.captions.tokenizer.id
    metric = measure.kernel_metric
    if metric is not None and metric.uses_frequencies:
        found = find_frequencies(sets.captions.frequencies, metric.stems)
        settings["frequencies"] = f"{found.name}-{found.fingerprint}"
    settings["version"] = _version.__version__
    return Signature(measure.name, tuple(settings.items()))


def _make_table(
    sets: CaptionSets,
    each: dict[str, Floats],
    whole: Mapping[str, float | None],
    signatures: dict[str, str],
    beta_squared: float,
) -> ScoreTable:
    corpus: dict[str, float] = {}
    resampling: dict[str, Resampling] = {}
    for label, values in each.items():
        together = whole.get(label)
        corpus[label] = float(values.mean()) if together is None else together
        if together is None:
            resampling[label] = Resampling(_with_count(values), _pool_mean)
    if "accuracy" in each and "self-cider" in each:
        both = np.stack([each["self-cider"], each["accuracy"]], axis=1)

        def pool_f(sums: Floats) -> Floats:
            # F is the same function of means as of sums: both are divided by one count.
            return f_measure(sums[..., 0], sums[..., 1], beta_squared) / sums[..., 2]

        resampling["f"] = Resampling(_with_count(both), pool_f)
        corpus["f"] = float(pool_f(resampling["f"].rows.sum(axis=0)))
        each["f"] = f_measure(each["self-cider"], each["accuracy"], beta_squared)
        signatures["f"] = str(
            Signature("f", (("beta_squared", f"{beta_squared:.12g}"), ("div", "self-cider")))
        )
    return ScoreTable(
        ids=list(sets.images),
        image_count=len(sets.images),
        corpus=corpus,
        each=each,
        signatures=signatures,
        resampling=resampling,
    )


def _with_count(values: Floats) -> NDArray[np.float64]:
    """Append a column of ones, so that sums of rows know how many they are."""
    columns = values.reshape(len(values), -1)
    return np.concatenate([columns, np.ones((len(values), 1))], axis=1)


def _pool_mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1], np.float64)
