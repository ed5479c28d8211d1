"""Every example in a docstring runs, and gives the value that its comment says.

An example sees the names of its own module, then those of `PUBLIC`, then those that `prepare`
makes. A comment behind an expression is compared with its value where it is a literal
(`# [1.5, 2.0]`), a literal in which … stands for anything (`# 0.8816…`) or the type and shape of
an array (`# float64[3, 3]`); other comments are words.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import math
import re
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.errors import DataError, MissingExtraError
from cidery.files import read_candidates, read_references
from support.example import BUNDLED
from support.judged import write_pairs, write_ratings

SOURCE = Path(cidery.__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
ARRAY = re.compile(r"(float\d+|int\d+)\[([\d, ]+)\]")
PUBLIC = (
    *(
        "diversity",
        "meta",
        "metrics",
        "plots",
        "plots.diversity",
        "scoring",
        "files",
    ),
    *("coco", "encoders"),
)
"""Packages whose names an example may use as if it had imported them."""
NEEDS = {
    "aac_metrics": "model",
    "chair/open": "model",
    "cidery_lab/": "model",
    "claims": "model",
    "contextual": "model",
    "ledger": "model",
    "minilm": "model",
    "spice": "model",
    "Spi": "model",
    "torch": "model",
}
"""What an example needs, by a part of its file's path or of its text."""
BY_ITSELF = {"install"}
"""Examples that change what others import."""
LEFT_OUT = {
    "client.Client": "needs a server that has this challenge",
    "meta.overview.Overview": "reads the published data sets",
    "meta.overview.evaluate_all": "reads the published data sets",
    "meta.reproduce.reproduce": "reads the published data sets",
    "plots.overview.plot_overview": "reads the published data sets",
    "storage": "downloads a model",
}


@dataclass(frozen=True)
class DocstringExample:
    """A block of code in a docstring."""

    module: str
    owner: str
    code: str
    line: int

    def __str__(self) -> str:
        return ".".join(filter(None, [self.module.partition(".")[2], self.owner])) or "cidery"

    @property
    def needs(self) -> set[str]:
        """The markers of this example's test."""
        path = self.module.replace(".", "/") + "/"
        return {need for part, need in NEEDS.items() if part in path or part in self.code}


def find_documented(
    node: ast.Module | ast.ClassDef | ast.FunctionDef,
) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    """Yield what may have a docstring; every process of a run looks, so nothing else is visited."""
    yield node
    for inner in node.body if not isinstance(node, ast.FunctionDef) else ():
        if isinstance(inner, ast.ClassDef | ast.FunctionDef):
            yield from find_documented(inner)


def find_examples() -> Iterator[DocstringExample]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        text = path.read_text(encoding="utf-8")
        for node in find_documented(ast.parse(text)) if ">>>" in text or "```" in text else ():
            for block in BLOCK.finditer(ast.get_docstring(node) or ""):
                line = 1 if isinstance(node, ast.Module) else node.lineno
                yield DocstringExample(module, getattr(node, "name", ""), block[1], line)


EXAMPLES = list(find_examples())


def prepare(folder: Path) -> dict[str, Any]:
    """Return the names that examples take for granted, and write the files that they read."""
    names = {"references.json": "references.json", "system_a.json": "results.json"}
    names |= {"sampled_a.json": "sampled.json"}
    for source, target in names.items():
        shutil.copy(BUNDLED / source, folder / target)
    for system in "ab":
        shutil.copy(BUNDLED / f"system_{system}.json", folder / f"{system}.json")
    references = read_references(BUNDLED / "references.json")
    few = dict(list(references.items())[:12])
    write_pairs(folder / "mine.jsonl", few)
    write_ratings(folder / "rated.jsonl", few)
    (folder / "photos.jsonl").write_text('{"photo": "a", "human": ["a dog", "the dog"]}')
    (folder / "outputs.jsonl").write_text('{"image_id": "a", "prediction": "a dog"}')
    candidates = dict(read_candidates(BUNDLED / "system_a.json"))
    sampled = json.loads((BUNDLED / "sampled_a.json").read_text(encoding="utf-8"))
    sets = {row["image_id"]: row["captions"] for row in sampled}
    return {
        "cidery": cidery,
        "np": np,
        "math": math,
        "Path": Path,
        "candidates": {image: candidates[image] for image in few},
        "references": few,
        "a": {image: candidates[image] for image in few},
        "b": {image: few[image][0] for image in few},
        "sets": {image: sets[image] for image in few},
        "training_captions": [group[0] for group in few.values()],
        "image_ids": list(few),
        "captions": [candidates[image] for image in few],
        "scores": np.array([0.1, 0.5, 0.3, 0.9]),
        "ratings": np.array([1, 2, 2, 3]),
        "counts": np.array([1, 2, 0, 1]),
        "my_function": lambda candidate, references: float(candidate in references),
    }


def make_names(example: DocstringExample, folder: Path) -> dict[str, Any]:
    """Return the names that an example uses."""
    known = prepare(folder)
    if example.module.startswith("cidery.plots"):
        from cidery.diversity import measure_diversity
        from cidery.meta import read_dataset

        of_pairs = example.owner in ("plot_references", "plot_wins")
        file = "mine.jsonl" if of_pairs else "rated.jsonl"
        ours = measure_diversity(known["sets"], references=known["references"])
        tables = {"ours": ours, "humans": ours}
        known |= tables | {"tables": tables, "metrics": ["cider-d", "bleu-4"]}
        known["dataset"] = read_dataset("judgments", folder / file)
    if example.module.startswith("cidery_lab"):
        known |= train_captioner()
    if example.owner == "Credit":
        known["reward"] = cidery.Reward({"a": ["a dog is running"]}, frequencies="coco-val2014")
    if "pandas" in example.code:
        known["pandas"] = pytest.importorskip("pandas")
    own = importlib.import_module(example.module)
    places = [own, *(importlib.import_module(f"cidery.{name}") for name in PUBLIC)]
    for node in ast.walk(ast.parse(example.code)):
        if isinstance(node, ast.Name) and node.id not in known:
            found = [getattr(place, node.id) for place in places if hasattr(place, node.id)]
            known |= {node.id: found[0]} if found else {}
    return known


@cache
def train_captioner() -> dict[str, Any]:
    """Return what examples of the lab take for granted: a captioner that has learned nothing."""
    pytest.importorskip("torch", reason="torch is not installed")
    import cidery_lab as lab

    data = lab.invented_scenes(12, 4, 4)
    card = lab.ModelCard("fc", len(data.vocabulary), data.width, hidden=4)
    stages = [lab.Stage("xe", epochs=1, most_words=5)]
    run = lab.train(card, data, stages)
    names = {name: getattr(lab, name) for name in lab.__all__}
    return names | {"data": data, "card": card, "stages": stages, "run": run, "model": run.model}


def find_comments(code: str) -> dict[int, str]:
    """Return the comment of each line that has one."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokens
        if token.type == tokenize.COMMENT
    }


def run_example(example: DocstringExample, names: dict[str, Any]) -> None:
    comments = find_comments(example.code)
    for statement in ast.parse(example.code).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), str(example), "eval"), names)
            shown = comments.get(statement.end_lineno or 0, "")
            assert is_shown(shown, value), f"{example} gives {value!r}, not {shown}"
        else:
            exec(compile(ast.Module([statement], []), str(example), "exec"), names)


def is_shown(shown: str, value: Any) -> bool:
    """Tell whether a comment that shows a value shows this one; words show none."""
    if array := ARRAY.match(shown):
        shape = tuple(int(size) for size in array[2].split(","))
        return bool(value.dtype == array[1] and value.shape == shape)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if "…" in shown:
        parts = shown.replace("'", '"').split("…")
        found = repr(value).replace("'", '"')
        return re.fullmatch(".*".join(map(re.escape, parts)), found) is not None
    try:
        expected = ast.literal_eval(shown)
    except (SyntaxError, ValueError):
        return True
    return is_close(value, expected)


def is_close(value: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return value.keys() == expected.keys() and all(
            is_close(value[key], expected[key]) for key in expected
        )
    if isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(map(is_close, value, expected))
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-9)
    return bool(value == expected)


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            example,
            id=str(example),
            marks=[getattr(pytest.mark, need) for need in sorted(example.needs)],
        )
        for example in EXAMPLES
        if str(example) not in LEFT_OUT
    ],
)
def test_example(
    example: DocstringExample,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    if "meteor" in example.code.lower():
        request.getfixturevalue("meteor_data")
    if "app" in example.needs:
        pytest.importorskip("django", reason="Django is not installed")
    if example.owner in BY_ITSELF:
        subprocess.run([sys.executable, "-c", example.code], check=True)
        return
    try:
        run_example(example, make_names(example, tmp_path))
    except (DataError, MissingExtraError) as error:
        if "model" not in example.needs:
            raise
        pytest.skip(str(error))


def test_the_examples_are_found() -> None:
    assert len(EXAMPLES) > 90
    assert {str(example) for example in EXAMPLES} >= set(LEFT_OUT)


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
def test_a_wrong_value_is_found(shown: str, value: object) -> None:
    assert not is_shown(shown, value)
    assert is_shown("words", value)
