"""Every example in a docstring of the library runs, and gives the value that its comment shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.errors import DataError, MissingExtraError
from support.docstring_examples import (
    DocstringExample,
    find_examples,
    list_parameters,
    make_namespace,
    matches,
    run_example,
)

EXAMPLES = find_examples(cidery)
NEED_A_MODEL = (
    *("BertScore", "CachedEncoder", "CaptionScore", "Claims", "Consensus", "EncoderKernel"),
    *("Evaluate", "Fense", "Irv", "IrvUnigram", "Ledger", "OpenChair", "SceneGraph", "Spice"),
    *("Spider", "SpiderFl", "compare", "compare_ledgers", "compat", "encoders", "find_rarity"),
    *("get_kernel", "get_preset", "judge_claims", "name_encoder", "parse", "plot_scene"),
)
MARKS = dict.fromkeys(NEED_A_MODEL, pytest.mark.model)
EXCLUDED = {
    "Client": "needs a server that has this challenge",
    "Overview": "reads the published data sets",
    "evaluate_all": "reads the published data sets",
    "reproduce": "reads the published data sets",
    "plot_overview": "reads the published data sets",
    "storage": "downloads a model",
}
IN_A_PROCESS = {"install"}
"""Examples that change later imports."""


def make_more_names(example: DocstringExample, known: dict[str, Any], folder: Path) -> None:
    """Add the names that examples of one package use."""
    if example.module.startswith("cidery.plots"):
        from cidery.diversity import measure_diversity
        from cidery.meta import read_dataset

        of_pairs = example.owner in ("plot_references", "plot_wins")
        ours = measure_diversity(known["sets"], references=known["references"])
        tables = {"ours": ours, "humans": ours}
        known |= tables | {"tables": tables, "metrics": ["cider-d", "bleu-4"]}
        file = folder / ("mine.jsonl" if of_pairs else "rated.jsonl")
        known["dataset"] = read_dataset("judgments", file)
    if example.module in ("cidery.scoring.comparison", "cidery.corpus.inputs"):
        known |= dict.fromkeys(["run1", "run2", "run3", "captions"], known["a"])
        systems = {"ours": known["a"], "theirs": known["b"]}
        known["comparison"] = cidery.compare(systems, known["references"], ["cider-d", "bleu-4"])
    if example.owner == "Credit":
        known["reward"] = cidery.Reward({"a": ["a dog is running"]}, frequencies="coco-val2014")
    if "pandas" in example.code:
        known["pandas"] = pytest.importorskip("pandas")


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
@pytest.mark.parametrize("example", list_parameters(EXAMPLES, MARKS, EXCLUDED))
def test_example(
    example: DocstringExample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if example.owner in IN_A_PROCESS:
        subprocess.run([sys.executable, "-c", example.code], check=True)
        return
    try:
        names = make_namespace(example, tmp_path)
        make_more_names(example, names, tmp_path)
        run_example(example, names)
    except (DataError, MissingExtraError) as error:
        if example.name not in NEED_A_MODEL:
            raise
        pytest.skip(str(error))


def test_listed_examples_exist() -> None:
    assert {example.name for example in EXAMPLES} >= {*NEED_A_MODEL, *EXCLUDED, *IN_A_PROCESS}
    assert len(EXAMPLES) > 90


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("1.6", 1.5),
        ("[1, 2]", np.array([1.0, 3.0])),
        ("float64[3]", np.zeros(2)),
        ("0.88…", 0.89),
        ('("a",)', ("b",)),
    ],
)
def test_wrong_values_do_not_match(shown: str, value: object) -> None:
    assert not matches(shown, value)
    assert matches("prose", value)
