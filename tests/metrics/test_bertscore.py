"""BERTScore is that of the package bert_score, with the same model and layer."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import BertScore, storage
from cidery.corpus import Corpus
from cidery.errors import DataError, SettingError
from cidery.meta.protocols.references import find_pooling
from cidery.metrics import METRICS
from cidery.scoring.pipeline import Pipeline
from support.example import Example

NAMES = ("bertscore-precision", "bertscore-recall", "bertscore")
ODD = {
    "empty": ("", ["a dog runs", "the dog"]),
    "blank": ("  ", ["a cat"]),
    "empty reference": ("a dog", ["", "a dog runs"]),
    "only an empty one": ("a dog", [""]),
    "long": ("a red bus " * 150, ["a red bus on the street"]),
    "odd": ("Two DOGS' toys; 5½ kg — 犬が走る 😀", ["two dogs play", "犬"]),
    "same": ("a dog runs", ["a dog runs"]),
}

pytestmark = [
    pytest.mark.usefixtures("minilm"),
    pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning"),
]


@pytest.fixture(scope="module")
def corpus(example: Example) -> Any:
    images = list(example.references)[:12]
    candidates = {i: example.system_a[i] for i in images} | {k: c for k, (c, _) in ODD.items()}
    references = {i: example.references[i] for i in images} | {k: r for k, (_, r) in ODD.items()}
    return candidates, {key: references[key] for key in candidates}


@pytest.fixture(scope="module")
def package_scores(corpus: Any) -> Any:
    """A function that gives precision, recall and F of the package, float64[captions, 3]."""
    bert_score = pytest.importorskip("bert_score", reason="bert_score is not installed")
    folder = str(storage.find_model("minilm"))

    def score(layer: Any, idf: Any, corpus: Any = corpus, **options: Any) -> Any:
        candidates, references = corpus
        found = bert_score.score(
            list(candidates.values()),
            list(references.values()),
            model_type=folder,
            num_layers=layer,
            idf=idf,
            nthreads=0,
            device="cpu",
            batch_size=4,  # captions of about one length: all of a batch are padded to the longest
            **options,
        )
        return np.stack([values.numpy() for values in found], axis=1)

    return score


def score_all(corpus: Any, **settings: Any) -> Any:
    metrics = [BertScore(measure=m, **settings) for m in ("precision", "recall", "f")]
    table = cidery.score(*corpus, metrics=metrics)
    return np.stack([table.each[name] for name in NAMES], axis=1)


@pytest.mark.parametrize(("layer", "idf"), [(6, False), (3, True), (0, False)])
def test_equal_to_the_package(corpus: Any, package_scores: Any, layer: Any, idf: Any) -> None:
    expected = package_scores(layer, idf)
    np.testing.assert_allclose(score_all(corpus, layer=layer, idf=idf), expected, atol=1e-5)


def test_alone_the_package_does_not_pad() -> None:
    """In company it counts a similarity below 0 as 0; so its score depends on other captions."""
    bert_score = pytest.importorskip("bert_score", reason="bert_score is not installed")
    folder = str(storage.find_model("minilm"))
    pair = "A teenager slides down a handrail.", "Two donkeys wear straw hats."
    long = " ".join(["a very long caption of a dog"] * 8)

    def score(*pairs: Any) -> Any:
        candidates, references = map(list, zip(*pairs, strict=True))
        found = bert_score.score(candidates, references, folder, num_layers=6, device="cpu")
        return float(found[2][0])

    (mine,) = cidery.score([pair[0]], [[pair[1]]], metrics=[BertScore(layer=6)]).each["bertscore"]
    assert mine == pytest.approx(score(pair), abs=1e-5)
    assert score(pair, (long, long)) > mine + 1e-4


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")
def test_rescaling_is_that_of_the_package(corpus: Any, package_scores: Any, tmp_path: Path) -> None:
    short = [key for key in corpus[0] if key != "long"][-10:]  # each score is rescaled by itself
    corpus = tuple({key: side[key] for key in short} for side in corpus)
    path = tmp_path / "baseline.tsv"
    lines = [f"{layer},0.{layer}1,0.{layer}2,0.{layer}3" for layer in range(7)]
    path.write_text("\n".join(["LAYER,P,R,F", *lines]) + "\n")
    rescaling = {"rescale_with_baseline": True, "baseline_path": str(path), "lang": "en"}
    expected = package_scores(6, False, corpus, **rescaling)
    found = score_all(corpus, layer=6, baseline=str(path))
    np.testing.assert_allclose(found, expected, atol=3e-5)  # 1e-5, over 1 - 0.61
    np.testing.assert_array_equal(found, score_all(corpus, baseline=(0.61, 0.62, 0.63)))
    assert BertScore(baseline=(0.5, 0.5, 0.5)).range == (-3.0, 1.0)


@pytest.mark.filterwarnings("ignore::cidery.errors.LanguageWarning")
def test_mean_and_max_over_references(corpus: Any) -> None:
    candidates, references = corpus
    by_hand = {"max": [], "mean": []}
    for key, caption in candidates.items():
        group = references[key]
        singles = dict(enumerate(group))
        same = dict.fromkeys(singles, caption)
        values = score_all((same, {place: [text] for place, text in singles.items()}))
        by_hand["max"].append(values.max(axis=0))
        by_hand["mean"].append(values.mean(axis=0))
    for over, expected in by_hand.items():
        np.testing.assert_allclose(score_all(corpus, over=over), expected, rtol=1e-12)
    assert find_pooling(BertScore(over="mean")) == "mean"
    assert find_pooling(BertScore(idf=True)) is None


def test_the_three_share_their_rows(corpus: Any) -> None:
    table = cidery.score(*corpus, metrics=list(NAMES))
    assert list(table.corpus) == list(NAMES)
    scorer = Pipeline.choose(list(NAMES)).prepare(Corpus.build(*corpus))
    rows = scorer.measure(["a dog", "a cat"], [0, 1])
    assert rows["bertscore"] is rows["bertscore-precision"] is rows["bertscore-recall"]
    for name in NAMES:
        assert table.corpus[name] == pytest.approx(table.each[name].mean())
        assert METRICS[name].name == name
    recall = cidery.score(*corpus, metrics="bertscore-recall:layer=3").corpus
    assert recall["bertscore-recall:layer=3"] != table.corpus["bertscore-recall"]


def test_signatures_tell_model_and_layer(corpus: Any) -> None:
    (signature,) = cidery.score(*corpus, metrics=["bertscore"]).signatures.values()
    assert signature.startswith("bertscore|encoder:minilm|device:cpu|layer:6|measure:f|over:max|")
    assert "|weights:53aa51172d14|kernel:" in signature


def test_rewards_and_comparisons(corpus: Any) -> None:
    candidates, references = corpus
    scored = cidery.score(candidates, references, metrics="bertscore").each["bertscore"]
    reward = cidery.Reward(references, "bertscore")
    np.testing.assert_array_equal(reward(list(candidates), list(candidates.values())), scored)
    tokens = [caption.split() for caption in candidates.values()]
    assert np.isfinite(reward(list(candidates), tokens)).all()
    vocabulary = ["<pad>", "a", "dog", "runs"]
    ids = cidery.Reward({"x": ["a dog"]}, "bertscore", vocabulary=vocabulary, pad=0)
    assert ids(["x", "x"], np.asarray([[1, 2, 0], [1, 3, 3]]))[0] == pytest.approx(1)
    shuffled = dict(zip(candidates, reversed(candidates.values()), strict=True))
    compared = cidery.compare(
        {"one": candidates, "other": shuffled}, references, "bertscore", resamples=50
    )
    assert compared.tests["bertscore"]["one", "other"].difference > 0
    assert pickle.loads(pickle.dumps(BertScore(encoder="mpnet"))) == BertScore(encoder="mpnet")


def test_a_function_as_encoder(corpus: Any) -> None:
    def letters(captions: Any) -> Any:
        return [(c.split(), np.asarray([[ord(w[0]), len(w)] for w in c.split()])) for c in captions]

    metric = BertScore(encoder=letters, layer=None)
    table = cidery.score(*corpus, metrics=[metric])
    assert "encoder:callable:" in table.signatures["bertscore"]
    assert table.each["bertscore"][list(corpus[0]).index("same")] == pytest.approx(1)


def test_captions_that_share_nothing_score_0() -> None:
    places = {word: place for place, word in enumerate(["a", "dog", "runs", "two", "buses"])}

    def name(captions: Any) -> Any:
        return [(c.split(), np.eye(5)[[places[w] for w in c.split()]]) for c in captions]

    corpus = ({"1": "two buses", "2": "a dog"}, {"1": ["a dog runs"], "2": ["a dog runs"]})
    np.testing.assert_allclose(score_all(corpus, encoder=name), [[0, 0, 0], [1, 2 / 3, 0.8]])


def test_settings_that_cannot_be(tmp_path: Path, corpus: Any) -> None:
    with pytest.raises(
        SettingError, match=r"^measure must be one of f, precision, recall, not 'x'"
    ):
        BertScore(measure="x")
    with pytest.raises(SettingError, match=r"^over must be one of max, mean, not 'sum'$"):
        BertScore(over="sum")
    with pytest.raises(SettingError, match=r"^baseline must be three numbers below 1, not \(1.0,"):
        BertScore(baseline=(1.0, 0.0, 0.0))
    with pytest.raises(
        SettingError, match=r"^baseline must be three numbers below 1, not \['0'\]$"
    ):
        BertScore(baseline=["0"])
    path = tmp_path / "baseline.tsv"
    path.write_text("LAYER,P,R,F\n1,0.1,0.1,0.1\n")
    with pytest.raises(DataError, match=r"baseline\.tsv has no baseline for layer 6$"):
        cidery.score(*corpus, metrics=[BertScore(baseline=str(path))])
    path.write_text("LAYER,P,R,F\n6,1.0,0.1,0.1\n")
    with pytest.raises(
        DataError, match=r"tsv, layer 6: expected numbers below 1, not \(1\.0, 0\.1"
    ):
        cidery.score(*corpus, metrics=[BertScore(baseline=path)])
    for content in (b"layer P R F\n1 0.1 0.1 0.1\n", b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"expected the columns LAYER, P, R and F$"):
            cidery.score(*corpus, metrics=[BertScore(baseline=str(path))])
    assert dataclasses.replace(BertScore(), encoder=tmp_path).encoder == str(tmp_path)
