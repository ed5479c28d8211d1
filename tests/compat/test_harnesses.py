"""Evaluation harnesses from PyPI, as they are, find the same numbers with cidery in place."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from support.example import Example
from support.harnesses import Captions, run_harness

# Few images are enough to compare tools.
pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

METRICS = ["bleu", "rouge-l", "cider-d", "meteor"]
NAMES = {
    "Bleu_1": "bleu-1",
    "Bleu_2": "bleu-2",
    "Bleu_3": "bleu-3",
    "Bleu_4": "bleu-4",
    "ROUGE_L": "rouge-l",
    "CIDEr": "cider-d",
    "METEOR": "meteor",
}
USUAL_TASKS = {
    "coco2014_cap_val": "coco",
    "coco2017_cap_val": "coco",
    "coco2017_cap_val_lite": "coco",
    "coco_karpathy_val": "coco",
    "coco_karpathy_test": "coco",
    "nocaps_val": "nocaps",
    "flickr30k_test": "flickr",
    "textcaps_val": "textcaps",
    "vatex_test": "vatex",
    "vatex_val_zh": "vatex",
    "refcoco_bbox_val": "refcoco",
    "refcoco+_bbox_val": "refcoco",
    "refcocog_bbox_val": "refcoco",
}
"""Tasks that score all references of each image, and how the names of their metrics begin."""
OTHER_TASKS = {"detailcaps", "screenspot_reg_test", "youcook2_val", "cuva_test", "funqa_test"}
COUNT = 20


@pytest.fixture(scope="module")
def captions(harnesses: Path, example: Example) -> Captions:
    images = list(example.references)[:COUNT]
    return (
        {image: example.system_a[image] for image in images},
        {image: example.references[image] for image in images},
    )


@pytest.fixture(scope="module")
def expected(captions: Captions, meteor_data: Path) -> dict[str, float]:
    """cidery.score, which other tests hold to pycocoevalcap's tools, under its names."""
    table = cidery.score(*captions, METRICS, tokenizer="ptb-coco")
    return {name: table.corpus[ours] for name, ours in NAMES.items()}


@pytest.fixture(scope="module")
def lmms_scores(captions: Captions) -> dict[str, Any]:
    """All tasks of lmms-eval that use pycocoevalcap, after `cidery.coco.install()`."""
    pytest.importorskip("yaml", reason="lmms-eval reads YAML")
    return run_harness("lmms-eval", "cidery", captions)["lmms-eval"]


@pytest.fixture(scope="module")
def scores(captions: Captions) -> dict[str, Any]:
    """The other harnesses, after `cidery.coco.install()`."""
    pytest.importorskip("torch", reason="LAVIS imports torch")
    harnesses = "lavis+open-flamingo+capevalkit+vlmeval"
    return run_harness(harnesses, "cidery", captions, "--without-spice")


def assert_close(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert math.isclose(found[name], value, rel_tol=1e-9), (name, found[name], value)


# --- lmms-eval -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("java")
def test_live_through_lmms_eval(
    captions: Captions, lmms_scores: dict[str, Any], expected: dict[str, float]
) -> None:
    """One task by itself, Java and all: the others build the same scorers in the same way."""
    metrics = ["coco_METEOR", "coco_CIDEr"]
    names = [f"coco2014_cap_val:{metric}" for metric in metrics]
    theirs = run_harness("lmms-eval", "original", captions, *names)["lmms-eval"]["coco2014_cap_val"]
    ours = lmms_scores["coco2014_cap_val"]
    assert_close({metric: ours[metric] for metric in metrics}, theirs)
    assert_close({metric: expected[metric.removeprefix("coco_")] for metric in metrics}, theirs)


def test_every_task_with_pycocoevalcap_is_here(harnesses: Path, lmms_scores: dict) -> None:
    folder = harnesses / "lmms_eval" / "tasks"
    users = {
        path.parent.name for path in folder.rglob("*.py") if "pycocoevalcap" in path.read_text()
    }
    tried = {task.split("_")[0] for task in (*USUAL_TASKS, *OTHER_TASKS)}
    assert {user.removesuffix("_cap") for user in users} == {
        name.replace("coco2014", "coco").replace("coco2017", "coco") for name in tried
    }
    assert lmms_scores.keys() == {*USUAL_TASKS, *OTHER_TASKS}


@pytest.mark.parametrize("task", USUAL_TASKS)
def test_tasks_of_lmms_eval(task: str, lmms_scores: dict, expected: dict[str, float]) -> None:
    prefix = USUAL_TASKS[task]
    found = {name.removeprefix(f"{prefix}_"): value for name, value in lmms_scores[task].items()}
    assert_close(found, {name: expected[name] for name in found})
    assert {"Bleu_4", "METEOR", "ROUGE_L", "CIDEr"} <= found.keys()


def test_tasks_with_fewer_references(captions: Captions, lmms_scores: dict) -> None:
    candidates, references = captions
    for task, prefix, count in (
        ("detailcaps", "detailcaps_", 3),
        ("screenspot_reg_test", "screenspot_", 1),
    ):
        fewer = {image: listed[:count] for image, listed in references.items()}
        table = cidery.score(candidates, fewer, METRICS, tokenizer="ptb-coco")
        found = {name.removeprefix(prefix): value for name, value in lmms_scores[task].items()}
        assert_close(found, {name: table.corpus[NAMES[name]] for name in found})


def test_tasks_that_score_parts(captions: Captions, lmms_scores: dict) -> None:
    candidates, references = captions
    firsts = {image: listed[:1] for image, listed in references.items()}
    parts: list[list[int]] = [[], [], []]
    for image in references:
        parts[image % 3].append(image)
    # youcook2 scores each video by itself; its BLEU, of any order, is the mean of four orders.
    videos = [
        cidery.score(
            {image: candidates[image] for image in part},
            {image: firsts[image] for image in part},
            METRICS,
            tokenizer="ptb-coco",
        ).corpus
        for part in parts
        if part
    ]
    means = {name: 100 * float(np.mean([v[ours] for v in videos])) for name, ours in NAMES.items()}
    bleu = float(np.mean([means[f"Bleu_{n}"] for n in range(1, 5)]))
    found = lmms_scores["youcook2_val"]
    assert_close(found, {name: bleu if "Bleu" in name else means[name] for name in found})
    # cuva and funqa score each caption by itself, then take the mean of three and of eight kinds.
    each = cidery.score(candidates, firsts, ["bleu-4", "rouge-l"], tokenizer="ptb").each
    place = {image: number for number, image in enumerate(references)}
    for task, kinds in (("cuva", 3), ("funqa", 8)):
        for name, metric in (("BLEU", "bleu-4"), ("ROUGE", "rouge-l")):
            of_parts = [np.mean([each[metric][place[i]] for i in part]) for part in parts if part]
            value = lmms_scores[f"{task}_test"][f"{task}_{name}"]
            assert math.isclose(value, sum(of_parts) / kinds, rel_tol=1e-9), (task, name)


@pytest.mark.usefixtures("java", "harnesses")
def test_chinese_goes_through_an_english_tokenizer() -> None:
    """vatex_val_zh: the same value as without cidery, which says little of Chinese."""
    pytest.importorskip("yaml", reason="lmms-eval reads YAML")
    references = {
        1: ["一个男人正在攀登雪山。", "一名男子在雪山上攀登。"],
        2: ["一位女士在她的手上涂抹面霜。"],
        3: ["一个戴着耳机的男人在打架子鼓。"],
    }
    candidates = {1: "一个男人在攀登雪山。", 2: "一位女士在涂抹面霜。", 3: "一个男人在打架子鼓。"}
    captions = candidates, references
    name = "vatex_val_zh:vatex_CIDEr"
    found, original = (
        run_harness("lmms-eval", side, captions, name)["lmms-eval"]["vatex_val_zh"]
        for side in ("cidery", "original")
    )
    assert_close(found, original)
    by_ptb = cidery.score(*captions, ["cider-d"], tokenizer="ptb-coco")
    by_character = cidery.score(*captions, ["cider-d"], tokenizer="words")
    # Sentences without blanks are one word each, and none of them is like another.
    assert found["vatex_CIDEr"] == by_ptb.corpus["cider-d"] < 0.1
    assert by_character.corpus["cider-d"] > 1


# --- the task files of cidery.compat.lmms_eval ---------------------------------------------------


@pytest.mark.model
def test_task_files_score_once_with_intervals_and_signatures(
    captions: Captions, expected: dict[str, float]
) -> None:
    pytest.importorskip("transformers", reason="lmms-eval imports transformers")
    names = "cidery_nocaps_val", "cidery_vatex_val_zh", "--without-spice"
    found = run_harness("lmms-eval-tasks", "cidery", captions, *names)["lmms-eval-tasks"]
    values = found["cidery_nocaps_val"]
    assert values["samples"] == COUNT
    assert_close({name: values[name] for name in expected}, expected)
    table = cidery.score(*captions, METRICS, tokenizer="ptb-coco")
    intervals = table.intervals()
    for name, ours in NAMES.items():
        interval = intervals[ours]
        assert values[f"{name}_interval"] == f"[{interval.low:.4f}, {interval.high:.4f}]"
        assert table.signatures[ours] in values["signatures"]
    assert values["SPICE"] == "left out", "here, to save time"
    chinese = found["cidery_vatex_val_zh"]
    assert "tokenizer:words" in chinese["signatures"]
    assert not {"METEOR", "SPICE"} & chinese.keys()


DOCUMENT = {
    "question_id": "COCO_val2014_000000391895.jpg",
    "filename": "COCO_val2014_000000391895.jpg",
    "image_id": 391895,
    "img_id": 391895,
    "videoID": "391895",
    "answer": ["a dog"],
    "sentences": ["a dog"],
    "caption": ["a dog"],
    "caption_str": ["a dog"],
    "enCap": ["a dog"],
    "chCap": ["a dog"],
    "annotations_captions": ["a dog"],
}
"""What the documents of all tasks have."""


def test_task_files_ask_for_the_data_of_the_originals(harnesses: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="lmms-eval reads YAML")
    from cidery.compat import lmms_eval as tasks
    from cidery.compat.lmms_eval import TASKS

    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_constructor("!function", lambda _loader, node: node.value)

    def read(path: Path) -> dict[str, Any]:
        config = yaml.load(path.read_text(encoding="utf-8"), loader)
        included = config.pop("include", None)
        return {**read(path.parent / included), **config} if included else config

    files = [path for path in TASKS.glob("*.yaml") if path.stem != "captions"]
    group = read(TASKS / "captions.yaml")
    assert sorted(group["task"]) == sorted(f"cidery_{path.stem}" for path in files)
    for path in files:
        ours = read(path)
        theirs = read(next((harnesses / "lmms_eval" / "tasks").glob(f"*/{path.name}")))
        for key in (
            "dataset_path",
            "dataset_name",
            "dataset_kwargs",
            "test_split",
            "doc_to_target",
        ):
            assert ours.get(key) == theirs.get(key), (path.name, key)
        if "generation_kwargs" in theirs:
            assert ours["generation_kwargs"] == theirs["generation_kwargs"]
        process = ours["process_results"].rpartition(".")[2]
        assert set(getattr(tasks, process)(DOCUMENT, ["a dog"])) == {
            entry["metric"] for entry in ours["metric_list"]
        }
        for entry in ours["metric_list"]:
            assert (
                getattr(tasks, entry["aggregation"].rpartition(".")[2]).__name__ == entry["metric"]
            )
        prompt = ours["lmms_eval_specific_kwargs"]["default"]["prompt"]
        kwargs = theirs.get("lmms_eval_specific_kwargs") or {}
        written = kwargs.get("default", {}).get("prompt", theirs["doc_to_text"])
        if not written.startswith("utils."):
            assert prompt == written
        else:
            assert (
                prompt in (harnesses / "lmms_eval" / "tasks" / "coco_cap" / "utils.py").read_text()
            )


# --- the others ----------------------------------------------------------------------------------


def test_lavis(scores: dict[str, Any], expected: dict[str, float]) -> None:
    found = scores["lavis"]
    assert_close({name: found[name] for name in expected}, expected)
    assert found["agg_metrics"] == found["CIDEr"] + found["Bleu_4"]


def test_open_flamingo(scores: dict[str, Any], expected: dict[str, float]) -> None:
    assert_close({name: scores["open-flamingo"][name] for name in expected}, expected)


def test_capevalkit(scores: dict[str, Any], expected: dict[str, float]) -> None:
    renamed = {
        name.replace("Bleu_", "BLEU-").replace("_L", "-L"): v for name, v in expected.items()
    }
    assert_close({name: scores["capevalkit"][name] for name in renamed}, renamed)


def test_vlmeval_has_no_tokenizer(captions: Captions, scores: dict[str, Any]) -> None:
    """The drop-in gives what VLMEvalKit gets: its captions are split at blanks."""
    table = cidery.score(*captions, ["bleu", "rouge-l", "cider-d"], tokenizer="whitespace")
    expected = {name: 100 * table.corpus[ours] for name, ours in NAMES.items() if ours != "meteor"}
    assert_close(scores["vlmeval"], expected)
    original = run_harness("vlmeval", "original", captions)["vlmeval"]
    assert_close(scores["vlmeval"], original)


def test_vlmeval_s_mmsci_is_always_0(captions: Captions) -> None:
    assert run_harness("vlmeval", "original", captions, "mmsci")["vlmeval"] == {"CIDEr": 0.0}


@pytest.mark.usefixtures("java")
def test_aac_metrics(captions: Captions) -> None:
    pytest.importorskip("torch", reason="aac-metrics is made with torch")
    # Without METEOR, which takes Java longest: the adapter's tests have it.
    names = ["bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider_d"]
    both = run_harness("aac-metrics+aac-metrics-of-cidery", "original", captions, *names)
    theirs, ours = both["aac-metrics"], both["aac-metrics-of-cidery"]
    assert_close(ours["corpus"], theirs["corpus"])
    for name, values in theirs["sentences"].items():
        np.testing.assert_allclose(ours["sentences"][name], values, rtol=1e-9, atol=1e-15)
    assert ours["types"] == theirs["types"]
