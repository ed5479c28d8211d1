"""A stream is resumed only where everything that its scores depend on is the same."""

from __future__ import annotations

import gzip
import importlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cidery
from cidery import storage
from cidery.engines import content, count_frequencies
from cidery.errors import InputError, SettingError
from support.example import Example
from support.streams import HERE, Stopping, check_same, score_here, score_in_memory, write_streams

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

WEIGHT = 2.0


@pytest.fixture
def sides(example: Example, tmp_path: Path) -> tuple[str, str]:
    return write_streams(tmp_path, *example.many(60))


def interrupt(tmp_path: Path, sides: tuple[str, str], metrics: Any, **settings: Any) -> None:
    """Leave a run in which one partition of four is scored."""
    with pytest.raises(KeyboardInterrupt):
        score_here(
            tmp_path,
            sides,
            metrics,
            engine=Stopping("score_partition", 1),
            partitions=4,
            **settings,
        )


def refuse(
    tmp_path: Path, sides: tuple[str, str], metrics: Any, problem: str, **settings: Any
) -> None:
    """Assert that the run is not resumed."""
    with pytest.raises(InputError, match=rf"contains an unfinished run, but {problem}"):
        score_here(tmp_path, sides, metrics, partitions=4, **settings)


def count_words(caption: str, references: list[str]) -> float:
    return len(caption.split()) / len(references)


def count_letters(caption: str, references: list[str]) -> float:
    return len(caption) / len(references)


def weigh_words(caption: str, references: list[str]) -> float:
    return WEIGHT * call_helper(caption) / len(references)


def call_helper(caption: str) -> int:
    return len(caption.split())


class CountTimes:
    def __init__(self, times: float) -> None:
        self.times = times

    def __call__(self, caption: str, references: list[str]) -> float:
        return self.times * len(caption) / len(references)


def make_closure(times: float) -> Callable[[str, list[str]], float]:
    def score(caption: str, references: list[str]) -> float:
        return times * len(caption) / len(references)

    return score


def split_spaces(caption: str) -> list[str]:
    return caption.split()


def split_letters(caption: str) -> list[str]:
    return list(caption)


# Settings name a function; these have equal names and different code.
count_letters.__name__ = count_letters.__qualname__ = "count_words"
split_letters.__name__ = split_letters.__qualname__ = "split_spaces"


def test_the_code_of_a_function(tmp_path: Path, sides: tuple[str, str]) -> None:
    interrupt(tmp_path, sides, {"own": count_words})
    refuse(tmp_path, sides, {"own": count_letters}, "the metric 'own' changed after it started")


def test_a_constant_that_a_function_uses(
    tmp_path: Path, sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(tmp_path, sides, {"own": weigh_words})
    monkeypatch.setattr(sys.modules[__name__], "WEIGHT", 3.0)
    refuse(tmp_path, sides, {"own": weigh_words}, "the metric 'own' changed after it started")


def test_a_function_that_a_function_calls(
    tmp_path: Path, sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(tmp_path, sides, {"own": weigh_words})
    monkeypatch.setattr(sys.modules[__name__], "call_helper", len)
    refuse(tmp_path, sides, {"own": weigh_words}, "the metric 'own' changed after it started")


def test_a_module_that_a_function_uses(
    tmp_path: Path, sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path / "code")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "code").mkdir()
    inner, outer = tmp_path / "code" / "inner_code.py", tmp_path / "code" / "outer_code.py"
    inner.write_text("TIMES = 2\n")
    outer.write_text("import inner_code\ndef score(c, r): return inner_code.TIMES * len(c)\n")
    module = importlib.import_module("outer_code")
    interrupt(tmp_path, sides, {"own": module.score})
    inner.write_text("TIMES = 30\n")
    importlib.reload(sys.modules["inner_code"])
    refuse(tmp_path, sides, {"own": module.score}, "the metric 'own' changed after it started")
    for name in ("inner_code", "outer_code"):
        del sys.modules[name]


@pytest.mark.parametrize("make", [CountTimes, make_closure])
def test_the_state_of_a_function(
    make: Callable[[float], Any], example: Example, tmp_path: Path, sides: tuple[str, str]
) -> None:
    interrupt(tmp_path, sides, {"own": make(2.0)})
    refuse(tmp_path, sides, {"own": make(3.0)}, "the metric 'own' changed after it started")
    result = score_here(tmp_path, sides, {"own": make(2.0)}, partitions=4)
    check_same(result, score_in_memory(*example.many(60), {"own": make(2.0)}))


def test_a_lambda(example: Example, tmp_path: Path, sides: tuple[str, str]) -> None:
    interrupt(tmp_path, sides, {"own": lambda caption, _: len(caption)})
    changed = {"own": lambda caption, _: len(caption) + 1}
    refuse(tmp_path, sides, changed, "the metric 'own' changed after it started")
    same = {"own": lambda caption, _: len(caption)}
    result = score_here(tmp_path, sides, same, partitions=4)
    assert dict(result.table.corpus) == dict(
        score_in_memory(*example.many(60), {"own": lambda caption, _: len(caption)}).corpus
    )


def test_content_that_cannot_be_determined(tmp_path: Path, sides: tuple[str, str]) -> None:
    """Such a function is scored, but its run is not resumed."""
    lock = threading.Lock()

    def score(caption: str, _: list[str]) -> float:
        with lock:
            return len(caption)

    interrupt(tmp_path, sides, {"own": score})
    with pytest.raises(
        InputError,
        match=r"cannot be resumed: the metric 'own' uses `lock` \(an object of type lock\), whose "
        r"content cannot be compared with the first run's; remove that folder",
    ):
        score_here(tmp_path, sides, {"own": score}, partitions=4)
    other = score_here(tmp_path, sides, {"own": score}, work=tmp_path / "new", captions=None)
    assert other.captions == 60


def test_a_tokenizer(tmp_path: Path, sides: tuple[str, str]) -> None:
    interrupt(tmp_path, sides, "rouge-l", tokenizer=split_spaces)
    problem = "the tokenizer changed after it started"
    refuse(tmp_path, sides, "rouge-l", problem, tokenizer=split_letters)


def test_a_tokenizer_of_counts(tmp_path: Path, sides: tuple[str, str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        count_frequencies(
            sides[1],
            tokenizer=split_spaces,
            work=tmp_path / "work",
            engine=Stopping("count_partition", 0),
        )
    with pytest.raises(InputError, match="the tokenizer changed after it started"):
        count_frequencies(sides[1], tokenizer=split_letters, work=tmp_path / "work", engine=HERE)


def test_document_frequencies(example: Example, tmp_path: Path, sides: tuple[str, str]) -> None:
    references = example.many(60)[1]
    some = dict(list(references.items())[:30])
    for number, counted in enumerate((references, some)):
        cidery.DocumentFrequencies.from_references(counted, name="own").save(
            tmp_path / f"{number}.df"
        )
    interrupt(tmp_path, sides, "cider-d", frequencies=tmp_path / "0.df")
    problem = "the document frequencies changed after it started"
    refuse(tmp_path, sides, "cider-d", problem, frequencies=tmp_path / "1.df")


def test_a_meteor_table(tmp_path: Path, sides: tuple[str, str]) -> None:
    table = tmp_path / "own.table"
    for phrases in ("a cat\na kitten", "a dog\na puppy"):
        (tmp_path / "own.gz").write_bytes(gzip.compress(f"0.5\n{phrases}\n".encode()))
        storage.write_meteor_table(table, tmp_path / "own.gz")
        metric = cidery.Meteor(table=str(table))
        if not (tmp_path / "work").exists():
            interrupt(tmp_path, sides, {"own": metric})
    refuse(tmp_path, sides, {"own": metric}, "the metric 'own' changed after it started")


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_a_model_folder(file: str, tmp_path: Path, sides: tuple[str, str]) -> None:
    from support.tiny_models import make_model

    folder = tmp_path / "model"
    make_model("bert", folder)
    metric = cidery.BertScore(encoder=str(folder))
    interrupt(tmp_path, sides, {"own": metric})
    content = bytearray((folder / file).read_bytes())
    if file == "tokenizer.json":
        content += b" "
    else:
        content[-1] ^= 1
    (folder / file).write_bytes(content)
    refuse(tmp_path, sides, {"own": metric}, "the metric 'own' changed after it started")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("hash_library", "0" * 64, "cidery changed after it started"),
        ("list_dependencies", {"numpy": "0.1"}, "the package .* changed after it started"),
    ],
    ids=["library", "packages"],
)
def test_code_and_data_of_packages(
    name: str,
    value: Any,
    problem: str,
    tmp_path: Path,
    sides: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interrupt(tmp_path, sides, "rouge-l")
    monkeypatch.setattr(content, name, lambda: value)
    refuse(tmp_path, sides, "rouge-l", problem)


@pytest.mark.parametrize("label", ["file", "groups", "row", "image_id"])
def test_labels_that_are_columns(label: str, tmp_path: Path, sides: tuple[str, str]) -> None:
    with pytest.raises(SettingError, match=f"a metric cannot be labeled '{label}'"):
        score_here(tmp_path, sides, {label: "rouge-l"})
    with pytest.raises(SettingError, match=f"a metric cannot be labeled '{label}'"):
        cidery.Pipeline({label: cidery.RougeL()}, cidery.text.get_tokenizer("ptb"))
