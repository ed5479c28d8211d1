"""Laws that every metric obeys; none can escape, since they run over METRICS.

BERTScore's precision and recall are columns of the rows that its F is made of (see
tests/metrics/test_bertscore.py), and so are those of chair-open: they would run the same model on
the same captions again. Metrics that need features of the images are held to the laws that can hold
for them in tests/metrics/test_clip.py.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cidery
from cidery.metrics import METRICS as NAMED
from cidery.metrics import get_metrics
from cidery.metrics.fluency import find_repeated_phrases
from support.captions import at_most
from support.example import Example
from support.markers import MODEL_EXTRAS, mark_metrics

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

WORDS = [
    "a",
    "the",
    "dog",
    "cat",
    "man",
    "woman",
    "red",
    "two",
    "on",
    "in",
    "runs",
    "sits",
    "near",
    "grass",
    "ball",
    "tree",
    "house",
    "x-ray",
    "dog's",
]
caption = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join)
any_caption = st.one_of(
    caption,
    st.sampled_from(
        ["", " ", ".", "a", "\u00a0", "5 1/2 dogs", "日本語 テキスト", "😀", "a\u00a0b"]
    ),
    st.text(max_size=30),
)
METRICS = dict(NAMED) | get_metrics(
    [
        "bleu-4:faithful=paper,smoothing=exponential,effective_order=yes",
        "irv-unigram:faithful=code",
        "rouge-1:measure=f,over=max",
        "rouge-2:over=max",
        "rouge-l:over=max",
        "rouge-s:over=max",
        "rouge-w:over=max",
    ]
)
"""Metrics by name, and settings that score by other code."""
SAME_ROWS = {
    *("bertscore-precision", "bertscore-recall"),
    *("chair-open-s", "chair-open-recall"),
    *("claims-precision", "claims-recall"),
}
"""Metrics that are columns of another one's rows."""
NAMES = [name for name in METRICS if name not in SAME_ROWS and METRICS[name].needs.settings is None]
JUDGING = [name for name in NAMES if not METRICS[name].needs.all_candidates]
"""Metrics of which a caption's score does not depend on other captions."""
TIES_BY_ORDER = {"meteor"}
"""Of references with the same score it takes the first, whose statistics go into the corpus score;
so that depends on the order of references where each caption's own score does not."""

LONG = {"meteor": 2_000}
"""Words of very long captions: METEOR weighs every pair of equal words, as the original does."""
SEVERAL_WINDOWS = 700
"""Words of very long captions for language models, which see 512 tokens at once."""


FEWER = {"claims": 8, "contextual": 12, "spice": 40}
"""Images for metrics of an extra that are slow: a language model or a parser comes first."""


@st.composite
def corpora(draw: Any, captions: Any = any_caption, least: Any = 2) -> Any:
    size = draw(st.integers(least, 6))
    references = {f"i{n}": draw(st.lists(captions, min_size=1, max_size=4)) for n in range(size)}
    candidates = {image: draw(captions) for image in references}
    return candidates, references


def law(
    most: int, names: Sequence[str] = NAMES, **strategies: Any
) -> Callable[[Callable[..., None]], Callable[[str], None]]:
    """Check every metric on drawn examples; on fewer where a model sees each caption."""

    def decorate(check: Callable[..., None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("name", mark_metrics(names))
        def test(name: str) -> None:
            @at_most(most if METRICS[name].needs.extra in (None, "meteor") else 8)
            @given(**strategies)
            def run(**drawn: Any) -> None:
                check(name, **drawn)

            run()

        return test

    return decorate


def frequencies(references: Any) -> Any:
    extra = {f"more{n}": [" ".join(WORDS[n : n + 5])] for n in range(10)}
    return cidery.DocumentFrequencies.from_references(references | extra)


def stemmed_frequencies(references: Any) -> Any:
    return cidery.DocumentFrequencies.from_references(references, stemmer="english")


def fixed(name: Any, references: Any) -> Any:
    """Settings that do not depend on which images are scored together."""
    needed = METRICS[name].needs.frequencies
    if needed is None:
        return {}
    stems = needed.stemmer is not None
    return {"frequencies": (stemmed_frequencies if stems else frequencies)(references)}


@law(40, corpus=corpora())
def test_scores_are_finite_and_in_range(name: Any, corpus: Any) -> None:
    table = cidery.score(*corpus, metrics=[name])
    low, high = METRICS[name].range
    for values in (table.each[name], np.asarray([table.corpus[name]])):
        assert np.isfinite(values).all()
        assert (values >= low).all()
        assert (values <= high * (1 + 1e-9)).all()


@law(25, JUDGING, corpus=corpora())
def test_split_equals_whole(name: Any, corpus: Any) -> None:
    candidates, references = corpus
    metric = METRICS[name]
    if hasattr(metric, "idf"):
        metric = replace(metric, idf=False)  # counted on the images that are scored together
    options = fixed(name, references)
    whole = cidery.score(candidates, references, metrics={name: metric}, **options)
    for position, image in enumerate(candidates):
        alone = cidery.score(
            {image: candidates[image]},
            {image: references[image]},
            metrics={name: metric},
            **options,
        )
        assert alone.each[name][0] == whole.each[name][position]


@law(25, corpus=corpora(), seed=st.randoms(use_true_random=False))
def test_order_of_images_and_references_does_not_matter(name: Any, corpus: Any, seed: Any) -> None:
    candidates, references = corpus
    before = cidery.score(candidates, references, metrics=[name])
    images = list(references)
    seed.shuffle(images)
    shuffled = {image: seed.sample(references[image], len(references[image])) for image in images}
    after = cidery.score(candidates, shuffled, metrics=[name])
    np.testing.assert_allclose(after.each[name], before.each[name], rtol=1e-12, atol=1e-15)
    if name in TIES_BY_ORDER:
        shuffled = {image: references[image] for image in images}
        after = cidery.score(candidates, shuffled, metrics=[name])
    assert after.corpus[name] == pytest.approx(before.corpus[name], rel=1e-12)


@law(25, JUDGING, corpus=corpora(captions=caption), other=caption)
def test_identity_scores_highest(name: Any, corpus: Any, other: Any) -> None:
    _, references = corpus
    single = {image: captions[:1] for image, captions in references.items()}
    if METRICS[name].needs.extra == "claims":  # it penalizes repetition in references, too
        words = [captions[0].split() for captions in single.values()]
        assume(not any(find_repeated_phrases([found], str) for found in words))
    options = fixed(name, single)
    same = cidery.score({i: c[0] for i, c in single.items()}, single, metrics=[name], **options)
    different = cidery.score(dict.fromkeys(single, other), single, metrics=[name], **options)
    better = -1 if METRICS[name].lower_is_better else 1
    others = better * different.each[name]
    assert (better * same.each[name] >= others - 1e-9 * abs(others) - 1e-12).all()


@pytest.mark.parametrize("name", mark_metrics(NAMES))
def test_threads_do_not_change_the_bits(name: Any, example: Example) -> None:
    candidates, references = example.many(FEWER.get(METRICS[name].needs.extra, 3000))
    one = cidery.score(candidates, references, metrics=[name], threads=1)
    for threads in (2, 7) if METRICS[name].needs.extra in MODEL_EXTRAS else (2, 3, 7):
        more = cidery.score(candidates, references, metrics=[name], threads=threads)
        assert more.each[name].tobytes() == one.each[name].tobytes()
        assert more.corpus == one.corpus


@pytest.mark.parametrize("name", mark_metrics(JUDGING))
def test_several_candidates_of_one_image_are_rows(name: Any, example: Example) -> None:
    candidates, references = example.many(FEWER.get(METRICS[name].needs.extra, 150))
    twice = {image: [caption, caption] for image, caption in candidates.items()}
    once = cidery.score(candidates, references, metrics=[name])
    table = cidery.score(twice, references, metrics=[name])
    assert len(table.ids) == 2 * len(once.ids)
    np.testing.assert_array_equal(table.each[name], np.repeat(once.each[name], 2))
    assert table.corpus[name] == pytest.approx(once.corpus[name], rel=1e-9)


@pytest.mark.parametrize("name", mark_metrics(NAMES))
def test_very_long_captions(name: Any, example: Example) -> None:
    candidates, references = example.many(3 if METRICS[name].needs.extra in MODEL_EXTRAS else 120)
    rng = np.random.default_rng(0)
    first, second = list(candidates)[:2]
    length = LONG.get(
        name, SEVERAL_WINDOWS if METRICS[name].needs.extra in MODEL_EXTRAS else 10_000
    )
    varied = " ".join(rng.choice(WORDS, length))
    candidates |= {first: varied, second: "dog " * length}
    references[first] = [*references[first], " ".join(rng.choice(WORDS, length))]
    values = cidery.score(candidates, references, metrics=[name]).each[name]
    assert np.isfinite(values).all()


@pytest.mark.parametrize("name", mark_metrics(NAMES))
def test_one_word_and_empty_captions(name: Any) -> None:
    references = {"a": ["dog", "a dog"], "b": ["", "cat"], "c": [""]}
    table = cidery.score({"a": "dog", "b": "", "c": ""}, references, metrics=[name])
    assert np.isfinite(table.each[name]).all()
    lower = METRICS[name].lower_is_better
    assert (
        (table.each[name][0] == 0)
        if lower
        else table.each[name][0] > 0
        or name.partition(":")[0]
        in (
            "rouge-2",
            "rouge-s",
        )
    )


def test_metrics_are_values() -> None:
    for metric in METRICS.values():
        assert pickle.loads(pickle.dumps(metric)) == metric
        assert hash(metric) == hash(type(metric)(**vars(metric)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_scores_in_a_forked_process(example: Example) -> None:
    candidates, references = example.many(2000)
    expected = cidery.score(candidates, references, metrics=["cider-d"]).corpus["cider-d"]
    child = os.fork()
    if child == 0:
        found = cidery.score(candidates, references, metrics=["cider-d"]).corpus["cider-d"]
        os._exit(0 if found == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
