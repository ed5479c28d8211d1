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
from support.example import Example

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


def test_flickr8k_expert_as_the_paper_scores_it(shared: Path) -> None:
    """0.471 is published for the unigram version: τ with the mean of three ratings."""
    from scipy.stats import kendalltau

    dataset = meta.read_dataset("flickr8k-expert", shared / "data")
    ratings = dataset.ratings.reshape(-1, 3).mean(axis=1)
    scores = CaptionScorer().score(dataset.judged, {"": IrvUnigram()}).each[""]
    assert kendalltau(scores, ratings).statistic == pytest.approx(0.4816, abs=5e-4)
