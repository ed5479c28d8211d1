"""Agreement with people, on judgments that the tests make."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cidery
from cidery import METRICS, Bleu, Cider, meta
from cidery.cli import main
from cidery.errors import CideryError, DataWarning, FormatError, InputError, SettingError
from cidery.meta.protocols.base import count_hits
from cidery.meta.protocols.references import find_pooling
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Undecided
from support import judged as made
from support.example import Example
from support.markers import MODEL_EXTRAS, mark_extra

COCO: Any = {"frequencies": "coco-val2014"}
WORDS = ["rouge-l", "bleu-1"]


@pytest.fixture
def pairs(tmp_path: Path, example: Example) -> meta.Pairs:
    found = meta.read_dataset(
        "judgments", made.write_pairs(tmp_path / "p.jsonl", example.references)
    )
    assert isinstance(found, meta.Pairs)
    return found


@pytest.fixture
def triplets(tmp_path: Path, example: Example) -> meta.Pairs:
    path = made.write_triplets(tmp_path / "t.jsonl", example.references)
    found = meta.read_dataset("judgments", path)
    assert isinstance(found, meta.Pairs)
    return found


@pytest.fixture
def ratings(tmp_path: Path, example: Example) -> meta.Ratings:
    path = made.write_ratings(tmp_path / "r.jsonl", example.references)
    found = meta.read_dataset("judgments", path)
    assert isinstance(found, meta.Ratings)
    return found


@pytest.fixture
def sets(tmp_path: Path, example: Example) -> meta.Sets:
    found = meta.read_dataset(
        "judgments", made.write_sets(tmp_path / "s.jsonl", example.references)
    )
    assert isinstance(found, meta.Sets)
    return found


def count_shared(candidate: str, references: list[str]) -> float:
    """A metric as people write one: the words shared with any reference."""
    return float(len({*candidate.split()} & {word for text in references for word in text.split()}))


def count_words(candidate: str, references: list[str]) -> float:
    return float(len(candidate.split()))


def make_pairs(
    captions: list[str], votes: NDArray[np.int64], systems: list[tuple[str, str]]
) -> meta.Pairs:
    """Two captions per image, one after the other, with a reference each image."""
    count = len(votes)
    references = [[f"reference number {place}"] for place in range(count)]
    documents = np.repeat(np.arange(count), 2)
    judged = meta.JudgedCaptions(captions, documents, references, np.arange(count))
    first = 2 * np.arange(count)
    return meta.Pairs("made", judged, first, first + 1, {"preference": votes}, systems=systems)


# Pairs


def test_accuracy_by_hand(pairs: meta.Pairs) -> None:
    found = meta.evaluate(pairs, {"mine": count_shared}).results["mine"]
    hits = []
    for first, second, votes in zip(
        pairs.first, pairs.second, pairs.votes["preference"], strict=True
    ):
        references = list(pairs.judged.references[pairs.judged.documents[first]])
        one, other = (count_shared(pairs.judged.captions[i], references) for i in (first, second))
        hits.append(np.sign(one - other) == np.sign(votes))
    assert found["accuracy"] == np.mean(hits)
    assert found["pairs"] == 72
    assert found["correct"] == sum(hits)
    assert found["tied"] == 0
    assert found["accuracy_low"] < found["accuracy"] < found["accuracy_high"]
    for kind in ("HC", "HI"):
        chosen = [hit for hit, k in zip(hits, pairs.kinds, strict=True) if k == kind]
        assert found[f"accuracy_{kind}"] == np.mean(chosen)


def test_ties_are_a_named_choice() -> None:
    preferred, votes = np.asarray([1.0, 0.0, -1.0, 2.0]), np.asarray([3, 1, 2, 0])
    expected: dict[Undecided, tuple[float, float]] = {
        "wrong": (1.0, 3.0),
        "half": (1.5, 3.0),
        "drop": (1.0, 2.0),
    }
    for undecided, sums in expected.items():
        hits, trials = count_hits(preferred, votes, undecided)
        assert (hits.sum(), trials.sum()) == sums


def test_people_who_are_tied_are_dropped_and_counted(pairs: meta.Pairs) -> None:
    votes = pairs.votes["preference"].copy()
    votes[:10] = 0
    tied = replace(pairs, votes={"preference": votes})
    found = meta.evaluate(tied, WORDS, resamples=0).results["rouge-l"]
    assert (found["pairs"], found["tied"]) == (62, 10)
    rest = meta.evaluate(pairs.take(np.arange(10, 72)), WORDS, resamples=0).results["rouge-l"]
    assert rest["accuracy"] == found["accuracy"]


def test_triplets_vote_by_majority(triplets: meta.Pairs) -> None:
    """Three votes make a triplet's, the triplets of a pair make the winner."""
    assert triplets.triplets is not None
    assert triplets.triplets.shape == (72, 4)
    assert (triplets.triplets[:, 0] == 0).all()  # votes of 0, 1 and -1
    np.testing.assert_array_equal(triplets.votes["triplets"], triplets.triplets.sum(axis=1))
    assert meta.evaluate(triplets, WORDS).protocol == "triplets"


def test_human_performance_on_halves(triplets: meta.Pairs) -> None:
    winners = np.sign(triplets.votes["triplets"]).astype(np.int8)
    sure = replace(triplets, triplets=np.tile(winners[:, None], (1, 4)))
    found = meta.evaluate(sure, WORDS, protocol="human").results
    assert found["human"]["accuracy"] == 1.0
    assert 0.7 < found["rouge-l"]["accuracy"] < 1.0
    rng = np.random.default_rng(0)
    guessed = replace(triplets, triplets=rng.choice([-1, 1], (72, 4)).astype(np.int8))
    assert meta.evaluate(guessed, WORDS, protocol="human").results["human"]["accuracy"] < 0.5


def test_human_performance_needs_triplets(pairs: meta.Pairs) -> None:
    with pytest.raises(SettingError, match="has no votes by reference"):
        meta.evaluate(pairs, WORDS, protocol="human")


def test_wins(pairs: meta.Pairs) -> None:
    found = meta.evaluate(pairs, WORDS, protocol="wins").results
    people = {"wins_other": 0.0, "wins_own": 1.0, "balanced_other": 0.0, "balanced_own": 1.0}
    assert {name: found["human"][name] for name in people} == people
    assert found["human"]["wins_own_low"] == found["human"]["wins_own_high"] == 1.0
    bare = meta.evaluate(pairs, WORDS, protocol="wins", resamples=0).results
    assert bare["human"] == people
    accuracy = meta.evaluate(pairs, WORDS, undecided="half").results["rouge-l"]["accuracy"]
    assert found["rouge-l"]["wins_own"] == pytest.approx(accuracy)
    assert found["rouge-l"]["pearson"] == pytest.approx(1.0)


def test_reserved_label_human(pairs: meta.Pairs) -> None:
    with pytest.raises(SettingError, match="'human' is the label of annotator agreement"):
        meta.evaluate(pairs, {"human": count_words})


def test_every_opponent_counts_alike() -> None:
    """A system that mostly meets the weakest one wins more often than against all alike."""
    met = [("a", "b")] * 8 + [("a", "c")] * 2 + [("b", "c")] * 2
    captions = [text for _ in met for text in ("one two", "three")]
    votes = np.asarray([1] * 8 + [-1] * 2 + [1, -1])
    pairs = make_pairs(captions, votes, met)
    found = meta.evaluate(pairs, {"words": count_words}, protocol="wins").results
    people = found["human"]
    assert [people[f"wins_{name}"] for name in "abc"] == pytest.approx([0.8, 0.1, 0.75])
    assert [people[f"balanced_{name}"] for name in "abc"] == pytest.approx([0.5, 0.25, 0.75])
    assert {"pearson", "pearson_balanced", "spearman_balanced"} <= {*found["words"]}
    assert people["wins_a_low"] < 0.8 < people["wins_a_high"]
    assert people["balanced_b_low"] < 0.25 < people["balanced_b_high"]
    assert found["words"]["pearson_low"] < found["words"]["pearson"]


def test_disagreement(pairs: meta.Pairs) -> None:
    """Two captions per pair, long ones first; the two questions part on the last two pairs."""
    captions = ["a long caption", "short", "a long one", "brief", "more words here", "few"]
    judged = make_pairs(captions, np.asarray([1, 1, -1]), [("x", "y")] * 3)
    both = {"triplets": judged.votes["preference"], "preference": np.asarray([3, -1, 5])}
    asked = replace(judged, votes=both, kinds=["HC", "HC", "MM"])
    found = meta.evaluate(
        asked, {"words": count_words}, protocol="disagreement", resamples=0
    ).results
    assert found["human"]["disagreement"] == pytest.approx(2 / 3)
    assert found["human"]["disagreement_HC"] == 0.5
    assert found["human"]["longer"] == 0.5
    assert found["words"]["human_like"] == 0.5
    assert (found["words"]["human_like_HC"], found["words"]["human_like_MM"]) == (1.0, 0.0)
    with pytest.raises(SettingError, match="does not fit"):
        meta.evaluate(pairs, WORDS, protocol="disagreement")
    same = {"triplets": both["triplets"], "preference": both["triplets"]}
    with pytest.raises(SettingError, match="triplets and preferences agree on all pairs"):
        meta.evaluate(replace(asked, votes=same), WORDS, protocol="disagreement")


# Fewer references

ALL_KINDS: dict[str, Any] = {
    "cider": "cider",
    "cider max": Cider(over="max"),
    "cider-d": "cider-d",
    "cider-r": "cider-r",
    "bleu-4": Bleu(4),
    "rouge-l": "rouge-l",
    "mine": count_shared,
}


def test_curve_ends_at_all_references(pairs: meta.Pairs) -> None:
    """With all references every draw is the same, and so is the plain accuracy."""
    curve = meta.evaluate(
        pairs, ALL_KINDS, protocol="references", reference_counts=[1, 2, 4], draws=2, **COCO
    ).results
    whole = meta.evaluate(pairs, ALL_KINDS, **COCO).results
    for label in ALL_KINDS:
        assert curve[label]["accuracy_at_4"] == pytest.approx(whole[label]["accuracy"])
        assert curve[label]["accuracy_at_1_low"] <= curve[label]["accuracy_at_1"]
    again = meta.evaluate(
        pairs, ALL_KINDS, protocol="references", reference_counts=[1], draws=2, **COCO
    )
    assert again.results["cider-d"]["accuracy_at_1"] == curve["cider-d"]["accuracy_at_1"]


@pytest.mark.parametrize(
    "metric",
    # Metrics with the same rows are columns of them.
    [
        pytest.param(metric, id=str(metric.settings()), marks=mark_extra(metric.needs.extra))
        for metric in {
            (type(m), find_pooling(m)): m
            for m in (*METRICS.values(), Cider(over="max"))
            if find_pooling(m)
        }.values()
    ],
)
def test_metrics_over_references(metric: cidery.metrics.Metric, pairs: meta.Pairs) -> None:
    """A metric that says so is the mean or the maximum of its scores by single references."""
    judged = (
        pairs.judged
        if metric.needs.extra not in MODEL_EXTRAS
        else pairs.judged.take(np.arange(0, 144, 6))
    )
    scorer = CaptionScorer(cidery.Pipeline.choose(frequencies="coco-val2014"))
    each = scorer.score_by_reference(judged, metric).each
    assert each.shape == (len(judged.captions), 4)
    combined = each.mean(axis=1) if find_pooling(metric) == "mean" else each.max(axis=1)
    np.testing.assert_allclose(combined, scorer.score(judged, {"": metric}).each[""], atol=1e-12)


def test_frequencies_stay_those_of_all_references(pairs: meta.Pairs) -> None:
    """Counted on all documents, so that a score by all references is the plain one."""
    many = replace(pairs.judged, references=list(pairs.judged.references) * 2)
    many = replace(many, images=np.arange(144), names=())
    scorer = CaptionScorer()
    metric = METRICS["cider"]
    whole = scorer.score(many, {"": metric}).each[""]
    each = scorer.score_by_reference(many, metric).each
    np.testing.assert_allclose(each.mean(axis=1), whole, atol=1e-12)


def test_draws(pairs: meta.Pairs, tmp_path: Path, example: Example) -> None:
    judged = pairs.judged
    assert [group[:2] for group in judged.references] == judged.draw(2, None).references
    drawn = judged.draw(2, seed=1).references
    assert drawn == judged.draw(2, seed=1).references
    assert drawn != judged.draw(2, seed=2).references
    assert all({*some} < {*all_} for some, all_ in zip(drawn, judged.references, strict=True))
    with pytest.raises(SettingError, match="references=5, but an image has only"):
        meta.evaluate(pairs, WORDS, references=5)
    with pytest.raises(SettingError, match="references must be at least 1, not 0"):
        meta.evaluate(pairs, WORDS, references=0)
    with pytest.raises(SettingError, match="has no references per pair"):
        meta.evaluate(pairs, WORDS, references=2, draw="own")
    pascal = meta.read_dataset(
        "pascal-50s", made.write_pascal(tmp_path / "pascal", example.references)
    )
    own = meta.evaluate(pascal, WORDS, references=2).results
    assert own == meta.evaluate(pascal, WORDS, references=2, draw="own").results
    assert own == meta.evaluate(pascal, WORDS, references=2, draw="first").results
    assert own != meta.evaluate(pascal, WORDS, references=2, draw="random").results
    with pytest.raises(SettingError, match="has 2 references per pair, not 3"):
        meta.evaluate(pascal, WORDS, references=3, draw="own")


def test_mean_ratings(tmp_path: Path, pairs: meta.Pairs) -> None:
    from scipy.stats import kendalltau

    captions = ["a dog runs", "a dog", "a cat", "dog runs on sand", "the sand", "runs"]
    ratings = [[4, 3, 4], [2], [1, 1, 2], [4, 1], [2, 3], [1, 4, 4, 4]]
    lines = [
        {"image": "x", "references": ["a dog runs on the sand"], "caption": text, "ratings": given}
        for text, given in zip(captions, ratings, strict=True)
    ]
    path = made.write_lines(tmp_path / "r.jsonl", lines)
    dataset = meta.read_dataset("judgments", path)
    how: Any = {"mean_ratings": True, "resamples": 0}
    found = meta.evaluate(dataset, "rouge-l", **how).results
    assert list(found) == ["rouge-l"]  # one rating each: no agreement of people
    scores = cidery.score(captions, [["a dog runs on the sand"]] * 6, "rouge-l").each["rouge-l"]
    expected = kendalltau(scores, [np.mean(given) for given in ratings]).statistic
    assert found["rouge-l"]["tau_b"] == pytest.approx(expected, abs=1e-12)
    assert found["rouge-l"]["ratings"] == 6
    single = meta.evaluate(dataset, "rouge-l", resamples=0).results["rouge-l"]
    assert single["ratings"] == 15 and single["tau_b"] != pytest.approx(expected)
    with pytest.raises(SettingError, match=r"^judgments has no ratings of captions$"):
        meta.evaluate(pairs, "rouge-l", mean_ratings=True)


def test_concatenated_references(pairs: meta.Pairs) -> None:
    joined = pairs.judged.concatenate()
    assert joined.references[0] == [" ".join(pairs.judged.references[0])]
    apart = meta.evaluate(pairs, ["rouge-1", "rouge-l"]).results
    together = meta.evaluate(pairs, ["rouge-1", "rouge-l"], concatenate=True).results
    assert together["rouge-l"] != apart["rouge-l"]


# Ratings, sets, systems


def test_ratings(ratings: meta.Ratings) -> None:
    from scipy import stats

    found = meta.evaluate(ratings, {"mine": count_shared}).results["mine"]
    judged = ratings.judged
    scores = np.asarray(
        [
            count_shared(caption, list(judged.references[document]))
            for caption, document in zip(judged.captions, judged.documents, strict=True)
        ]
    )
    rated = scores[ratings.rows]
    assert found["tau_b"] == pytest.approx(stats.kendalltau(rated, ratings.ratings).statistic)
    assert found["spearman"] == pytest.approx(stats.spearmanr(rated, ratings.ratings).statistic)
    assert found["tau_c_low"] < found["tau_c"] < found["tau_c_high"]
    assert (found["captions"], found["ratings"]) == (216, 432)
    means = [
        scores[np.asarray(ratings.systems) == name].mean() for name in ("good", "cut", "wrong")
    ]
    expected = stats.pearsonr(means, [4.5, 3.5, 1.5])
    assert found["system_pearson"] == pytest.approx(expected.statistic)
    assert found["system_pearson_p"] == pytest.approx(expected.pvalue)


def test_five_columns_or_all(
    pairs: meta.Pairs, ratings: meta.Ratings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_pairs = meta.evaluate(pairs, WORDS).table()
    assert of_pairs.header == ["metric", "accuracy", "accuracy_HC", "accuracy_HI", "pairs"]
    of_ratings = meta.evaluate(ratings, WORDS)
    assert of_ratings.table().header == ["metric", "tau_c", "tau_b", "pearson", "ratings"]
    hidden = len(of_ratings.statistics) - 4
    assert f"not shown: {hidden} other statistics" in of_ratings.table().notes
    everything = of_ratings.table(all_columns=True)
    assert everything.header == ["metric", *of_ratings.statistics] and not everything.notes
    assert everything.to_csv() == of_ratings.to_csv()
    arguments = ["meta", "judgments", str(tmp_path / "r.jsonl"), "-m", "rouge-l"]
    assert main(arguments) == 0
    assert "--all-columns shows all statistics" in capsys.readouterr().out
    assert main([*arguments, "--all-columns"]) == 0
    assert "accuracy_with_ties" in (out := capsys.readouterr().out) and "--all" not in out


def test_halves_are_counted(pairs: meta.Pairs) -> None:
    agreement = meta.evaluate(pairs, {"same": lambda _, __: 1.0}, undecided="half", tests=True)
    assert agreement.tested == "accuracy"
    table = agreement.table(all_columns=True)
    _, (_, *cells) = table.cells  # people first
    shown = dict(zip(table.header[1:], cells, strict=True))
    count = agreement.results["same"]["pairs"]
    assert float(shown["correct"]) == count / 2
    assert shown["accuracy"].startswith("50.0")


def test_metrics_against_each_other(ratings: meta.Ratings) -> None:
    def random(candidate: str, references: list[str]) -> float:
        return float(sum(map(ord, candidate)) % 97)

    agreement = meta.evaluate(ratings, {"mine": count_shared, "random": random}, tests=True)
    found = agreement.results
    assert agreement.to_dict()["tested"] == "pearson"
    assert str(agreement).endswith("p-values compare metrics by pearson")
    columns = ["pearson", "p_permutation_random", "p_williams_random"]
    columns += ["p_permutation_mine", "p_williams_mine"]
    assert agreement.table().header == ["metric", *columns]
    assert found["mine"]["p_permutation_random"] < 0.01
    assert found["mine"]["p_williams_random"] < 0.01
    assert found["mine"]["p_williams_random"] == pytest.approx(found["random"]["p_williams_mine"])


def test_sets(sets: meta.Sets) -> None:
    def share_of_different(captions: list[str]) -> float:
        return len({*captions}) / len(captions)

    agreement = meta.evaluate(sets, ["unique", "self-cider", share_of_different])
    assert agreement.protocol == "diversity"
    found = agreement.results
    assert found["share_of_different"]["spearman"] == pytest.approx(1.0)
    assert found["share_of_different"]["spearman_per_image"] == pytest.approx(1.0)
    assert found["unique"]["spearman"] == pytest.approx(1.0)
    assert found["self-cider"]["pearson"] > 0.8
    assert agreement.signatures["share_of_different"] == "share_of_different|function"


def test_systems(tmp_path: Path) -> None:
    systems = meta.read_dataset("coco-2015", made.write_challenge(tmp_path / "c"))
    assert isinstance(systems, meta.Systems)
    assert len(systems) == 5  # the sixth team's row is of a later entry
    found = meta.evaluate(systems).results
    assert found["spice"]["pearson"] == pytest.approx(1.0)
    assert found["spice"]["pearson_M2"] == pytest.approx(1.0)
    few = meta.evaluate(systems, ["cider-d"], references=5, tests=True).results
    assert few["cider-d"]["pearson"] != found["cider-d"]["pearson"]
    with pytest.raises(SettingError, match="5 or 40 references, not 7"):
        meta.evaluate(systems, references=7)
    with pytest.raises(SettingError, match="has no captions to score"):
        meta.evaluate(systems, ["cider-r"])


# Corruption


def test_corrupt_captions() -> None:
    words = ["a", "black", "dog", "sleeps", "on", "the", "floor"]
    found = {
        name: each[0]
        for name, each in meta.corrupt_captions([words], ["man", "a", "in"], 0).items()
    }
    assert len(found["repeated"]) == 14
    assert found["repeated"][:7] == words
    assert {*found["repeated"]} == {*words}
    assert found["truncated"] == words[:3]
    assert sorted(found["shuffled"]) == sorted(words)
    assert found["shuffled"] != words
    assert found["stuffed"] == [*words, "man", "in"]
    assert (
        meta.corrupt_captions([words], [], 0)["shuffled"]
        == meta.corrupt_captions([words], [], 0)["shuffled"]
    )
    assert meta.corrupt_captions([["dog", "dog"]], ["man"], 0)["shuffled"] == [["dog", "dog"]]


def test_corruption(pairs: meta.Pairs) -> None:
    found = meta.evaluate(
        pairs,
        {"cider-d": "cider-d", "cider": "cider", "count": count_shared},
        protocol="corruption",
        **COCO,
    ).results
    shares = ("accuracy", *(f"accuracy_{name}" for name in meta.CORRUPTIONS))
    assert list(found["cider-d"]) == [
        *(f"{name}{side}" for name in shares for side in ("", "_low", "_high")),
        "captions",
        "undecided",
    ]
    # Repetition is what CIDEr-D was made against; counting words sees neither it nor order.
    assert found["cider-d"]["accuracy_repeated"] > found["cider"]["accuracy_repeated"]
    assert found["count"]["accuracy_shuffled"] == 0.0


# Metrics of any make


def test_a_slow_function_is_sampled_and_watched(pairs: meta.Pairs) -> None:
    calls, seen = [], []

    def slow(candidate: str, references: list[str]) -> float:
        calls.append(candidate)
        return count_shared(candidate, references)

    found = meta.evaluate(
        pairs, slow, sample=10, seed=4, progress=lambda *state: seen.append(state)
    ).results["slow"]
    assert found["pairs"] == 10
    assert len(calls) <= 20
    assert seen[-1] == ("scoring by slow", 1.0)
    same = meta.evaluate(pairs, count_shared, sample=10, seed=4).results["count_shared"]
    assert same == found
    with pytest.raises(SettingError, match="sample must be at least 1, not 0"):
        meta.evaluate(pairs, slow, sample=0)


def test_a_sample_keeps_the_frequencies(pairs: meta.Pairs) -> None:
    many = replace(
        pairs.judged,
        references=list(pairs.judged.references) * 2,
        images=np.arange(144),
        names=(),
    )
    whole = CaptionScorer().score(many, {"": METRICS["cider-d"]}).each[""]
    rows = np.asarray([3, 70, 5])
    np.testing.assert_array_equal(
        CaptionScorer().score(many.take(rows), {"": METRICS["cider-d"]}).each[""], whole[rows]
    )


def test_a_function_must_return_numbers(pairs: meta.Pairs) -> None:
    with pytest.raises(InputError, match="returned nan for the caption"):
        meta.evaluate(pairs, lambda _c, _r: float("nan"))


def test_unknown_protocols(pairs: meta.Pairs, ratings: meta.Ratings) -> None:
    with pytest.raises(SettingError, match=r"'ratings' does not fit .*; use preference, ref"):
        meta.evaluate(pairs, WORDS, protocol="ratings")
    with pytest.raises(SettingError, match="'triplets' does not fit the judgments in judgments"):
        meta.evaluate(pairs, WORDS, protocol="triplets")
    with pytest.raises(SettingError, match="no pairs of kind 'MM'; it has: HC, HI"):
        meta.evaluate(pairs, WORDS, kind="MM")
    with pytest.raises(SettingError, match="has no kinds"):
        meta.evaluate(ratings, WORDS, kind="MM")
    one = meta.evaluate(pairs, WORDS, kind="HC").results["rouge-l"]
    assert one["accuracy"] == one["accuracy_HC"]


# Tables


def test_forms(pairs: meta.Pairs) -> None:
    agreement = meta.evaluate(pairs, WORDS)
    content = json.loads(agreement.to_json())
    assert list(content) == ["dataset", "protocol", "results", "signatures"]
    assert content == agreement.to_dict()
    assert content["signatures"]["rouge-l"].startswith("rouge-l|")
    _, record, _ = agreement.to_records()  # people first
    assert record == {
        "metric": "rouge-l",
        **agreement.results["rouge-l"],
        "signature": agreement.signatures["rouge-l"],
    }
    assert agreement.table().header[:3] == ["metric", "accuracy", "accuracy_HC"]
    found = agreement.results["rouge-l"]
    cell = f"{100 * found['accuracy']:.1f} [{100 * found['accuracy_low']:.1f}, "
    assert cell in agreement.to_markdown()
    assert cell in str(agreement)
    assert r"accuracy\_HC" in agreement.to_latex()
    nothing = meta.Agreement("mine", "ratings", {"a": {"tau_b": float("nan"), "tau_b_p": 0.0001}})
    assert json.loads(nothing.to_json())["results"]["a"]["tau_b"] is None
    assert nothing.table().cells == [["a", "–", "< 0.001"]]


# Readers


def test_pascal(tmp_path: Path, example: Example) -> None:
    folder = made.write_pascal(tmp_path / "pascal50s", example.references)
    found = meta.read_dataset("pascal-50s", tmp_path)  # the folder above
    assert isinstance(found, meta.Pairs)
    assert found.fingerprint == meta.read_dataset("pascal-50s", folder / "pairs.jsonl").fingerprint
    assert (found.votes["preference"] == -1).all()
    assert {*np.sign(found.votes["triplets"])} == {-1, 1}
    assert found.systems[0] == ("1", "4")
    wins = meta.evaluate(found, WORDS, protocol="wins", resamples=0).results  # MM pairs only
    assert {*wins["human"]} == {f"{way}_{n}" for way in ("wins", "balanced") for n in "123"}


def test_abstract(tmp_path: Path, example: Example) -> None:
    found = meta.read_dataset(
        "abstract-50s", made.write_abstract(tmp_path / "a", example.references)
    )
    assert isinstance(found, meta.Pairs)
    assert found.triplets is not None
    assert found.votes["triplets"][0] == 0  # two for, two against
    assert meta.evaluate(found, WORDS).results["rouge-l"]["tied"] == 1


def test_flickr8k(tmp_path: Path, example: Example) -> None:
    folder = made.write_flickr8k(tmp_path / "f", example.references)
    expert = meta.read_dataset("flickr8k-expert", folder)
    assert isinstance(expert, meta.Ratings)
    assert len(expert) == 3 * 72  # own captions are left out
    assert {len(group) for group in expert.judged.references} == {5}
    crowd = meta.read_dataset("flickr8k-cf", folder)
    assert isinstance(crowd, meta.Ratings)
    assert len(crowd) == 2 * 72
    for caption, document in zip(crowd.judged.captions, crowd.judged.documents, strict=True):
        assert len(crowd.judged.references[document]) == 4
        assert caption not in crowd.judged.references[document]


def test_composite(tmp_path: Path, example: Example) -> None:
    found = meta.read_dataset("composite", made.write_composite(tmp_path / "c", example.references))
    assert isinstance(found, meta.Ratings)
    assert len(found) == 144
    # The human candidate is gone for both of its image's candidates.
    assert {len(group) for group in found.judged.references} == {4}


def test_cider_r_triplets_do_not_warn(tmp_path: Path, example: Example) -> None:
    path = made.write_cider_r(tmp_path / "c", example.references)
    found = meta.evaluate(meta.read_dataset("cider-r-triplets", path), ["cider-r"])
    assert found.results["cider-r"]["pairs"] == 15


GOOD = '{"image": "a", "references": ["a cat"]}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"mine\.jsonl: no judgments; add lines with 'pair', 'caption'"),
        (GOOD, "no judgments, only references; add lines"),
        ("nonsense", "line 1 is not JSON"),
        ("[1]", "line 1: expected a JSON object"),
        ('{"pair": ["a", "b"], "votes": [1]}', "expected text in 'image', found None"),
        ('{"image": "a"}', "expected 'pair', 'caption', 'captions' or 'references'"),
        ('{"image": "a", "pair": ["a", "b"], "votes": [1]}', "image 'a' has no references"),
        (GOOD + '{"image": "a", "pair": ["a"], "votes": [1]}', "line 2: expected at least 2"),
        (GOOD + '{"image": "a", "pair": ["a", "b", "c"], "votes": [1]}', "has 2 captions, not 3"),
        (GOOD + '{"image": "a", "pair": ["a", "b"], "votes": [2]}', "a vote is 1"),
        (GOOD + '{"image": "a", "pair": ["a", 5], "votes": [1]}', "expected a list of texts"),
        (GOOD + '{"image": "a", "caption": "a", "ratings": ["x"]}', "expected a number or a list"),
        (GOOD + '{"image": "a", "caption": "a", "ratings": [NaN]}', "expected a number or a list"),
        (GOOD + '{"image": "a", "caption": "a", "rating": 1e999}', r"line 2: .* found Infinity"),
        (
            GOOD + '{"image": "a", "caption": "a", "rating": 1%s}' % ("0" * 400),
            "line 2: .*all .*1000",
        ),
        (
            GOOD
            + '{"image": "a", "caption": "a", "ratings": 1}\n'
            + '{"image": "a", "caption": "a", "ratings": {"truth": 1}}',
            "line 3: .*line 2 is of the same item, and only one of the two has ratings by question",
        ),
        (
            GOOD
            + '{"image": "a", "caption": "a", "ratings": 1, "system": "s"}\n'
            + '{"image": "a", "caption": "a", "ratings": 1}',
            "line 3: there is no 'system', which other lines have",
        ),
        (
            GOOD
            + '{"image": "a", "caption": "a", "ratings": 1}\n'
            + '{"image": "a", "pair": ["a", "b"], "votes": 1}',
            "found ratings and pairs; put each kind in its own file",
        ),
        (
            GOOD + '{"image": "a", "pair": ["a", "b"], "reference": "c", "votes": 1}',
            "triplets bring their own references",
        ),
    ],
)
def test_refused_judgments(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        meta.read_dataset("judgments", path)


def read_lines(tmp_path: Path, *lines: dict[str, Any]) -> Any:
    return meta.read_dataset("judgments", made.write_lines(tmp_path / "mine.jsonl", [*lines]))


def test_unjudged_triplets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pair without votes on any of its references is not a tie."""
    lines = [
        {"image": n, "pair": ["a dog runs", "a cat"], "reference": text}
        | ({"votes": [1, 1, -1]} if n < 8 and text == "dogs run" else {})
        for n in range(20)
        for text in ("dogs run", f"dog {n} runs")
    ]
    pairs = read_lines(tmp_path, *lines)
    assert isinstance(pairs, meta.Pairs) and pairs.answers is not None
    assert pairs.answers.tolist() == [3] * 8 + [0] * 12
    assert pairs.judged.references[0] == ["dogs run", "dog 0 runs"]
    assert pairs.triplets is None  # half of a pair's triplets cannot tell the other half
    with pytest.warns(DataWarning, match="12 of 20 pairs are not judged and are ignored"):
        found = meta.evaluate(pairs, ["rouge-l"], resamples=0).results["rouge-l"]
    assert (found["pairs"], found["tied"]) == (8, 0)
    assert (
        main(["meta", "estimate", "judgments", str(tmp_path / "mine.jsonl"), "-m", "rouge-l"]) == 0
    )
    assert "8 of 20 items were judged" in capsys.readouterr().out
    whole = read_lines(tmp_path, *(line | {"vote": 1} for line in lines[:4]), *lines[16:])
    assert whole.triplets is not None and whole.was_judged.tolist() == [True] * 2 + [False] * 12


@pytest.mark.filterwarnings("error")
def test_tied_pairs_by_number_of_references(tmp_path: Path) -> None:
    """Accuracy is unknown where people prefer neither caption, and nothing else is said."""
    known = [{"image": n, "references": ["a dog", "dogs run"]} for n in range(3)]
    tied = [{"image": n, "pair": ["a dog runs", "a cat"], "votes": [1, -1]} for n in range(3)]
    found = meta.evaluate(read_lines(tmp_path, *known, *tied), "rouge-l", protocol="references")
    assert {"accuracy_at_1", "accuracy_at_1_low", "accuracy_at_2_high"} <= {
        *found.results["rouge-l"]
    }
    assert all(np.isnan(value) for value in found.results["rouge-l"].values())
    judged = tied[0] | {"image": 3, "votes": [1]}
    mixed = read_lines(tmp_path, *known, {**known[0], "image": 3}, *tied, judged)
    some = meta.evaluate(mixed, "rouge-l", protocol="references").results["rouge-l"]
    assert (some["accuracy_at_2"], some["accuracy_at_2_low"], some["accuracy_at_2_high"]) == (
        1,
        1,
        1,
    )


def test_several_lines_of_one_item(tmp_path: Path) -> None:
    """An answered line takes the place of one without answers; answers of several add up."""
    known = [{"image": n, "references": ["a dog"]} for n in (1, 2)]
    items: list[dict[str, Any]] = [
        {"image": n, "pair": ["a dog", "a cat"], "systems": ["ours", "theirs"]} for n in (1, 2)
    ]
    answered = [items[0] | {"votes": [1, 1]}, items[0] | {"vote": -1}, items[0]]
    pairs = read_lines(tmp_path, *known, *items, *answered)
    assert pairs.answers.tolist() == [3, 0]
    assert pairs.votes["preference"].tolist() == [1, 0]
    other = items[0] | {"systems": ["ours", "others"], "vote": 1}
    assert read_lines(tmp_path, *known, *items, other).answers.tolist() == [0, 0, 1]
    rated = {"image": 1, "caption": "a dog"}
    ratings = read_lines(
        tmp_path,
        *known,
        rated | {"ratings": {"truth": 1, "style": [2]}},
        rated,
        rated | {"ratings": {"truth": [3, 4]}},
    )
    assert ratings.judged.captions == ["a dog"]
    assert ratings.ask("truth").ratings.tolist() == [1, 3, 4]
    assert ratings.ask("style").ratings.tolist() == [2]
    with pytest.raises(FormatError, match=r"line 3 and .*, line 4: a vote is 1"):
        read_lines(tmp_path, *known, items[0] | {"vote": 1}, items[0] | {"vote": 5})


def test_triplets_with_the_same_reference(tmp_path: Path) -> None:
    """Two people may have written it, so that answered lines stay apart."""
    line = {"image": 1, "pair": ["a dog", "a cat"], "reference": "dogs"}
    answered = [line | {"vote": vote} for vote in (1, -1, 1)]
    pairs = read_lines(tmp_path, line, *answered)
    assert pairs.judged.references == [["dogs"] * 3]
    assert (pairs.votes["triplets"].tolist(), pairs.answers.tolist()) == ([1], [3])


def test_unjudged_sets(tmp_path: Path) -> None:
    line = {"image": 1, "captions": ["a dog", "a cat"]}
    others = [{"image": 2, "captions": ["a dog", "a cow"]}, line | {"rating": 1}]
    with pytest.warns(DataWarning, match="1 of 2 sets are not judged and are ignored"):
        sets = read_lines(tmp_path, line, *others)
    assert (sets.images, sets.ratings.tolist()) == (["1"], [1.0])
    with pytest.raises(CideryError, match="none of the 1 sets has ratings"):
        read_lines(tmp_path, line)


def test_refused_folders(tmp_path: Path, example: Example) -> None:
    with pytest.raises(SettingError, match="unknown data set 'pascal'; known: pascal-50s"):
        meta.read_dataset("pascal", tmp_path)
    with pytest.raises(OSError, match="no such folder"):
        meta.read_dataset("pascal-50s", tmp_path / "nowhere")
    for name in meta.DATASETS:
        if name != "judgments":
            with pytest.raises(FormatError, match=r"there is no .* in this folder"):
                meta.read_dataset(name, tmp_path)
    (tmp_path / "raw.jsonl").write_bytes(b"\xfa")
    with pytest.raises(FormatError, match="is not UTF-8"):
        meta.read_dataset("judgments", tmp_path / "raw.jsonl")
    folder = made.write_flickr8k(tmp_path / "f", example.references)
    (folder / "ExpertAnnotations.txt").write_text("1.jpg\t9999.jpg#0\t1\t1\t1\n")
    with pytest.raises(FormatError, match=r"line 1: .* is not in Flickr8k\.token\.txt"):
        meta.read_dataset("flickr8k-expert", folder)
    (folder / "ExpertAnnotations.txt").write_text("1.jpg\t2.jpg#0\t1\n")
    with pytest.raises(FormatError, match="3 ratings"):
        meta.read_dataset("flickr8k-expert", folder)
    (folder / "ExpertAnnotations.txt").write_text("1.jpg\t2.jpg#0\t1\t1\tinf\n")
    with pytest.raises(FormatError, match="line 1: expected finite numbers after the caption"):
        meta.read_dataset("flickr8k-expert", folder)
    challenge = made.write_challenge(tmp_path / "c")
    (challenge / "cap_c5.json").write_text("[{}]")
    with pytest.raises(CideryError, match=r"entry 1: expected a team"):
        meta.read_dataset("coco-2015", challenge)


# Pictures


def test_pictures(
    pairs: meta.Pairs, ratings: meta.Ratings, sets: meta.Sets, tmp_path: Path
) -> None:
    from cidery.plots import plot_correlations, plot_references, save_figures

    curve = meta.evaluate(pairs, WORDS, protocol="references", reference_counts=[1, 2, 4], draws=2)
    figure = plot_references({"one": curve, "two": curve})
    assert [len(axes.get_lines()) for axes in figure.axes] == [2, 2]
    np.testing.assert_allclose(
        figure.axes[0].get_lines()[0].get_ydata(),
        [100 * curve.results["rouge-l"][f"accuracy_at_{n}"] for n in (1, 2, 4)],
    )
    (written,) = save_figures(figure, tmp_path / "curve.svg")
    assert "references per image" in written.read_text()
    for judged in (ratings, sets):
        agreement = meta.evaluate(judged, len if judged is sets else WORDS)
        figure = plot_correlations(agreement)
        assert len(figure.axes) >= len(agreement.points)
    with pytest.raises(SettingError, match="has no accuracy by number of references"):
        plot_references(meta.evaluate(pairs, WORDS))
    with pytest.raises(SettingError, match="no scores and ratings to draw"):
        plot_correlations(curve)


def test_the_door_is_opened_when_asked_for() -> None:
    code = "import sys, cidery; assert 'cidery.meta' not in sys.modules; cidery.meta.evaluate"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="nothing"):
        _ = cidery.nothing


@pytest.mark.parametrize("format", ["table", "json", "csv", "markdown", "latex"])
def test_command(
    format: str,
    pairs: meta.Pairs,
    ratings: meta.Ratings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path / "kept"))
    arguments = ["meta", "judgments", str(tmp_path / "p.jsonl"), "-m", "rouge-l", "-f", format]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    agreement = meta.evaluate(pairs, "rouge-l")
    if format == "json":
        assert json.loads(out) == agreement.to_dict()
    assert ("rouge-l|" in out) == (format != "markdown")
    assert (tmp_path / "kept" / "agreement-v1.sqlite").exists()
    assert main(arguments) == 0
    assert capsys.readouterr().out == out
    rated = ["meta", "judgments", str(tmp_path / "r.jsonl"), "-m", "rouge-l", "--resamples", "0"]
    assert main([*rated, "--plot", str(tmp_path / "points.png")]) == 0
    assert "drawn: " in capsys.readouterr().out
    assert (tmp_path / "points.png").stat().st_size > 1000
    assert main([*rated, "--kind", "MM"]) == 2
    assert "error: judgments has no kinds of pairs" in capsys.readouterr().err
    assert len(ratings) == 432


TABLE = """image,pair,votes,references
kitchen,,,"[""a cat sleeps"", ""a warm cat""]"
kitchen,"[""a cat, warm"", ""a dog""]","[1, 1, -1]",
"""


def test_judgments_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(TABLE)
    found = meta.read_dataset("judgments", path)
    assert isinstance(found, meta.Pairs)
    assert found.judged.captions == ["a cat, warm", "a dog"]
    assert found.judged.references == [["a cat sleeps", "a warm cat"]]
    assert found.votes["preference"].tolist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TABLE + 'a,"[""b""","[1]",', r"mine.csv, line 4: expected JSON in 'pair', found"),
        (TABLE + "a,b,c,d,e\n", "mine.csv, line 4: there are more cells than columns"),
        (TABLE + 'a,"b"c,d,e\n', "mine.csv, after line 3: not valid CSV"),
    ],
)
def test_refused_tables(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        meta.read_dataset("judgments", path)


# What people reach, and ties


def test_people_among_themselves(ratings: meta.Ratings) -> None:
    """Each rating against the mean of the others of its caption."""
    found = meta.evaluate(ratings, WORDS, resamples=20)
    assert list(found.results) == ["human", *WORDS]
    people = found.results["human"]
    first, second = ratings.ratings.reshape(-1, 2).T
    expected = np.corrcoef(np.concatenate([first, second]), np.concatenate([second, first]))[0, 1]
    assert people["pearson"] == pytest.approx(expected)
    assert people["pearson_low"] < people["pearson"] < people["pearson_high"]
    once = ratings.take(np.arange(0, len(ratings), 2))
    assert list(meta.evaluate(once, WORDS, resamples=0).results) == WORDS


def test_people_among_themselves_on_pairs(triplets: meta.Pairs) -> None:
    """Each vote against the majority of the others: five to nobody, four to one, two to two."""
    captions = ["one", "two"] * 4
    pairs = make_pairs(captions, np.asarray([5, -3, 0, 1]), [("x", "y")] * 4)
    vote_counts = np.asarray([[5, 0], [1, 4], [2, 2], [1, 0]])
    known = replace(pairs, vote_counts={"preference": vote_counts}, kinds=["HC", "HC", "MM", "MM"])
    people = meta.evaluate(known, WORDS, resamples=20).results["human"]
    assert people["accuracy"] == pytest.approx((5 + 4 + 0) / 14)
    assert (people["accuracy_HC"], people["accuracy_MM"]) == (0.9, 0.0)
    assert people["pairs"] == 3  # a single vote has no others
    assert people["accuracy_low"] <= people["accuracy"] <= people["accuracy_high"]
    assert "human" not in meta.evaluate(pairs, WORDS).results
    # Halves of triplets, as the protocol human draws them.
    one, other = (meta.evaluate(triplets, WORDS, protocol=p) for p in ("triplets", "human"))
    assert one.results["human"]["accuracy"] == pytest.approx(other.results["human"]["accuracy"])


def test_annotator_agreement_is_cached(
    ratings: meta.Ratings, pairs: meta.Pairs, tmp_path: Path
) -> None:
    for dataset, settings in ((ratings, {}), (pairs, {"protocol": "wins"})):
        options: Any = {"cache": tmp_path / "kept", "resamples": 0} | settings
        first = meta.evaluate(dataset, WORDS, **options)
        assert "human" in first.results
        assert meta.evaluate(dataset, WORDS, **options).to_json() == first.to_json()
        assert list(meta.evaluate(dataset, WORDS[:1], **options).results) == ["human", WORDS[0]]


def test_by_image_and_with_ties(ratings: meta.Ratings) -> None:
    found = meta.evaluate(ratings, WORDS, resamples=20).results["rouge-l"]
    for name in ("tau_b_by_image", "accuracy_with_ties"):
        assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]
    # People tie none of an image's three captions, so that nothing is won by ties.
    assert found["accuracy_with_ties"] <= found["ranking"]
