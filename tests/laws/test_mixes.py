"""Whatever is computed together, in any order, gives every caption the bits that it gets alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cidery
from cidery.coco import (
    COCO,
    Bleu,
    Cider,
    CiderD,
    CiderR,
    COCOEvalCap,
    Meteor,
    PlainCider,
    Rouge,
    Spice,
)
from cidery.corpus import Corpus
from cidery.diversity import MEASURES, SelfCider
from cidery.metrics import METRICS, Metric
from cidery.metrics.base import TokenizedCandidates
from cidery.runtime import Workspace
from cidery.scoring.pipeline import Pipeline
from support.available import skip_unless_available
from support.captions import at_most
from support.example import Example
from support.markers import mark_extra

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

TOKENIZERS = ("ptb", "ptb-coco", "whitespace", "words")
IMAGES = 12
VARIANTS: tuple[Metric, ...] = (
    *(metric for metric in METRICS.values() if metric.needs.extra is None),
    cidery.Cider(stemmer=None),
    cidery.Cider(over="max"),
    cidery.Cider(idf=False),
    cidery.Cider(faithful="coco", weights="exponential"),
    cidery.CiderD(n=2),
    cidery.CiderD(sigma=2.0),
    cidery.CiderD(faithful="paper"),
    cidery.CiderR(repetition=0.5),
    cidery.CiderR(faithful="paper"),
    cidery.Bleu(2, reference_length="shortest"),
    cidery.Bleu(4, faithful="paper", smoothing="add-one"),
    cidery.RougeL(faithful="paper"),
    cidery.IrvUnigram(over="max"),
)
EXTRAS: dict[str, tuple[Metric, ...]] = {
    "meteor": (cidery.Meteor(), cidery.Meteor(paraphrases=False)),
    "contextual": (
        cidery.BertScore(),
        cidery.BertScore(measure="recall", idf=True),
        cidery.BertScore(layer=2),
        cidery.Irv(),
        cidery.Irv(over="max", idf=False),
        cidery.Consensus(),
        cidery.Consensus(lens=False),
    ),
    "spice": (
        cidery.Spice(),
        cidery.Spice(faithful="paper"),
        cidery.Spice(of="object", measure="recall"),
        cidery.Spider(),
        cidery.Spider(faithful="paper"),
    ),
    "claims": (cidery.Claims(), cidery.Claims(measure="recall")),
}


@dataclass(frozen=True)
class Job:
    """A metric, and all that its scores depend on besides captions."""

    metric: Metric
    frequencies: str
    """`references`, a shipped set, or `own`: counted on these references and some more."""
    tokenizer: str
    threads: int

    def count(self, references: dict[int, list[str]]) -> str | cidery.DocumentFrequencies:
        """Return the frequencies."""
        if self.frequencies != "own":
            return self.frequencies
        more = {f"more{n}": [f"a dog number {n}", "the cat"] for n in range(20)}
        needed = self.metric.needs.frequencies
        return cidery.DocumentFrequencies.from_references(
            references | more,
            tokenizer="ptb" if self.tokenizer == "ptb-coco" else self.tokenizer,
            stemmer=needed.stemmer if needed else None,
        )


def jobs_of(metrics: Sequence[Metric]) -> st.SearchStrategy[list[Job]]:
    """Draw runs of several jobs."""
    job = st.builds(
        Job,
        st.sampled_from(metrics),
        st.sampled_from(("references", "own", "coco-val2014")),
        st.sampled_from(TOKENIZERS),
        st.sampled_from((1, 2, 3)),
    ).filter(lambda job: job.frequencies != "coco-val2014" or job.tokenizer.startswith("ptb"))
    return st.lists(job, min_size=2, max_size=8)


def run(jobs: Sequence[Job], example: Example) -> list[bytes]:
    """Do jobs one after another in one workspace, on captions that are tokenized once."""
    candidates, references = example.many(IMAGES)
    corpus = Corpus.build(candidates, references)
    work = {threads: Workspace(threads) for threads in (1, 2, 3)}
    tokenized: dict[str, Any] = {}
    found = []
    for job in jobs:
        if job.tokenizer not in tokenized:
            given_references = Pipeline.choose(tokenizer=job.tokenizer).tokenize(corpus)
            captions = given_references.tokenizer(corpus.candidates)
            images = corpus.candidate_images.astype(np.uint32)
            tokenized[job.tokenizer] = given_references, TokenizedCandidates(captions, images)
        tokens, described = tokenized[job.tokenizer]
        prepared = job.metric.prepare(tokens.weighted_by(job.count(references)), work[job.threads])
        rows = prepared.measure(described, work[job.threads])
        found.append(job.metric.each(rows).tobytes())
    return found


def check_mix(jobs: Sequence[Job], example: Example) -> None:
    alone = [run([job], example)[0] for job in jobs]
    assert run(jobs, example) == alone
    assert run(jobs[::-1], example) == alone[::-1]


@at_most(60)
@given(jobs=jobs_of(VARIANTS))
def test_a_run_gives_the_bits_of_each_metric_alone(jobs: list[Job], example: Example) -> None:
    check_mix(jobs, example)


@pytest.mark.parametrize(
    "extra", [pytest.param(extra, marks=mark_extra(extra)) for extra in EXTRAS]
)
def test_a_run_with_metrics_of_an_extra(extra: str, example: Example) -> None:
    rng = random.Random(extra)
    for _ in range(2):
        metrics = [*EXTRAS[extra], cidery.CiderD(), cidery.RougeL()]
        rng.shuffle(metrics)
        jobs = [
            Job(metric, rng.choice(("references", "coco-val2014")), "ptb", rng.choice((1, 2, 3)))
            for metric in metrics
        ]
        check_mix(jobs, example)


@at_most(15)
@given(metrics=st.lists(st.sampled_from(VARIANTS), min_size=2, max_size=8, unique=True))
def test_score_gives_the_bits_of_each_metric_alone(metrics: list[Metric], example: Example) -> None:
    candidates, references = example.many(IMAGES)
    for tokenizer in TOKENIZERS:
        together = cidery.score(candidates, references, metrics, tokenizer=tokenizer)
        for label, metric in zip(together.each, metrics, strict=True):
            (alone,) = cidery.score(
                candidates, references, [metric], tokenizer=tokenizer, threads=1
            ).each.values()
            assert together.each[label].tobytes() == alone.tobytes()


DROP_IN: dict[str, Callable[[], Any]] = {
    "Bleu": lambda: Bleu(4),
    "Rouge": Rouge,
    "Cider": Cider,
    "Cider n=2": lambda: Cider(n=2),
    "Cider df": lambda: Cider(df="coco-val2014"),
    "PlainCider": PlainCider,
    "PlainCider df": lambda: PlainCider(df="coco-train2014"),
    "CiderD": CiderD,
    "CiderD val": lambda: CiderD(df="coco-val2014"),
    "CiderD train": lambda: CiderD(df="coco-train2014"),
    "CiderD sigma": lambda: CiderD(sigma=2.0),
    "CiderR": CiderR,
    "CiderR val": lambda: CiderR(df="coco-val2014", repetition=0.3),
}
OPTIONAL: dict[str, tuple[str, Callable[[], Any]]] = {
    "Meteor": ("meteor", Meteor),
    "Spice": ("spice", Spice),
}


def evaluate(names: Sequence[str], example: Example) -> dict[str, Any]:
    """Return what COCOEvalCap keeps of these scorers, in this order."""
    annotations = [
        {"image_id": image, "caption": caption}
        for image, captions in example.references.items()
        for caption in captions
    ]
    coco = COCO(annotations)
    results = coco.loadRes([{"image_id": i, "caption": c} for i, c in example.system_a.items()])
    known = DROP_IN | {name: make for name, (_, make) in OPTIONAL.items()}
    scorers = []
    for name in names:
        label: Any = [f"Bleu {n}" for n in range(1, 5)] if name == "Bleu" else name
        scorers.append((known[name](), label))
    evaluation = COCOEvalCap(coco, results, scorers=scorers, verbose=False)
    evaluation.evaluate()
    return {
        label: (evaluation.eval[label], [row[label] for row in evaluation.evalImgs])
        for label in evaluation.eval
    }


@at_most(12)
@given(names=st.permutations(list(DROP_IN)).flatmap(lambda order: st.just(order[:5])))
def test_drop_in_classes_give_their_own_scores_in_any_mix(
    names: list[str], example: Example
) -> None:
    together = evaluate(names, example)
    alone: dict[str, Any] = {}
    for name in names:
        alone |= evaluate([name], example)
    assert together == alone


@pytest.mark.model
def test_drop_in_classes_of_extras_in_a_mix(example: Example) -> None:
    for extra, _ in OPTIONAL.values():
        skip_unless_available(extra)
    names = ["Cider", "Spice", "CiderD val", "Meteor", "Rouge"]
    alone: dict[str, Any] = {}
    for name in names:
        alone |= evaluate([name], example)
    for order in (names, names[::-1]):
        np.testing.assert_equal(evaluate(order, example), alone)


def test_two_frequencies_in_one_evaluation(example: Example) -> None:
    names = ["CiderD", "CiderD val"]
    for order in (names, names[::-1]):
        found = {name: value for name, (value, _) in evaluate(order, example).items()}
        assert found == {
            "CiderD": pytest.approx(1.1376, abs=5e-5),
            "CiderD val": pytest.approx(1.0748, abs=5e-5),
        }


@at_most(15)
@given(metrics=st.lists(st.sampled_from(VARIANTS), min_size=2, max_size=5, unique=True))
def test_a_reward_adds_the_bits_of_each_metric_alone(
    metrics: list[Metric], example: Example
) -> None:
    candidates, references = example.many(IMAGES)
    ids, captions = list(candidates), list(candidates.values())
    weights = {metric: -1.0 if metric.lower_is_better else 1.0 for metric in metrics}
    mixed = cidery.Reward(references, weights)(ids, captions)
    total: Any = 0
    for number, metric in enumerate(metrics):
        value = cidery.Reward(references, {metric: weights[metric]})(ids, captions)
        total = value if number == 0 else total + value
    assert mixed.tobytes() == total.tobytes()


def test_measures_of_diversity_in_a_mix(example: Example) -> None:
    measures = [*(m for m in MEASURES.values() if m.name != "novel")]
    kernels = ["cider", "cider-d", "cider-r"]
    for order in (measures, measures[::-1]):
        together = cidery.measure_diversity(example.references, order)
        for measure in order:
            alone = cidery.measure_diversity(example.references, [measure])
            found = together.each[measure.name].tobytes()
            assert found == alone.each[measure.name].tobytes()
    values = {
        kernel: cidery.measure_diversity(example.references, [SelfCider(kernel)]).corpus
        for kernel in kernels
    }
    assert len({str(value) for value in values.values()}) == len(kernels)


def test_threads_of_python_may_share_prepared_references(example: Example) -> None:
    """One scorer, one reward, several systems at once: the bits of one after another."""
    candidates, references = example.many(60)
    names = ["cider", "cider-d", "cider-r", "bleu", "rouge-l", "irv-unigram"]
    mix = cidery.Reward(references, {"cider-d": 1.0, "bleu-4": 0.5, "rouge-l": 0.25}, threads=1)
    systems = [
        {
            image: list(candidates.values())[(place + shift) % 60]
            for place, image in enumerate(candidates)
        }
        for shift in range(12)
    ]

    def work(system: dict[int, str]) -> tuple[bytes, ...]:
        table = cidery.score(system, references, names, threads=1)
        rewards = mix(list(system), list(system.values()))
        return (*(values.tobytes() for values in table.each.values()), rewards.tobytes())

    expected = [work(system) for system in systems]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, systems)) == expected
