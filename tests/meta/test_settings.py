"""Settings of agreement: one place for the function, the command and the cache."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cidery import Cider, CiderD, meta
from cidery.cli import main
from cidery.diversity import SelfCider
from cidery.errors import SettingError
from cidery.meta.evaluation import find_keys
from cidery.meta.settings import Settings
from cidery.metrics import METRICS
from cidery.text import Tokenizer
from support import judged as made
from support.example import Example

Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `cidery meta judgments` with a cache folder of its own and return its JSON."""
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path / "kept"))

    def call(file: Path, *options: str) -> Any:
        assert main(["meta", "judgments", str(file), "-f", "json", *options]) == 0
        return json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def pairs_file(tmp_path: Path, example: Example) -> Path:
    return made.write_pairs(tmp_path / "p.jsonl", example.references)


@pytest.fixture
def questions_file(tmp_path: Path, example: Example) -> Path:
    return made.write_questions(tmp_path / "q.jsonl", example.references)


@pytest.fixture
def triplets_file(tmp_path: Path, example: Example) -> Path:
    return made.write_triplets(tmp_path / "t.jsonl", example.references)


@pytest.fixture
def sets_file(tmp_path: Path, example: Example) -> Path:
    return made.write_sets(tmp_path / "s.jsonl", example.references)


OPTIONS = {"references": "--references-per-image"}
"""Options with other names than their settings."""
CHANGES: dict[str, Any] = {
    "protocol": "wins",
    "references": 2,
    "draw": "first",
    "concatenate": True,
    "mean_ratings": True,
    "undecided": "half",
    "kind": "HC",
    "question": "recall",
    "system": ("good", "cut"),
    "without_system": ("wrong",),
    "sample": 9,
    "reference_counts": (1, 2),
    "draws": 2,
    "tests": True,
    "resamples": 7,
    "seed": 3,
    "tokenizer": "whitespace",
    "language": "de",
    "frequencies": "coco-val2014",
}


NEEDED: dict[str, dict[str, Any]] = {
    "mean_ratings": {"question": "recall"},  # which has two ratings of a caption
    "draw": {"references": 2},
    "reference_counts": {"protocol": "references"},
    "draws": {"protocol": "references", "reference_counts": (1,)},
}
"""What else must be set for a change to matter."""
OF_RATINGS = ("mean_ratings", "question", "system", "without_system")


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Settings)])
def test_every_setting_is_an_option(
    name: str, run: Run, pairs_file: Path, questions_file: Path
) -> None:
    """The command gives what the function gives, and something else than without the option."""
    file = questions_file if name in OF_RATINGS else pairs_file
    dataset = meta.read_dataset("judgments", file)
    needed = NEEDED.get(name, {})
    changed = needed | {name: CHANGES[name]}
    metrics = ["cider-d", "bleu-4:faithful=paper"]
    asked = [word for metric in metrics for word in ("-m", metric)]
    found = run(file, *asked, *_spell(changed))
    assert found == json.loads(meta.evaluate(dataset, metrics, **changed).to_json())
    assert found != run(file, *asked, *_spell(needed))


def _spell(settings: dict[str, Any]) -> list[str]:
    words = []
    for name, value in settings.items():
        option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
        values = value if isinstance(value, tuple) else (value,)
        words += [option] if value is True else [w for v in values for w in (option, str(v))]
    return words


def test_every_setting_is_described_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["meta", "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for field in dataclasses.fields(Settings):
        option = OPTIONS.get(field.name, f"--{field.name.replace('_', '-')}")
        assert f"{option} " in printed
        (help_,) = _get_help(field.name)
        if field.name not in ("tokenizer", "language", "frequencies"):  # options of all commands
            assert help_.text in printed
            if field.default not in (None, ()) and field.default is not False:
                assert f"{help_.text} [default: {field.default}]" in printed


def _get_help(name: str) -> tuple[Any, ...]:
    import typing

    return typing.get_args(typing.get_type_hints(Settings, include_extras=True)[name])[1:]


def test_all_settings_are_part_of_the_key(pairs_file: Path) -> None:
    dataset = meta.read_dataset("judgments", pairs_file)
    # Results with tests are not cached.
    changes = {name: value for name, value in CHANGES.items() if name != "tests"}
    settings = [Settings(), *(Settings(**{name: value}) for name, value in changes.items())]
    keys = {find_keys(dataset, {"": METRICS["cider"]}, chosen)[""] for chosen in settings}
    metrics = {str(m): m for m in (CiderD(), CiderD(sigma=4), Cider(n=3))}
    keys |= {*find_keys(dataset, metrics, Settings()).values()}
    assert len(keys) == len(settings) + 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"protocol": "consensus"}, "protocol must be one of triplets, .*, not 'consensus'"),
        ({"draw": "last"}, "draw must be one of own, random, first, not 'last'"),
        ({"undecided": "maybe"}, "undecided must be one of wrong, half, drop, not 'maybe'"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"resamples": -1}, "resamples must be at least 0, not -1"),
        ({"draws": 0}, "draws must be at least 1, not 0"),
        ({"reference_count": 1}, "there is no setting 'reference_count'; known: protocol, ref"),
    ],
)
def test_refusals(settings: dict[str, Any], message: str, pairs_file: Path) -> None:
    with pytest.raises(SettingError, match=message):
        meta.evaluate(meta.read_dataset("judgments", pairs_file), "rouge-l", **settings)


def test_settings_and_changes(pairs_file: Path) -> None:
    dataset = meta.read_dataset("judgments", pairs_file)
    settings = Settings(undecided="half", sample=20)
    found = meta.evaluate(dataset, "rouge-l", settings, seed=5)
    assert found.results["rouge-l"]["pairs"] == 20
    same = meta.evaluate(dataset, "rouge-l", undecided="half", sample=20, seed=5)
    assert found.results == same.results


def test_measures_are_cached(run: Run, sets_file: Path, tmp_path: Path) -> None:
    first = run(sets_file, "-m", "self-cider", "-m", "lsa")
    assert list(first["results"]) == ["self-cider", "lsa"]
    assert first["signatures"]["self-cider"].startswith("self-cider|kernel:cider|")
    assert "|frequencies:coco-train2014-" in first["signatures"]["self-cider"]
    assert (tmp_path / "kept" / "agreement-v1.sqlite").exists()
    assert run(sets_file, "-m", "self-cider", "-m", "lsa") == first
    assert run(sets_file, "-m", "self-cider", "-m", "lsa", "--no-cache") == first


def test_measures_by_label(sets_file: Path) -> None:
    dataset = meta.read_dataset("judgments", sets_file)
    measures: dict[str, Any] = {
        "words": "lsa",
        "pairs": SelfCider("cider-d"),
        "again": SelfCider("cider-d"),
        "size": len,
    }
    found = meta.evaluate(dataset, measures)
    assert list(found.results) == list(measures)
    alone = meta.evaluate(dataset, SelfCider("cider-d"))
    assert found.results["pairs"] == found.results["again"] == alone.results["self-cider"]
    assert found.signatures["pairs"] == alone.signatures["self-cider"]
    assert found.signatures["size"] == "size|function"
    both = meta.evaluate(dataset, [SelfCider(), SelfCider("cider-d")])
    assert len(both.results) == 2


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_two_settings_of_a_metric_are_distinguished(run: Run, pairs_file: Path) -> None:
    found = run(pairs_file, "-m", "cider-d", "-m", "cider-d:sigma=4")
    default, other = found["signatures"]
    assert found["signatures"][default] != found["signatures"][other]
    assert "sigma:4|" in found["signatures"][other]
    assert other != "cider-d"
    assert [*found["results"]] == ["human", default, other]
    alone = run(pairs_file, "-m", "cider-d:sigma=4")
    (signature,) = alone["signatures"].values()
    assert signature == found["signatures"][other]


@pytest.mark.parametrize("protocol", ["preference", "wins", "corruption", "references"])
def test_signatures_say_how_many_references_were_used(protocol: Any, pairs_file: Path) -> None:
    dataset = meta.read_dataset("judgments", pairs_file)
    found = meta.evaluate(
        dataset,
        ["cider-d", "bleu-4", "rouge-l"],
        protocol=protocol,
        reference_counts=(1, 3),
        draws=1,
        resamples=0,
        frequencies="coco-val2014",
    )
    expected = {"corruption": "3", "references": "1-3"}.get(protocol, "4")
    for signature in found.signatures.values():
        assert f"|refs:{expected}|" in signature


def test_references_are_tokenized_once(pairs_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores and signatures come from the same prepared references."""
    cut: list[int] = []
    original = Tokenizer.__call__

    def count(self: Tokenizer, captions: Any, *rest: Any) -> Any:
        cut.append(len(captions))
        return original(self, captions, *rest)

    monkeypatch.setattr(Tokenizer, "__call__", count)
    dataset = meta.read_dataset("judgments", pairs_file)
    assert isinstance(dataset, meta.Pairs)
    meta.evaluate(dataset, ["rouge-l", "bleu-4"])
    assert cut == [sum(map(len, dataset.judged.references)), len(dataset.judged.captions)]


def test_metrics_of_other_packages_are_not_kept(pairs_file: Path, tmp_path: Path) -> None:
    """Their code may change while cidery's version stays the same."""

    class Theirs(CiderD):
        pass

    meta.evaluate(
        meta.read_dataset("judgments", pairs_file),
        [Theirs()],
        frequencies="coco-val2014",
        cache=tmp_path / "kept",
    )
    assert not (tmp_path / "kept").exists()


@dataclasses.dataclass(frozen=True)
class WholeCiderD(CiderD):
    """CIDEr-D of another package: it is not known to be a mean over references."""


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_fewer_references_keep_the_frequencies_of_all(triplets_file: Path) -> None:
    """Whether a metric is scored once per reference or once per draw, weights are the same."""
    found = meta.evaluate(
        meta.read_dataset("judgments", triplets_file),
        {"by reference": CiderD(), "by draw": WholeCiderD()},
        protocol="references",
        reference_counts=(1, 2, 3),
    )
    assert found.results["by reference"] == pytest.approx(found.results["by draw"])
    for signature in found.signatures.values():
        assert "|refs:1-3|" in signature
        assert "|frequencies:all-" in signature
