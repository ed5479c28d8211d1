"""Every example in a docstring of cidery-lab runs, and gives the value that its comment shows."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cidery_lab as lab
from support.docstring_examples import (
    DocstringExample,
    find_examples,
    list_parameters,
    make_namespace,
    run_example,
)

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("torch")]
EXAMPLES = find_examples(lab)


@cache
def train_captioner() -> dict[str, Any]:
    """Return the names that examples use: a captioner after one epoch, and all of cidery_lab."""
    data = lab.synthetic_scenes(12, 4, 4)
    card = lab.ModelCard("fc", len(data.vocabulary), data.width, hidden=4)
    stages = [lab.Stage("xe", epochs=1, max_words=5)]
    run = lab.train(card, data, stages)
    names = {name: getattr(lab, name) for name in lab.__all__}
    return names | {"data": data, "card": card, "stages": stages, "run": run, "model": run.model}


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
@pytest.mark.parametrize("example", list_parameters(EXAMPLES, {}, {}))
def test_example(
    example: DocstringExample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_example(example, make_namespace(example, tmp_path) | train_captioner())
