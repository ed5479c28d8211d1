"""The metric of Yi, Deng and Hu 2020, checked by hand and by a plain version of its equations."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import Irv, IrvUnigram, meta
from cidery.encoders import Encoder, choose_beta, get_encoder
from cidery.errors import SettingError
from cidery.meta.scoring import CaptionScorer
from cidery.metrics.contextual.irv import TokenTable, combine, matched_recall
from cidery.scoring.pipeline import Pipeline
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")

CORNERS = {
    "cat": (1.0, 0.0, 0.0),
    "kitten": (0.8, 0.6, 0.0),
    "sofa": (0.0, 1.0, 0.0),
    "couch": (0.0, 0.8, 0.6),
    "the": (0.0, 0.0, 1.0),
}


def by_hand(captions: Any) -> Any:
    """An encoder with vectors that can be multiplied in the head."""
    return [(c.split(), np.asarray([CORNERS[w] for w in c.split()])) for c in captions]


def score(candidate: Any, known: Any, **settings: Any) -> Any:
    metric = Irv(encoder=by_hand, **({"beta": 0.5, "idf": False, "seed": None} | settings))
    return cidery.score({"x": candidate}, {"x": known}, metrics=[metric]).corpus["irv"]


def test_the_threshold() -> None:
    # kitten is near cat (0.8) and, at β 0.5, also near sofa (0.6).
    assert score("kitten", ["cat"]) == pytest.approx(0.8 * 0.8)
    assert score("kitten", ["cat"], beta=0.8) == 0  # not above β
    assert score("kitten", ["cat sofa"]) == pytest.approx(0.7 * 0.7)
    # Equation (3) divides by the tokens that match, equation (5) by all.
    assert score("cat", ["cat sofa"]) == pytest.approx(1 * 0.5)
    assert score("cat", ["cat sofa"], remove=False) == pytest.approx(1)


def test_stop_words_count_in_the_first_factor_only() -> None:
    assert score("the cat", ["the cat"]) == pytest.approx(1)
    assert score("the", ["the cat"], remove=False) == pytest.approx(1)
    assert score("the", ["the cat"]) == 0
    # couch is near the (0.6) for the first factor, but not for the second, which leaves it out.
    assert score("the", ["couch"], remove=False) == pytest.approx(0.6)
    assert score("the", ["couch"]) == 0
    assert score("cat", ["the"]) == 0  # nothing has content: the first factor alone


def test_combination() -> None:
    vectors = np.asarray(
        [CORNERS[w] for w in ("cat", "kitten", "sofa", "couch", "the")], np.float32
    )
    ids = np.arange(5)
    groups = [np.asarray(group) for group in ([0], [1, 2], [3, 4])]
    table = TokenTable(ids, np.zeros(5, bool), groups, vectors)
    assert combine(table, groups, 0.5).tolist() == [0, 2, 4]
    assert combine(table, groups, 0.9).tolist() == [0, 1, 2, 3, 4]
    assert combine(table, [groups[2], groups[1], groups[0]], 0.5).tolist() == [3, 4, 1]
    numbered = TokenTable(np.asarray([7, 8, 7, 9, 9]), np.zeros(5, bool), groups)
    # Both tokens 9 of the last caption mismatch the base, which holds none when it is compared.
    assert combine(numbered, groups, 0.0).tolist() == [0, 1, 3, 4]


def test_ablations_of_table_2() -> None:
    references = ["cat", "kitten sofa", "the couch"]
    combined = ["cat sofa the"]  # what combine() keeps of them
    assert score("sofa", references) == pytest.approx(score("sofa", combined))
    together = ["cat kitten sofa the couch"]
    assert score("sofa", references, over="concatenate") == (pytest.approx(score("sofa", together)))
    singles = [score("sofa", [reference]) for reference in references]
    assert score("sofa", references, over="max") == pytest.approx(max(singles))
    assert score("sofa", references, over="mean") == pytest.approx(np.mean(singles))


def test_idf_is_counted_on_reference_captions() -> None:
    captions = {"x": ["cat sofa"], "y": ["cat cat"], "z": ["the", "kitten"]}
    metric = Irv(encoder=by_hand, beta=0.7, remove=False)
    found = cidery.score(dict.fromkeys(captions, "kitten couch"), captions, metrics=[metric])
    cat, sofa = math.log10(4 / 2), math.log10(4 / 1)
    expected = (cat * 0.8 + sofa * 0.8) / (cat + sofa)
    assert found.each["irv"][0] == pytest.approx(expected)
    np.testing.assert_allclose(matched_recall(np.asarray([0.8, 0.0]), np.zeros(2)), 0.8)


def plain_unigram(candidate: Any, references: Any) -> Any:
    """Equations (1) to (6) for words, one by one, without idf."""
    base = list(references[0])
    for other in references[1:]:
        base += [word for word in other if word not in base[: len(base)]] if other else []
    matched = [word for word in base if word in candidate]
    content = [word for word in base if word not in cidery.IrvUnigram().stopped]
    first = 1.0 if matched else 0.0
    if not content:
        return first
    return first * sum(word in candidate for word in content) / len(content)


def test_unigrams_against_a_plain_version(example: Example) -> None:
    table = cidery.score(
        example.system_a, example.references, metrics=[IrvUnigram(idf=False, seed=None)]
    )
    for place, image in enumerate(table.ids):
        (candidate,) = cidery.tokenize([example.system_a[image]])
        references = cidery.tokenize(example.references[image])
        assert table.each["irv-unigram"][place] == pytest.approx(
            plain_unigram(candidate, references)
        )


def test_the_order_of_references() -> None:
    references = ["cat", "kitten sofa", "the couch"]
    orders = list(permutations(references))
    given = {round(score("sofa couch", list(order), beta=0.55), 9) for order in orders}
    drawn = {round(score("sofa couch", list(order), beta=0.55, seed=3), 9) for order in orders}
    assert len(given) > 1 and len(drawn) == 1
    seeds = {round(score("sofa couch", references, beta=0.55, seed=s), 9) for s in range(9)}
    assert len(seeds) > 1


def test_words_that_no_reference_has_are_no_match() -> None:
    """They share a number, which is none of the references'."""
    candidates = {"1": "two dogs", "2": "dogs two two", "3": "two a zebra"}
    references = {key: ["a zebra", "a zebra runs"] for key in candidates}
    table = cidery.score(candidates, references, metrics="irv-unigram")
    assert table.each["irv-unigram"].tolist() == [0, 0, 0.5]


def test_signature_and_settings(minilm: Encoder) -> None:
    table = cidery.score({"x": "a dog"}, {"x": ["a dog", "a puppy"]}, metrics=["irv"])
    assert table.signatures["irv"].startswith(
        "irv|encoder:minilm|device:cpu|layer:6|over:combine|remove:yes|idf:yes|seed:0|"
        f"beta:{choose_beta(minilm):g}|weights:53aa51172d14|kernel:{minilm.kernel}|"
        "long:split-512|refs:2|"
    )
    with pytest.raises(SettingError, match=r"^beta must lie between 0 and 1, not 2$"):
        Irv(beta=2)
    with pytest.raises(SettingError, match=r"^over must be one of combine, concatenate, max"):
        IrvUnigram(over="first")
    with pytest.raises(SettingError, match=r"^the encoder callable:.* has no default beta"):
        cidery.score({"x": "cat"}, {"x": ["cat"]}, metrics=[Irv(encoder=by_hand)])
    assert get_encoder(by_hand) == get_encoder(by_hand)


STOPPED = ("a", "on", ".", "A")
EDGES: dict[str, tuple[str, list[str]]] = {
    "repeated": ("the dog", ["the dog the dog the ball", "dog dog cat"]),
    "capitals": ("a Dog runs", ["A Dog runs on", "the dog"]),
    "punctuation": ("a dog , .", ["a dog , a cat .", "dogs !"]),
    "stop words only": ("a dog", ["a", "on ."]),
    "no match": ("zebra", ["a dog", "cats"]),
    "empty": ("", ["a dog", "cats"]),
    "identical": ("two dogs run", ["two dogs run"]),
}


def count_as_the_code(candidate: str, references: list[str], stopped: Any) -> float:
    """Return the score of the authors' run_metric_simple.py, word by word."""
    combined: list[str] = []
    for reference in references:
        combined += [w for w in dict.fromkeys(reference.split()) if w not in combined]
    content = [word for word in combined if word not in stopped]
    found = [word for word in candidate.split() if word not in stopped]
    return sum(word in found for word in content) / len(content) if content else 0.0


def test_the_authors_code_counts_words_once(example: Example, tmp_path: Path) -> None:
    candidates = {name: candidate for name, (candidate, _) in EDGES.items()} | example.system_a
    references = {name: group for name, (_, group) in EDGES.items()} | example.references
    file = tmp_path / "stop.txt"
    file.write_text("\n".join([*STOPPED, "a"]))
    tables = [
        cidery.score(candidates, references, metrics=[metric], tokenizer="whitespace")
        for metric in (
            IrvUnigram(faithful="code", stop_words=STOPPED),
            IrvUnigram(faithful="code", stop_words=str(file)),
            IrvUnigram(faithful="code", stop_words=file, idf=False, seed=3),  # type: ignore[arg-type]
        )
    ]
    expected = [
        count_as_the_code(candidates[image], list(references[image]), STOPPED)
        for image in tables[0].ids
    ]
    assert 0 in expected and 1 in expected
    for table in tables:
        assert table.each["irv-unigram"].tolist() == expected
        assert table.signatures == tables[0].signatures
    assert (
        tables[0]
        .signatures["irv-unigram"]
        .startswith("irv-unigram|faithful:code|stop_words:865e0287061f|refs:")
    )


def test_settings_of_the_authors_code(tmp_path: Path) -> None:
    metric = IrvUnigram(faithful="code")
    assert metric.settings() == {"faithful": "code"}
    assert not metric.needs.all_references and IrvUnigram().needs.all_references
    assert "faithful" not in IrvUnigram().settings()
    for settings in ({"over": "max"}, {"remove": False}):
        with pytest.raises(SettingError, match=r"^the authors' code combines references"):
            IrvUnigram(faithful="code", **settings)
    # The option for all metrics is of coco-caption and of papers.
    for mode in ("coco", "paper"):
        named = cidery.metrics.get_metrics(["irv-unigram", "rouge-l"], faithful=mode)
        assert named["irv-unigram"] == IrvUnigram()
        assert named["rouge-l"] == cidery.RougeL(faithful=mode)


def test_stop_words_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "stop words.txt"
    file.write_text("dog\nran\n", encoding="utf-8")
    captions: Any = {"x": "a dog ran."}, {"x": ["a dog ran far .", "far"]}
    metric = IrvUnigram(stop_words=str(file))
    table = cidery.score(*captions, metrics=[metric], tokenizer="whitespace")
    # a, far, far: punctuation never counts in the paper's mode.
    assert table.corpus["irv-unigram"] == pytest.approx(1 / 2)
    assert metric.needs.files == {"stop_words": str(file)}
    changed = table.signatures["irv-unigram"]
    file.write_text("dog\n", encoding="utf-8")
    table = cidery.score(*captions, metrics=[metric], tokenizer="whitespace")
    assert table.signatures["irv-unigram"] != changed
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        cidery.score(*captions, metrics=[IrvUnigram(stop_words="none.txt")])


def test_flickr8k_expert_as_the_paper_scores_it(shared: Path) -> None:
    """0.471 is published for the unigram version: τ-b with the mean of three ratings."""
    dataset = meta.read_dataset("flickr8k-expert", shared / "data")
    how: Any = {"mean_ratings": True, "resamples": 0}
    found = meta.evaluate(dataset, "irv-unigram", **how).results["irv-unigram"]
    assert found["tau_b"] == pytest.approx(0.4816, abs=5e-5)
    file = shared / "data" / "irv" / "stop_word_list.txt"
    metric = IrvUnigram(faithful="code", stop_words=str(file))
    agreement = meta.evaluate(dataset, metric, tokenizer="whitespace", **how)
    assert agreement.results["irv-unigram"]["tau_b"] == pytest.approx(0.470807262254, abs=1e-12)

    stopped = {*file.read_text().split()}
    judged = dataset.judged  # type: ignore[union-attr]
    expected = [
        count_as_the_code(caption, list(judged.references[document]), stopped)
        for caption, document in zip(judged.captions, judged.documents.tolist(), strict=True)
    ]
    scorer = CaptionScorer(Pipeline.choose(tokenizer="whitespace"))
    assert scorer.score(judged, {"": metric}).each[""].tolist() == expected
