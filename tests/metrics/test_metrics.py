"""Every metric against the plain formulas of `oracle.py`, on captions that hypothesis invents."""

from __future__ import annotations

import importlib
import math
import pickle
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cidery
from cidery.errors import SettingError
from cidery.metrics import FAMILIES, METRICS, get_metrics
from cidery.metrics.registry import LOCATIONS
from support import oracle
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

# Few words, so that n-grams meet, repeat and miss; "x-y" and "b's" have several \w+ parts.
words = st.sampled_from(["a", "b", "c", "d", "e", "x-y", "b's", "…"])
captions = st.lists(words, max_size=12)
images = st.lists(st.lists(captions, min_size=1, max_size=4), min_size=1, max_size=6)


@st.composite
def corpora(draw: Any) -> Any:
    references = draw(images)
    candidates = draw(st.lists(captions, min_size=len(references), max_size=len(references)))
    return candidates, references


def run(candidates: Any, references: Any, metric: Any, **settings: Any) -> Any:
    table = cidery.score(
        [" ".join(c) for c in candidates],
        [[" ".join(r) for r in image] for image in references],
        metrics=[metric],
        tokenizer="whitespace",
        **settings,
    )
    (label,) = table.corpus
    return table.corpus[label], table.each[label]


def assert_equal(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


@given(corpora(), st.sampled_from(["coco", "paper"]))
def test_cider_d_and_r(corpus: Any, faithful: Any) -> None:
    candidates, references = corpus
    plain = oracle.Cider(oracle.frequencies(references), len(references))
    coco = faithful == "coco"
    pairs = list(zip(candidates, references, strict=True))
    _, found = run(*corpus, cidery.CiderD(faithful=faithful, sigma=3.0))
    assert_equal(found, [plain.cider_d(c, refs, 3.0, coco) for c, refs in pairs])
    corpus_score, found = run(*corpus, cidery.CiderR(faithful=faithful, repetition=0.6))
    assert_equal(found, [plain.cider_r(c, refs, 0.6, coco) for c, refs in pairs])
    assert_equal(corpus_score, np.mean(found))


@given(corpora(), st.booleans(), st.booleans())
def test_cider(corpus: Any, best: Any, idf: Any) -> None:
    candidates, references = corpus
    plain = oracle.Cider(oracle.frequencies(references), len(references), idf)
    weights = (0.1, 0.2, 0.7)
    metric = cidery.Cider(
        n=3, stemmer=None, weights=weights, over="max" if best else "mean", idf=idf
    )
    _, found = run(candidates, references, metric)
    pairs = zip(candidates, references, strict=True)
    assert_equal(found, [plain.cider(c, refs, list(weights), best) for c, refs in pairs])


def test_cider_variants_of_appendix_viii() -> None:
    uniform = cidery.Cider()
    assert uniform.order_weights() == [0.25] * 4
    exponential = cidery.Cider(weights="exponential").order_weights()
    assert exponential == [2**n / 15 for n in range(4)]
    coco = cidery.Cider(faithful="coco")
    assert coco.stems is None
    _, ten = run(
        [["a", "b"]],
        [
            [["a", "b"], ["b", "a"]],
        ],
        coco,
        frequencies="references",
    )
    assert ten[0] == 0  # one image: every weight is log(1/1)


def test_cider_stems_words() -> None:
    captions = ["a dog runs", "a cat sleeps"]
    references = [["a dog running"], ["two cats sleeping"]]
    stemmed = cidery.score(captions, references, metrics=["cider"]).each["cider"]
    plain = cidery.score(captions, references, metrics={"cider": "cider:stemmer=none"}).each[
        "cider"
    ]
    assert (stemmed > plain).all()


@given(corpora(), st.sampled_from(["closest", "shortest", "average"]))
def test_bleu_rows_and_coco_constants(corpus: Any, reference_length: Any) -> None:
    candidates, references = corpus
    statistics = [
        [oracle.bleu_statistics(c, refs, n) for n in range(1, 5)]
        for c, refs in zip(candidates, references, strict=True)
    ]
    lengths = []
    for c, refs in zip(candidates, references, strict=True):
        sizes = [len(s) for s in refs]
        lengths.append(
            {
                "closest": min(sizes, key=lambda size: (abs(size - len(c)), size)),
                "shortest": min(sizes),
                "average": sum(sizes) / len(sizes),
            }[reference_length]
        )

    def coco(parts: Any, size: Any, wanted: Any, n: Any) -> Any:
        product = math.prod((m + 1e-15) / (t + 1e-9) for m, t in parts[:n])
        ratio = (size + 1e-15) / (wanted + 1e-9)
        return product ** (1 / n) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0)

    for n in range(1, 5):
        corpus_score, found = run(*corpus, cidery.Bleu(n, reference_length=reference_length))
        expected = [
            coco(parts, len(c), wanted, n)
            for parts, c, wanted in zip(statistics, candidates, lengths, strict=True)
        ]
        assert_equal(found, expected)
        pooled = [
            (sum(s[k][0] for s in statistics), sum(s[k][1] for s in statistics)) for k in range(4)
        ]
        size = sum(map(len, candidates))
        assert_equal(corpus_score, coco(pooled, size, sum(lengths), n))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 0.0),
        # matches 3/4 1/3 0/2 0/1, no brevity: lengths are equal
        ({"smoothing": "add-one"}, (3 / 4 * 2 / 4 * 1 / 3 * 1 / 2) ** 0.25),
        ({"smoothing": "epsilon"}, (3 / 4 * 1 / 3 * 0.1 / 2 * 0.1 / 1) ** 0.25),
        ({"smoothing": "exponential"}, (3 / 4 * 1 / 3 * 0.5 / 2 * 0.25 / 1) ** 0.25),
    ],
)
def test_bleu_smoothing_by_hand(settings: Any, expected: Any) -> None:
    metric = cidery.Bleu(4, faithful="paper", **settings)
    _, found = run([list("abxd")], [[list("abcd")]], metric)
    assert_equal(found, [expected])


def test_bleu_brevity_by_hand() -> None:
    metric = cidery.Bleu(1, faithful="paper")
    _, found = run([list("ab")], [[list("abcd")]], metric)
    assert_equal(found, [math.exp(1 - 4 / 2)])
    _, found = run([list("ab")], [[list("abcd")]], cidery.Bleu(1, faithful="paper", brevity=False))
    assert_equal(found, [1.0])


@given(corpora(), st.sampled_from([0, 1, 4, None]))
def test_rouge(corpus: Any, skip: Any) -> None:
    pairs = list(zip(*corpus, strict=True))
    _, found = run(*corpus, cidery.RougeL(faithful="paper"))
    assert_equal(found, [oracle.rouge_l(c, refs, 2.0) for c, refs in pairs])
    _, found = run(*corpus, cidery.RougeL(beta=1.2))
    # coco-caption: "".split(" ") is [""], one empty word
    filled = [(c or [""], [s or [""] for s in refs]) for c, refs in pairs]
    assert_equal(found, [oracle.rouge_l(c, refs, 1.2) for c, refs in filled])
    _, found = run(*corpus, cidery.RougeW(weight=1.5, beta=1.0))
    assert_equal(found, [oracle.rouge_w(c, refs, 1.5, 1.0) for c, refs in pairs])
    _, found = run(*corpus, cidery.RougeS(skip=skip, beta=3.0))
    assert_equal(found, [oracle.rouge_s(c, refs, skip, 3.0) for c, refs in pairs])
    for n in (1, 2, 3):
        _, found = run(*corpus, cidery.RougeN(n))
        assert_equal(found, [oracle.rouge_n(c, refs, n)[0] for c, refs in pairs])
        _, found = run(*corpus, cidery.RougeN(n, measure="f"))
        assert_equal(found, [oracle.rouge_n(c, refs, n)[1] for c, refs in pairs])


def test_longest_common_subsequence_beyond_one_machine_word() -> None:
    rng = np.random.default_rng(0)
    long = [[str(w) for w in rng.integers(0, 9, size)] for size in (63, 64, 65, 128, 300)]
    refs = [[str(w) for w in rng.integers(0, 9, 200)] for _ in range(3)]
    _, found = run(long, [refs] * len(long), cidery.RougeL(faithful="paper"))
    assert_equal(found, [oracle.rouge_l(c, refs, 2.0) for c in long])


def test_get_metrics_reads_names_families_and_settings() -> None:
    assert list(get_metrics("bleu")) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4"]
    assert get_metrics("cider-d:sigma=4.0,n=3") == {
        "cider-d:n=3,sigma=4": cidery.CiderD(sigma=4.0, n=3)
    }
    assert get_metrics("rouge-s:skip=none") == {"rouge-s:skip=none": cidery.RougeS(skip=None)}
    assert get_metrics("cider:idf=false") == {"cider:idf=no": cidery.Cider(idf=False)}
    assert list(get_metrics("bleu:brevity=no", faithful="paper")) == [
        f"bleu-{n}:brevity=no" for n in (1, 2, 3, 4)
    ]
    assert get_metrics("rouge-l:faithful=coco", faithful="paper") == {
        "rouge-l:faithful=coco": cidery.RougeL()
    }
    assert get_metrics("rouge-l", faithful="paper")["rouge-l"] == cidery.RougeL(faithful="paper")
    assert get_metrics("rouge-l", faithful="paper")["rouge-l"].beta == 2.0
    labels = list(get_metrics(["rouge-l", "rouge-l:beta=1", "rouge-l"]))
    assert labels == ["rouge-l", "rouge-l:beta=1"]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("sparkle", "unknown metric 'sparkle'; known: cider, cider-d"),
        ("cider-d:sigma", "expected setting=value, found 'sigma'"),
        ("cider-d:width=3", "cider-d has no setting 'width'; it has: n, sigma, faithful"),
        ("cider-d:sigma=wide", "cider-d: sigma must be a number, not 'wide'"),
        ("cider-d:sigma=-1", "sigma must lie between 0.001 and 1e\\+06, not -1.0"),
        ("cider-d:sigma=nan", "sigma must lie between"),
        ("rouge-l:beta=1e200", "beta must lie between"),
        ("cider:weights=linear", "weights must be"),
        ("cider:over=min", "over must be"),
        ("cider-r:repetition=1.5", "repetition must lie between 0 and 1, not 1.5"),
        ("bleu-4:n=2", "'bleu-4:n=2' is 'bleu-2'; use that name"),
        ("bleu-4:smoothing=epsilon", "coco-caption does not smooth"),
        (cidery.CiderD, "CiderD is a class; pass an object: CiderD"),
        (7, "a metric must be a name, a Metric or a function, not int"),
    ],
)
def test_get_metrics_explains(metric: Any, message: Any) -> None:
    with pytest.raises(SettingError, match=message.replace("(", r"\(")):
        get_metrics([metric])


def test_every_metric_documents_itself() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.paper
        assert type(metric).__doc__
        assert metric.range[0] < metric.range[1]


def test_labels_keep_settings() -> None:
    assert list(get_metrics(["rouge-l", cidery.RougeL(beta=2.0)])) == ["rouge-l", "rouge-l:beta=2"]
    assert list(get_metrics([cidery.RougeL(), cidery.RougeL(beta=2.0)])) == [
        "rouge-l:beta=1.2",
        "rouge-l:beta=2",
    ]
    assert list(get_metrics([cidery.RougeL(beta=2.0)])) == ["rouge-l"]
    assert list(get_metrics("consensus:keep=yes,encoder=mpnet")) == [
        "consensus:encoder=mpnet,keep=yes"
    ]
    assert list(get_metrics([cidery.Consensus(), cidery.Consensus(keep=True)])) == [
        "consensus:keep=no",
        "consensus:keep=yes",
    ]
    assert list(get_metrics(["rouge-l", "rouge-l:faithful=paper"])) == [
        "rouge-l",
        "rouge-l:faithful=paper",
    ]
    reward = cidery.Reward([["a dog"], ["a cat"]], {"rouge-l:beta=1": 1.0, "rouge-l": 0.5})
    assert list(pickle.loads(pickle.dumps(reward)).weights) == ["rouge-l:beta=1", "rouge-l"]


@pytest.mark.parametrize(
    "asked",
    ["cider-d:sigma=4.50,n=3", "cider:idf=false,weights=exponential", "meteor:table=x.table",
     "rouge-s:skip=none", "bleu-2:smoothing=epsilon,faithful=paper", "irv:beta=none,over=mean"],
)  # fmt: skip
def test_a_label_asks_for_the_same_metric(asked: Any) -> None:
    ((label, metric),) = get_metrics(asked).items()
    assert get_metrics(label) == {label: metric}


def test_registry_classes_and_public_names_agree() -> None:
    named: dict[str, list[str]] = {}
    for name, location in LOCATIONS.items():
        named.setdefault(location, []).append(name)
    for location, names in named.items():
        module, _, kind = location.partition(":")
        found = getattr(importlib.import_module(module), kind)
        assert found.__module__ == module
        assert [metric.name for metric in found.variants()] == names
        for package in (cidery, cidery.metrics):
            assert kind in package.__all__
            assert getattr(package, kind) is found
    public = [getattr(cidery, name) for name in cidery.__all__]
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, cidery.Metric)}
    assert kinds - {cidery.Metric} == {type(metric) for metric in METRICS.values()}
    for family, members in FAMILIES.items():
        assert family not in METRICS
        assert set(members) <= METRICS.keys()
    assert [*METRICS] == [*LOCATIONS] and len(METRICS) == len(LOCATIONS)
    with pytest.raises(KeyError):
        METRICS["bleu"]


IMPORTS = """
import sys
import cidery.cli
status = cidery.cli.main(["metrics", "{name}"])
from cidery.metrics import get_metrics
get_metrics("{name}")
print(*(name for name in sys.modules if name.startswith("cidery.")))
sys.exit(status)
"""
PARTS = {
    "ngram.cider", "ngram.bleu", "ngram.rouge", "meteor", "spice", "claims", "chair", "vocabulary",
    "contextual.irv", "contextual.bertscore", "contextual.consensus", "contextual.fense",
    "contextual.clip",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("cider-d", {"ngram.cider"}),
        ("bleu", {"ngram.bleu"}),
        ("meteor", {"meteor"}),
        ("spice", {"spice", "ngram.cider"}),
        ("consensus", {"contextual.consensus"}),
        ("clipscore", {"contextual.clip"}),
        ("chair-i", {"chair"}),
    ],
)
def test_a_name_imports_its_own_modules_only(name: str, parts: set[str]) -> None:
    code = IMPORTS.format(name=name)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = run.stdout.splitlines()[-1].split()
    found = {p for p in PARTS if any(f"{m}.".startswith(f"cidery.metrics.{p}.") for m in modules)}
    assert found == parts
    assert any(m.startswith("cidery.encoders") for m in modules) == ("contextual" in str(parts))


def test_public_names_can_be_imported() -> None:
    assert {"score", "compare", "Metric", "meta", "CiderD"} <= set(cidery.__all__)
    assert all(getattr(cidery, name) is not None for name in cidery.__all__)
    assert set(cidery.__all__) <= set(dir(cidery))


def test_every_metric_has_a_page() -> None:
    folder = Path(__file__).parents[2] / "docs"
    index = (folder / "index.md").read_text(encoding="utf-8")
    pages = "".join(page.read_text(encoding="utf-8") for page in folder.glob("metrics/*.md"))
    for name in METRICS:
        in_range = name in ("bleu-2", "bleu-3")  # bleu-1 … bleu-4
        assert in_range or f"`{name}`" in index, name
        assert re.search(rf"\b{name}\b", pages), name


def test_vocabulary_is_the_number_of_different_words(example: Example) -> None:
    candidates, references = example.many(30)
    table = cidery.score(candidates, references, "vocab")
    words = {word for words in cidery.tokenize(list(candidates.values())) for word in words}
    assert table.corpus["vocab"] == len(words)
    assert table.each["vocab"].sum() == pytest.approx(len(words))
    few = cidery.score(["a dog", "a a cat", ""], [["x"], ["x"], ["x"]], "vocab")
    assert few.corpus["vocab"] == 3
    assert few.each["vocab"].tolist() == [1.5, 1.5, 0.0]


@pytest.mark.parametrize("size", [63, 64, 65])
def test_long_and_short_captions_are_matched_alike(size: int) -> None:
    """Captions of up to 64 words have a bit per word; longer ones are matched by a table."""
    rng = np.random.default_rng(size)
    candidate, *references = (rng.choice(list("abcd"), size + i).tolist() for i in (0, 3, 70))
    each = cidery.score(
        {"x": " ".join(candidate)},
        {"x": [" ".join(words) for words in references]},
        ["rouge-l", "rouge-2"],
        tokenizer="whitespace",
    ).each

    def count(words: list[str]) -> Counter[tuple[str, ...]]:
        return Counter(pairwise(words))

    shared = sum((count(candidate) & count(words)).total() for words in references)
    total = sum(len(words) - 1 for words in references)
    assert each["rouge-2"][0] == pytest.approx(shared / total)
    best = [_common(candidate, words) for words in references]
    precision = max(best) / size
    recall = max(c / len(words) for c, words in zip(best, references, strict=True))
    beta = 1.2**2
    expected = (1 + beta) * precision * recall / (recall + beta * precision)
    assert each["rouge-l"][0] == pytest.approx(expected)


def _common(one: list[str], other: list[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for word in one:
        above = row.copy()
        for j, there in enumerate(other):
            row[j + 1] = above[j] + 1 if word == there else max(above[j + 1], row[j])
    return row[-1]
