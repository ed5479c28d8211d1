"""Rankings, runs, margins and plans of compare()."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import Runs
from cidery.errors import CideryError, InputError, MismatchError, SettingError
from cidery.scoring.ranking import describe_disagreement, name_clusters
from cidery.statistics import holm
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

METRICS = ["bleu-4", "cider-d"]


def mix(example: Example, share: float, seed: int) -> dict[Any, str]:
    """Return captions of the better system, a share of them replaced by those of the worse."""
    rng = np.random.default_rng(seed)
    return {
        image: example.system_b[image] if rng.random() < share else caption
        for image, caption in example.system_a.items()
    }


@pytest.fixture(scope="module")
def systems(example: Example) -> dict[str, dict[Any, str]]:
    shares = {"best": 0.0, "good": 0.1, "fair": 0.4, "worst": 1.0}
    return {name: mix(example, share, 1) for name, share in shares.items()}


def test_overwhelming_differences_stay_significant_among_many(example: Example) -> None:
    systems = {f"mix {n}": mix(example, n / 20, n) for n in range(20)}
    found = cidery.compare(systems, example.references, ["cider-d"], correct="all")
    test = found.tests["cider-d"]["mix 0", "mix 19"]
    assert test.method == "importance sampling" and test.p < 1e-8
    assert test.p < test.adjusted_p < 1e-6
    assert len(found.tests["cider-d"]) == found.family_size == 190


def test_families(systems: Any, example: Example) -> None:
    found = cidery.compare(systems, example.references, METRICS)
    for pairs in found.tests.values():
        assert [t.adjusted_p for t in pairs.values()] == holm([t.p for t in pairs.values()])
    together = cidery.compare(systems, example.references, METRICS, correct="all")
    tests = [test for pairs in together.tests.values() for test in pairs.values()]
    assert [t.adjusted_p for t in tests] == holm([t.p for t in tests])
    assert "Holm-corrected for the 6 comparisons by each metric" in found.note
    assert "Holm-corrected for the 12 comparisons made here" in together.note
    content = found.to_dict()["tests"]["bleu-4"][0]
    assert content["p"] <= content["adjusted_p"]


def test_ranking(systems: Any, example: Example) -> None:
    found = cidery.compare(systems, example.references, METRICS)
    for metric, ranked in found.rankings.items():
        scores = [found.tables[one.system].corpus[metric] for one in ranked]
        assert [one.score for one in ranked] == scores == sorted(scores, reverse=True)
        for one, other in itertools.combinations(ranked, 2):
            pair = (one.system, other.system)
            pair = pair if pair in found.tests[metric] else pair[::-1]
            different = found.tests[metric][pair].is_different
            assert bool(set(one.cluster) & set(other.cluster)) != different
            place, other_place = ranked.index(one), ranked.index(other)
            assert one.against[other_place] == ">" * different + "=" * (not different)
            assert other.against[place] == "<" * different + "=" * (not different)
        for place, one in enumerate(ranked):
            interval = found.tables[one.system].interval(metric)
            assert (one.low, one.high) == (interval.low, interval.high)
            assert one.rank == 1 + one.against.count("<") and one.against[place] == "·"
    assert found.rankings["cider-d"][0].cluster == "a"
    assert found.rankings["cider-d"][-1].rank == 4
    described = json.loads(json.dumps(found.to_dict()))["rankings"]["cider-d"]
    assert [one["system"] for one in described] == ["best", "good", "fair", "worst"]


def test_lower_is_better(systems: Any, example: Example) -> None:
    found = cidery.compare(systems, example.references, ["chair-i"])
    ranked = found.rankings["chair-i"]
    assert [one.score for one in ranked] == sorted(one.score for one in ranked)
    test = found.tests["chair-i"]["best", "worst"]
    assert test.is_different and test.difference < 0
    places = [one.system for one in ranked]
    assert ranked[places.index("best")].against[places.index("worst")] == ">"


@pytest.mark.parametrize(
    ("different", "clusters"),
    [
        (set(), {"a": "a", "b": "a", "c": "a"}),
        ({("a", "c")}, {"a": "a", "b": "ab", "c": "b"}),
        ({("c", "a"), ("c", "b")}, {"a": "a", "b": "a", "c": "b"}),
        ({("a", "b"), ("a", "c"), ("b", "c")}, {"a": "a", "b": "b", "c": "c"}),
        ({("a", "b")}, {"a": "a", "b": "b", "c": "ab"}),
    ],
)
def test_clusters(different: set[tuple[str, str]], clusters: dict[str, str]) -> None:
    assert name_clusters(["a", "b", "c"], different) == clusters


def test_rankings_of_many_systems_fit_a_terminal(example: Example) -> None:
    systems = {f"a_rather_long_name_{n}": mix(example, n / 10, n) for n in range(10)}
    found = cidery.compare(systems, example.references)
    lines = str(found.table()).splitlines()
    assert max(map(len, lines[: 2 + 7 * 10])) <= 100
    matrix = [line.split()[-10:] for line in lines[1:11]]
    assert all(matrix[n][n] == "·" for n in range(10))
    pairs = found.table(pairs=True)
    assert len(pairs.rows) == 7 * 45 and "adjusted p" in pairs.header


def test_baselines(systems: Any, example: Example) -> None:
    found = cidery.compare(systems, example.references, [*METRICS, "vocab"])
    table = found.paper_table(baseline="worst")
    assert [row["system"] for row in table.rows] == ["worst", *(n for n in systems if n != "worst")]
    scores = {name: one.corpus["cider-d"] for name, one in found.tables.items()}
    difference = 100 * (scores["best"] - scores["worst"])
    assert found.tests["cider-d"]["best", "worst"].is_different
    cell = rf"\textbf{{{100 * scores['best']:.1f} ({difference:+.1f})}}\textsuperscript{{*}}"
    assert cell in table.to_latex()
    assert f"{100 * scores['best']:.1f} ({difference:+.1f}) *" in str(table)
    for text in ("in parentheses: differences from worst, * where significant", "except vocab"):
        assert text in str(table) and text in table.to_markdown()
    sizes = {name: one.corpus["vocab"] for name, one in found.tables.items()}
    assert f"{sizes['best']:.0f} ({sizes['best'] - sizes['worst']:+.0f})" in str(table)
    assert table.to_records() == found.to_records()  # all digits, no percent
    with pytest.raises(SettingError, match="the baseline 'other' is not a system; there are best"):
        found.paper_table(baseline="other")


def test_percent_and_digits(systems: Any, example: Example) -> None:
    found = cidery.compare(systems, example.references, METRICS)
    one = found.tables["best"]
    for pairs in (True, False):
        table = found.table(2, pairs=pairs, percent=True)
        assert "scores are times 100" in table.notes
        assert table.to_csv() == found.table(pairs=pairs).to_csv()
    assert f"{100 * one.corpus['cider-d']:.2f}" in str(table)
    detectable = re.search(r"\(power 80 %\), median of the pairs: (.*)", str(table))
    assert detectable and re.fullmatch(r"\S+ \d+\.\d\d(, \S+ \d+\.\d\d)*", detectable[1])
    assert str(found) == str(found.table()) and "times 100" not in str(found)


def test_tables_for_papers(systems: Any, example: Example) -> None:
    found = cidery.compare(systems, example.references, METRICS)
    latex = found.to_latex()
    assert latex.startswith("\\begin{table}") and "\n\\end{table}\n% bleu-4|" in latex
    best = found.tables["best"].corpus["cider-d"]
    assert rf"\textbf{{{100 * best:.1f}}}\textsuperscript{{a}}" in latex
    start = r"\caption{Scores on 72 images. Scores are times 100. Bold: no system is significantly "
    assert start in latex
    for part in ("permutation test", "Holm-corrected for the 6 comparisons by each metric"):
        assert part in latex
    bleu = found.tables["best"].corpus["bleu-4"]
    assert f"| best | {100 * bleu:.1f}" in found.to_markdown().replace("**", "")
    four = found.paper_table(4, percent=False).to_markdown().replace("**", "")
    assert f"| best | {bleu:.4f}" in four and "times 100" not in four
    two = cidery.compare({name: systems[name] for name in ("best", "worst")}, example.references)
    best = two.tables["best"].corpus["cider-d"]
    assert two.tests["cider-d"]["best", "worst"].is_different
    assert rf"\textbf{{{100 * best:.1f}}}\textsuperscript{{a}}" in two.to_latex()
    assert f"\n% {two.to_dict()['signatures']['cider-d']}\n" in two.to_latex()


def test_metrics_that_disagree(example: Example) -> None:
    longer = {image: f"{caption} and more" for image, caption in example.system_a.items()}
    metrics: Any = {"rouge-l": "rouge-l", "words": lambda caption, _: len(caption.split())}
    systems = {"short": example.system_a, "long": longer}
    found = cidery.compare(systems, example.references, metrics)
    [sentence, known] = describe_disagreement(found.tests)
    assert sentence == "metrics disagree: rouge-l prefers short, words prefers long"
    assert "rouge-l 32.3; see docs/which-number.md" in known
    assert sentence in found.notes
    alike = cidery.compare(systems, example.references, ["rouge-l", "rouge-l:beta=1"])
    assert describe_disagreement(alike.tests) == []


class TestRuns:
    def test_scores_are_means(self, systems: Any, example: Example) -> None:
        runs = [mix(example, 0.1, seed) for seed in range(4)]
        given = {"ours": runs, "theirs": systems["worst"]}
        found = cidery.compare(given, example.references, METRICS)
        for metric in METRICS:
            scores = [cidery.score(run, example.references, metric).corpus[metric] for run in runs]
            table = found.tables["ours"]
            assert table.corpus[metric] == pytest.approx(np.mean(scores), rel=1e-14)
            assert table.spread_over_runs(metric) == pytest.approx(np.std(scores, ddof=1))
            test = found.tests[metric]["ours", "theirs"]
            assert test.method == "images and runs" and test.is_different
            assert test.low < test.difference < test.high
        assert [run["cider-d"] for run in found.to_dict()["runs"]["ours"]] == scores
        assert f"{np.mean(scores):.4f} ± {np.std(scores, ddof=1):.4f}" in str(found)
        assert "theirs has one run: the variance over runs is assumed" in " ".join(found.notes)
        assert "runs:" not in " ".join(found.to_dict()["signatures"].values())

    def test_one_run_is_no_run(self, systems: Any, example: Example) -> None:
        plain = cidery.compare(
            {"a": systems["best"], "b": systems["fair"]}, example.references, METRICS
        )
        single = cidery.compare(
            {"a": [systems["best"]], "b": Runs([systems["fair"]])}, example.references, METRICS
        )
        assert single.to_dict() == plain.to_dict()
        assert "one run per system: intervals and tests cover images, not training runs" in (
            plain.notes
        )

    def test_runs_decide_less_than_images_alone(self, example: Example) -> None:
        # Runs that differ much: a difference of single runs is not one of methods.
        ours = [mix(example, share, 5) for share in (0.05, 0.5)]
        theirs = [mix(example, share, 6) for share in (0.2, 0.65)]
        alone = cidery.compare({"a": ours[0], "b": theirs[1]}, example.references, ["cider-d"])
        assert alone.tests["cider-d"]["a", "b"].is_different
        found = cidery.compare({"a": ours, "b": theirs}, example.references, ["cider-d"])
        test = found.tests["cider-d"]["a", "b"]
        assert test.verdict == "undecided" and test.run_error > 0

    def test_numbers_of_runs_may_differ(self, example: Example) -> None:
        ours = [mix(example, 0.1, seed) for seed in range(3)]
        theirs = [mix(example, 0.9, seed) for seed in range(2)]
        found = cidery.compare({"a": ours, "b": theirs}, example.references, ["rouge-l"])
        assert found.tests["rouge-l"]["a", "b"].is_different
        assert "(3 of a, 2 of b)" in found.note

    def test_slices_reports_and_files(self, example: Example, tmp_path: Any) -> None:
        ours = [mix(example, 0.1, seed) for seed in range(3)]
        systems = {"ours": ours, "theirs": mix(example, 0.8, 9)}
        found = cidery.compare(systems, example.references, ["cider-d"], by="length")
        assert found.slices is not None
        for name, tests in found.slices.items():
            assert tests["cider-d"]["ours", "theirs"].method == "images and runs"
            table = found.tables["ours"].slices
            assert table is not None and len(table[name].runs) == 3
        report = cidery.write_report(
            tmp_path / "report.html", systems, example.references, ["cider-d"]
        )
        plain = cidery.compare(systems, example.references, ["cider-d"])
        assert report.content["comparison"] == plain.to_dict()
        assert report.content["diversity"] is None
        assert len(report.content["systems"]["ours"]["captions"]) == 3 * 72
        assert set(report.content["findings"]) == {
            *(f"ours (run {n})" for n in (1, 2, 3)),
            "theirs",
        }

    def test_one_image(self) -> None:
        systems = {"a": Runs([["a dog"], ["a dog"]]), "b": ["a cat"]}
        found = cidery.compare(systems, [["a dog runs fast"]], ["rouge-l"])
        test = found.tests["rouge-l"]["a", "b"]
        assert test.p == 1.0 and test.verdict == "undecided"

    def test_bad_runs(self, systems: Any, example: Example) -> None:
        missing = dict(list(systems["good"].items())[1:])
        with pytest.raises(MismatchError, match="image 1 has references but no candidates"):
            cidery.compare(
                {"a": [systems["best"], missing], "b": systems["fair"]}, example.references, METRICS
            )
        with pytest.raises(InputError, match="a: there are no runs"):
            cidery.compare({"a": Runs([]), "b": systems["fair"]}, example.references, METRICS)


class TestScoresOfOtherCalls:
    def test_equal_those_of_compare(self, systems: Any, example: Example) -> None:
        runs = [mix(example, 0.1, seed) for seed in range(3)]

        def score(captions: Any) -> cidery.ScoreTable:
            return cidery.score(captions, example.references, METRICS)

        given = {"ours": [score(run) for run in runs], "theirs": score(systems["fair"])}
        found = cidery.compare_scores(given, margin=0.5, correct="all")
        together = cidery.compare(
            {"ours": runs, "theirs": systems["fair"]},
            example.references,
            METRICS,
            margin=0.5,
            correct="all",
        )
        assert found.to_dict() == together.to_dict()

    def test_must_fit(self, systems: Any, example: Example) -> None:
        def score(name: str, metrics: Any, count: int = 72) -> cidery.ScoreTable:
            captions = dict(list(systems[name].items())[:count])
            return cidery.score(captions, example.references, metrics, missing="skip")

        best = score("best", METRICS)
        for first, other, message in (
            (best, score("fair", ["rouge-l"]), "fair: settings of scores differ: bleu-4|.* and no"),
            (best, score("fair", METRICS, 70), "references-72.* and .*references-70"),
            (score("best", ["bleu-4"]), score("fair", ["bleu-4"], 70), "fair has scores of 70 ima"),
        ):
            with pytest.raises(CideryError, match=message):
                cidery.compare_scores({"best": first, "fair": other})
        with pytest.raises(SettingError, match="at least two systems"):
            cidery.compare_scores({"best": best})
        with pytest.raises(InputError, match="fair: there are no runs"):
            cidery.compare_scores({"best": best, "fair": []})


class TestMargin:
    def test_verdicts(self, systems: Any, example: Example) -> None:
        def judge(other: str, margin: float) -> str:
            found = cidery.compare(
                {"best": systems["best"], other: systems[other]},
                example.references,
                ["rouge-l"],
                margin=margin,
            )
            assert "verdict" in found.table().header
            return found.tests["rouge-l"]["best", other].verdict

        assert judge("worst", 0.01) == "different"
        assert judge("worst", 0.9) == "different, within the margin"
        same = {"best": systems["best"], "copy": dict(systems["best"])}
        found = cidery.compare(same, example.references, ["rouge-l"], margin=0.01)
        assert found.tests["rouge-l"]["best", "copy"].verdict == "equivalent"
        plain = cidery.compare(same, example.references, ["rouge-l"])
        assert plain.tests["rouge-l"]["best", "copy"].verdict == "undecided"

    def test_bad_margin(self, systems: Any, example: Example) -> None:
        for margin in (0.0, -0.1, float("nan"), float("inf")):
            with pytest.raises(SettingError, match="margin must be positive"):
                cidery.compare(systems, example.references, ["rouge-l"], margin=margin)


class TestPower:
    def test_more_images_are_needed_for_smaller_differences(
        self, systems: Any, example: Example
    ) -> None:
        found = cidery.compare(systems, example.references, ["cider-d"])
        test = found.tests["cider-d"]["best", "good"]
        plans = [found.plan(difference).rows[0]["images"] for difference in (0.1, 0.05)]
        assert plans[1] == pytest.approx(4 * plans[0], rel=0.05)
        # The detectable difference needs the images that there are.
        assert found.plan(test.detectable).rows[0]["images"] == pytest.approx(72, abs=1)
        assert "smallest detectable differences (power 80 %), median" in " ".join(found.notes)

    def test_runs(self, example: Example) -> None:
        ours = [mix(example, share, 5) for share in (0.05, 0.5, 0.3)]
        theirs = [mix(example, share, 6) for share in (0.2, 0.65, 0.4)]
        found = cidery.compare({"a": ours, "b": theirs}, example.references, ["cider-d"])
        [row] = found.plan(0.4).rows
        assert row["runs"] >= 2
        assert "unreachable" in str(found.plan(0.001))

    def test_estimate_before_systems_are_scored(self, example: Example) -> None:
        found = cidery.estimate_detectable(example.references, METRICS)
        people = [{i: group[n] for i, group in example.references.items()} for n in range(2)]
        rest = {i: group[2:] for i, group in example.references.items()}
        compared = cidery.compare({"a": people[0], "b": people[1]}, rest, METRICS)
        assert found == {m: compared.tests[m]["a", "b"].detectable for m in METRICS}
        with pytest.raises(InputError, match="0 of 72 images have 3 references or more"):
            cidery.estimate_detectable({i: g[:2] for i, g in example.references.items()})

    def test_bad_difference(self, systems: Any, example: Example) -> None:
        found = cidery.compare(systems, example.references, ["cider-d"])
        with pytest.raises(SettingError, match="difference must be positive, not -1"):
            found.plan(-1)


class TestOddInput:
    def test_identical_systems(self, example: Example) -> None:
        systems = dict.fromkeys("abc", example.system_a)
        found = cidery.compare(systems, example.references)
        for pairs in found.tests.values():
            for test in pairs.values():
                assert (test.p, test.adjusted_p, test.verdict) == (1.0, 1.0, "undecided")
        assert {one.cluster for one in found.rankings["cider-d"]} == {"a"}
        assert {one.rank for one in found.rankings["cider-d"]} == {1}

    def test_one_image(self) -> None:
        systems = {"a": ["a dog runs"], "b": ["a cat"], "c": ["a dog"]}
        found = cidery.compare(systems, [["a dog runs fast"]], ["rouge-l"])
        for test in found.tests["rouge-l"].values():
            assert test.p == 1.0 and test.verdict == "undecided"

    def test_many_systems(self, example: Example) -> None:
        images = list(example.references)[:20]
        references = {image: example.references[image] for image in images}
        systems = {
            f"s{n}": {image: mix(example, n / 200, n)[image] for image in images} for n in range(60)
        }
        found = cidery.compare(systems, references, ["rouge-l"], resamples=100)
        assert len(found.rankings["rouge-l"]) == 60
        assert "·" not in str(found)  # no matrix of so many
        assert len(found.tests["rouge-l"]) == 60 * 59 // 2

    def test_many_clusters_are_ranges_of_ranks(self, example: Example) -> None:
        systems = {f"s{n}": mix(example, n / 80, n) for n in range(40)}
        found = cidery.compare(systems, example.references, ["rouge-l"], resamples=100)
        ranked = found.rankings["rouge-l"]
        assert max(len(one.cluster) for one in ranked) > 10
        first = ranked[0]
        assert first.rank_range == f"1–{40 - first.against.count('>')}" and ">" in first.against
        table = found.table()
        assert "ranks" in table.header and first.rank_range in str(table).splitlines()[1]
        assert "ranks: from 1 + the number of systems that are significantly" in table.notes[0]
        assert rf"\textsuperscript{{1--{first.last_rank}}}" in found.to_latex()
