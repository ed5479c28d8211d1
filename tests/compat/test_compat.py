"""Adapters give the numbers of cidery.score, in the manners of other packages."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.compat.frames import score_frame
from cidery.compat.huggingface import CaptionMetrics
from cidery.errors import InputError, InputNote, MismatchError, SettingError
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
METRICS = ["bleu-4", "rouge-l", "cider-d"]


@pytest.fixture(scope="module")
def lists(example: Example) -> tuple[list[str], list[list[str]]]:
    return list(example.system_a.values()), [example.references[i] for i in example.system_a]


@pytest.fixture(scope="module")
def expected(lists: tuple[list[str], list[list[str]]]) -> cidery.ScoreTable:
    return cidery.score(*lists, metrics=METRICS)


# --- Hugging Face ------------------------------------------------------------------------------


def test_compute_as_evaluate_does(lists: Any, expected: cidery.ScoreTable) -> None:
    predictions, references = lists
    metrics = CaptionMetrics(METRICS)
    found = metrics.compute(predictions=predictions, references=references)
    assert found == dict(expected.corpus)
    assert metrics.name == "bleu-4+rouge-l+cider-d"
    metrics.add(prediction=predictions[0], reference=references[0])
    metrics.add_batch(predictions=predictions[1:20], references=references[1:20])
    assert metrics.compute(predictions=predictions[20:], references=references[20:]) == found
    with pytest.raises(InputError, match="no predictions"):  # compute forgets
        metrics.compute()


def test_compute_takes_single_references_and_settings() -> None:
    metrics = CaptionMetrics("bleu-1", tokenizer="whitespace")
    assert metrics.compute(predictions=["a b"], references=["a b"])["bleu-1"] == pytest.approx(1)
    assert metrics.compute(predictions=["A b"], references=[["a b"]])["bleu-1"] < 0.6
    with pytest.raises(InputError, match="2 predictions, but references for 1"):
        metrics.compute(predictions=["a", "b"], references=["a"])
    with pytest.raises(InputError, match="pass predictions and references together"):
        metrics.compute(predictions=["a"])


# --- torchmetrics ------------------------------------------------------------------------------


def score_a_share(folder: Path, rank: int) -> None:
    """Be one of two processes that train together."""
    from torch import distributed

    from cidery.compat.torchmetrics import CaptionScore

    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    predictions, references = json.loads((folder / "captions.json").read_text())
    # Uneven shares, with the first image in both, as samplers pad the last batch; then all to one.
    shared = list(range(50)) if rank == 0 else [*range(50, len(predictions)), 0]
    empty = list(range(len(predictions))) if rank == 0 else []
    metric = CaptionScore(METRICS)
    found = {}
    for kind, rows in (("shared", shared), ("empty", empty)):
        for start in range(0, len(rows), 7):
            batch = rows[start : start + 7]
            texts = [predictions[i] for i in batch], [references[i] for i in batch]
            metric.update(*texts, ids=batch)
        local = len(metric.lines)
        found[kind] = {name: value.item() for name, value in metric.compute().items()}
        assert len(metric.lines) in (local, 1)  # unsynced again
        metric.reset()
        assert metric.lines == []
    (folder / f"rank-{rank}.json").write_text(json.dumps(found))
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def torchmetrics() -> Any:
    """The package, or a reason to skip."""
    return pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")


@pytest.mark.filterwarnings("ignore")  # of torchmetrics, where one has no captions
@pytest.mark.usefixtures("torchmetrics")
def test_two_processes_find_what_one_finds(
    tmp_path: Path, lists: Any, expected: cidery.ScoreTable
) -> None:
    (tmp_path / "captions.json").write_text(json.dumps(lists))
    # Forked: importing torchmetrics takes seconds.
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=score_a_share, args=(tmp_path, rank)) for rank in (0, 1)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    for rank in (0, 1):
        by_kind = json.loads((tmp_path / f"rank-{rank}.json").read_text())
        for found in (by_kind["shared"], by_kind["empty"]):
            assert found == pytest.approx(dict(expected.corpus), rel=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.usefixtures("torchmetrics")
def test_metric_on_one_process(lists: Any, expected: cidery.ScoreTable) -> None:
    from cidery.compat.torchmetrics import CaptionScore

    predictions, references = lists
    metric = CaptionScore(METRICS)
    for start in range(0, len(predictions), 10):
        rows = slice(start, start + 10)
        metric.update(predictions[rows], references[rows])
    found = {name: value.item() for name, value in metric.compute().items()}
    assert found == pytest.approx(dict(expected.corpus), rel=1e-12)
    again = pickle.loads(pickle.dumps(metric)).compute()
    assert {name: value.item() for name, value in again.items()} == found
    metric.reset()
    metric.update(["a dog \N{DOG FACE}\N{LINE SEPARATOR}x"], ["a dog"], ids=np.array([3]))
    metric.update(["again"], ["a dog"], ids=[3])  # the same image: the first counts
    metric.update([], [])
    assert metric.compute()["rouge-l"] > 0.5
    of_batch = metric(["a dog"], [["a dog"]])
    assert of_batch["rouge-l"] == pytest.approx(1.0)
    with pytest.raises(InputError, match="1 predictions, references for 2"):
        metric.update(["a"], ["a", "b"])
    with pytest.raises(InputError, match="not a single text"):
        metric.update("a", "b")


# --- frames ------------------------------------------------------------------------------------


def make_frames(library: Any, example: Example) -> tuple[Any, Any]:
    candidates = library.DataFrame(
        {"image_id": list(example.system_a), "caption": list(example.system_a.values())}
    )
    pairs = [(image, c) for image, captions in example.references.items() for c in captions]
    references = library.DataFrame(
        {"image_id": [i for i, _ in pairs], "caption": [c for _, c in pairs]}
    )
    return candidates, references


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_frames(name: str, example: Example, lists: Any, expected: cidery.ScoreTable) -> None:
    library = pytest.importorskip(name)
    candidates, references = make_frames(library, example)
    for given in (references, example.references):
        scored = score_frame(candidates, given, METRICS)
        assert type(scored) is library.DataFrame
        assert list(scored.columns) == ["image_id", "caption", *METRICS]
        for metric in METRICS:
            np.testing.assert_array_equal(scored[metric].to_numpy(), expected.each[metric])
    assert list(candidates.columns) == ["image_id", "caption"]
    own = library.DataFrame({"caption": lists[0], "references": lists[1]})
    np.testing.assert_array_equal(
        score_frame(own, metrics=METRICS)["cider-d"].to_numpy(), expected.each["cider-d"]
    )
    half = candidates[:40]
    assert len(score_frame(half, references, "rouge-l")) == 40
    with pytest.raises(SettingError, match="columns named rouge-l already"):
        score_frame(scored, references, "rouge-l")
    with pytest.raises(InputError, match="no column 'text'; it has image_id, caption"):
        score_frame(candidates, references, caption="text")
    with pytest.raises(MismatchError, match="candidates but no references"):
        score_frame(candidates, {image: ["a"] for image in list(example.references)[:5]})


def test_frames_that_pandas_read_from_csv_have_lists_in_text() -> None:
    pandas = pytest.importorskip("pandas")
    lists = [["a b", "b"], ["d", "e"]]
    frame = pandas.DataFrame({"caption": ["a b", "c"], "references": lists})
    text = pandas.DataFrame({"caption": ["a b", "c"], "references": list(map(str, lists))})
    with pytest.warns(InputNote, match="the column 'references' has lists in text, read as lists"):
        scored = score_frame(text, metrics="rouge-l")
    assert scored["rouge-l"].tolist() == score_frame(frame, metrics="rouge-l")["rouge-l"].tolist()


def test_frames_keep_the_index_and_refuse_the_rest() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"caption": ["a b", "c"], "references": ["a b", "d"]}, index=["x", "y"]
    )
    scored = score_frame(frame, metrics="rouge-l")
    assert list(scored.index) == ["x", "y"]
    assert list(scored["rouge-l"]) == [1.0, 0.0]
    several = pandas.DataFrame({"image_id": [1, 1], "caption": ["a b", "c"]})
    assert list(score_frame(several, {1: ["a b"]}, "rouge-l")["rouge-l"]) == [1.0, 0.0]
    with pytest.raises(InputError, match="expected a DataFrame of pandas or polars, not list"):
        score_frame([1])
    polars = pytest.importorskip("polars")
    with pytest.raises(InputError, match=r"call collect\(\) first"):
        score_frame(polars.LazyFrame({"caption": ["a"]}))


# --- what is loaded ----------------------------------------------------------------------------


def test_adapters_load_nothing_that_is_not_used() -> None:
    code = (
        "import sys, cidery, cidery.coco, cidery.compat.huggingface, cidery.compat.frames\n"
        "heavy = {'torch', 'torchmetrics', 'pandas', 'polars', 'pycocoevalcap', 'pycocotools'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_missing_torchmetrics_names_the_extra() -> None:
    code = (
        "import sys\n"
        "sys.modules['torchmetrics'] = None\n"
        "try: import cidery.compat.torchmetrics\n"
        "except ImportError as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError torchmetrics is needed" in done.stdout
    assert "cidery[torch]" in done.stdout


@pytest.mark.usefixtures("torchmetrics")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_page_on_torchmetrics_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text()
    blocks = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 1
    exec(blocks[0], {})
