"""Plain functions as metrics."""

from __future__ import annotations

import functools
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import cidery
from cidery import meta
from cidery.cli import main
from cidery.compat.huggingface import CaptionMetrics
from cidery.errors import InputError, SettingError
from cidery.metrics import FunctionMetric, get_metrics
from cidery.runtime import use_progress
from support.example import Example

CANDIDATES = {"a": ["A Dog  runs!", "A Dog  runs!", "a cat"], "b": "A Dog  runs!"}
REFERENCES = {"a": ["The dog, running.", "A dog\tran"], "b": ["Two cats"]}


def share_letters(candidate: str, references: list[str]) -> float:
    """Share of the candidate's letters that the first reference has."""
    letters = set(candidate)
    return len(letters & set(references[0])) / len(letters) if letters else 0.0


def test_it_gets_what_was_given_once_for_each_pair() -> None:
    calls: list[tuple[str, list[str]]] = []

    def watch(candidate: str, references: list[str]) -> float:
        calls.append((candidate, references))
        references.append("changed")  # its own list: the next call does not see this
        return len(calls)

    table = cidery.score(CANDIDATES, REFERENCES, watch)
    assert [caption for caption, _ in calls] == ["A Dog  runs!", "a cat", "A Dog  runs!"]
    assert [references[:-1] for _, references in calls] == [
        REFERENCES["a"],
        REFERENCES["a"],
        REFERENCES["b"],
    ]
    assert table.each["watch"].tolist() == [1, 1, 2, 3]
    assert table.corpus["watch"] == 7 / 4


@pytest.mark.filterwarnings("error")
def test_intervals_tests_and_signatures(example: Example) -> None:
    table = cidery.score(example.system_a, example.references, share_letters)
    each = table.each["share_letters"]
    assert each.tolist() == [
        share_letters(caption, example.references[image])
        for image, caption in example.system_a.items()
    ]
    interval = table.interval("share_letters")
    assert interval.low < each.mean() < interval.high
    assert table.signatures["share_letters"] == (
        f"share_letters|function:{__name__}.share_letters|refs:5|tokenizer:ptb"
        f"|version:{cidery.__version__}"
    )
    systems = {"a": example.system_a, "b": example.system_b}
    test = cidery.compare(systems, example.references, share_letters).tests["share_letters"]
    assert test["a", "b"].difference == pytest.approx(
        each.mean()
        - cidery.score(example.system_b, example.references, share_letters).corpus["share_letters"]
    )


def test_rewards_adapters_diversity_and_meta_give_the_same(
    example: Example, tmp_path: Path
) -> None:
    expected = cidery.score(example.system_a, example.references, share_letters)
    images, captions = list(example.system_a), list(example.system_a.values())
    reward = cidery.Reward(example.references, share_letters)
    np.testing.assert_array_equal(reward(images, captions), expected.each["share_letters"])
    mixed = cidery.Reward(example.references, {share_letters: 2.0, "rouge-l": 1.0})
    assert list(mixed.weights) == ["share_letters", "rouge-l"]
    by_adapter = CaptionMetrics([share_letters]).compute(
        predictions=captions, references=[example.references[image] for image in images]
    )
    assert by_adapter == expected.corpus
    sets = {image: [caption, "a dog"] for image, caption in example.system_a.items()}
    table = cidery.measure_diversity(
        sets, "distinct", references=example.references, accuracy=share_letters
    )
    assert f"accuracy|metric:share_letters|function:{__name__}" in table.signatures["accuracy"]
    ranked = cidery.rank_references({"a": ["xyz", "a dog", "a cat!"]}, Weighted(2.0))
    assert [(one.score, one.caption) for one in ranked["a"]] == [
        (12.0, "a cat!"),
        (10.0, "a dog"),
        (6.0, "xyz"),
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text(
        '{"image": 1, "references": ["a dog runs"]}\n'
        '{"image": 1, "pair": ["a dog", "xyz"], "votes": [1]}\n'
    )
    found = meta.evaluate(meta.read_dataset("judgments", file), share_letters, resamples=0)
    assert found.results["share_letters"]["accuracy"] == 1.0
    assert found.signatures["share_letters"].startswith(
        f"share_letters|function:{__name__}.share_letters|"
    )


def test_token_ids_reach_it_as_words() -> None:
    seen: list[str] = []

    def watch(candidate: str, references: list[str]) -> float:
        seen.append(candidate)
        return 0.0

    reward = cidery.Reward({"a": ["a dog"]}, watch, vocabulary=["<pad>", "a", "dog"], pad=0)
    reward(["a"], [[1, 2, 0]])
    assert seen == ["a dog"]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (float("nan"), "returned nan for the caption 'a dog', expected a finite number"),
        (float("-inf"), "returned -inf for the caption 'a dog', expected a finite number"),
        (None, "returned None for the caption 'a dog', expected a number"),
        ("high", "returned 'high' for the caption 'a dog', expected a number"),
        ([1.0, 2.0], "returned [1.0, 2.0] for the caption 'a dog', expected a number"),
    ],
)
def test_results_that_are_no_scores(returned: object, message: str) -> None:
    def judge(candidate: str, references: list[str]) -> object:
        return returned

    with pytest.raises(InputError) as caught:
        cidery.score(["a dog"], [["a cat"]], judge)  # type: ignore[arg-type]
    assert str(caught.value) == f"judge {message}"


def test_exceptions_name_function_and_caption() -> None:
    def divide(candidate: str, references: list[str]) -> float:
        return 1 / (len(candidate) - 5)

    with pytest.raises(InputError) as caught:
        cidery.score(["a cat!", "a dog"], [["a"], ["b"]], divide)
    assert str(caught.value) == (
        "divide failed on the caption 'a dog': ZeroDivisionError: division by zero"
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_progress() -> None:
    seen: list[tuple[str, float]] = []
    with use_progress(lambda what, share: seen.append((what, share))):
        cidery.score(CANDIDATES, REFERENCES, share_letters)
    shares = [share for what, share in seen if what == "scoring by share_letters"]
    assert len(shares) >= 4 and shares == sorted(shares)


@dataclass
class Weighted:
    """An object that can be called, but has no hash."""

    weight: float

    def __call__(self, candidate: str, references: list[str]) -> float:  # noqa: ARG002
        return self.weight * len(candidate)


def test_objects_that_can_be_called() -> None:
    one, two = Weighted(1.0), Weighted(2.0)
    assert list(get_metrics([one, Weighted(1.0)])) == ["Weighted"]
    table = cidery.score(["a dog"], [["a"]], {"one": one, "two": two})
    assert table.corpus == {"one": 5.0, "two": 10.0}
    assert cidery.Reward([["a"]], two)([0], ["a dog"]).tolist() == [10.0]
    partial = functools.partial(share_letters, references=["a dog"])
    assert list(get_metrics(partial)) == ["partial"]
    with pytest.raises(
        SettingError, match=r"two metrics have the label 'Weighted:function=.*Weighted'"
    ):
        get_metrics([one, two])


def test_two_functions_of_one_name() -> None:
    def outer() -> object:
        def share_letters(candidate: str, references: list[str]) -> float:
            return 0.0

        return share_letters

    other = outer()
    assert list(get_metrics([share_letters, share_letters])) == ["share_letters"]
    assert list(get_metrics([share_letters, other])) == [  # type: ignore[list-item]
        f"share_letters:function={__name__}.share_letters",
        f"share_letters:function={__name__}.test_two_functions_of_one_name.<locals>.outer.<locals>"
        ".share_letters",
    ]


def test_labels_of_a_mapping() -> None:
    chosen = get_metrics({"mine": share_letters, "theirs": "cider-d:sigma=4"})
    assert chosen == {"mine": FunctionMetric(share_letters), "theirs": cidery.CiderD(sigma=4.0)}
    table = cidery.score(CANDIDATES, REFERENCES, {"mine": share_letters, "also": share_letters})
    assert list(table.corpus) == ["mine", "also"]
    with pytest.raises(SettingError, match="'mine': 'bleu' is a family of 4 metrics"):
        get_metrics({"mine": "bleu"})
    with pytest.raises(SettingError, match="the label of a metric must be a string, not 7"):
        get_metrics({7: "bleu-1"})  # type: ignore[dict-item]
    with pytest.raises(SettingError, match="no metrics given"):
        get_metrics({})


def test_it_is_a_value() -> None:
    metric = FunctionMetric(len)  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert hash(metric) == hash(FunctionMetric(len))  # type: ignore[arg-type]
    assert metric != FunctionMetric(max)  # type: ignore[arg-type]


class TestCommandLine:
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", sys.path.copy())
        Path("c.json").write_text('{"a": "a dog"}')
        Path("r.json").write_text('{"a": ["a cat"]}')

    def test_module_and_function(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("lengths_of_texts.py").write_text(
            "class Lengths:\n    @staticmethod\n    def letters(candidate, references):\n"
            "        return len(candidate)\ndef words(candidate, references):\n"
            "    return len(candidate.split())\n"
        )
        chosen = ("-m", "lengths_of_texts:words", "-m", "lengths_of_texts:Lengths.letters")
        assert main(["score", "c.json", "r.json", *chosen, "-f", "json"]) == 0
        assert '"words": 2.0,\n    "letters": 5.0' in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("no_such:f", "'no_such:f' cannot be imported: ModuleNotFoundError: No module named"),
            ("math:no_such", "'math:no_such' cannot be imported: AttributeError: module 'math'"),
            ("math:pi", "'math:pi' is float, expected a function"),
            ("cider-d:sigma", "'cider-d:sigma': expected setting=value, found 'sigma'"),
        ],
    )
    def test_what_cannot_be_used(
        self, name: str, message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["score", "c.json", "r.json", "-m", name]) == 2
        assert message in capsys.readouterr().err
