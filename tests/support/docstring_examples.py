"""Examples in docstrings: find them, run them, compare values with comments.

A comment behind an expression is compared with its value where it is a literal (`# [1.5, 2.0]`), a
literal in which … stands for anything (`# 0.8816…`) or the type and shape of an array
(`# float64[3, 3]`); other comments are prose.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import math
import re
import shutil
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.files import read_candidates, read_references
from support.example import BUNDLED
from support.judged import write_pairs, write_ratings

BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
ARRAY = re.compile(r"(float\d+|int\d+)\[([\d, ]+)\]")
PUBLIC = (
    *("diversity", "meta", "metrics", "plots", "plots.diversity_plots", "scoring", "files", "coco"),
    "encoders",
)
"""Packages of cidery whose names an example may use as if it had imported them."""


@dataclass(frozen=True)
class DocstringExample:
    """A block of code in a docstring."""

    module: str
    owner: str
    code: str

    def __str__(self) -> str:
        return f"{self.module}.{self.owner}".rstrip(".").removeprefix("cidery.")

    @property
    def name(self) -> str:
        """Name of the class or function, or of the module."""
        return self.owner or self.module.rpartition(".")[2]


def find_examples(package: ModuleType) -> list[DocstringExample]:
    """Return the examples in all docstrings of a package."""
    source = Path(str(package.__file__)).parent
    found = []
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "```" not in text:
            continue
        parts = path.relative_to(source.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        for node in _find_documented(ast.parse(text)):
            for block in BLOCK.finditer(ast.get_docstring(node) or ""):
                found.append(DocstringExample(module, getattr(node, "name", ""), block[1]))
    return found


def _find_documented(
    node: ast.Module | ast.ClassDef | ast.FunctionDef,
) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    yield node
    for inner in node.body if not isinstance(node, ast.FunctionDef) else ():
        if isinstance(inner, ast.ClassDef | ast.FunctionDef):
            yield from _find_documented(inner)


def list_parameters(
    examples: Iterable[DocstringExample],
    marks: Mapping[str, pytest.MarkDecorator],
    excluded: Mapping[str, str],
) -> list[Any]:
    """Return examples as parameters of a test, with the marks of their names."""
    return [
        pytest.param(example, id=str(example), marks=marks.get(example.name, ()))
        for example in examples
        if example.name not in excluded
    ]


def make_namespace(example: DocstringExample, folder: Path) -> dict[str, Any]:
    """Return the names that an example uses: those of its module, of `PUBLIC`, and sample data."""
    known = _make_samples(folder)
    places = [importlib.import_module(name) for name in (example.module, *_list_public())]
    for node in ast.walk(ast.parse(example.code)):
        if isinstance(node, ast.Name) and node.id not in known:
            found = [getattr(place, node.id) for place in places if hasattr(place, node.id)]
            known |= {node.id: found[0]} if found else {}
    return known


def _list_public() -> list[str]:
    return [f"cidery.{name}" for name in PUBLIC]


def _make_samples(folder: Path) -> dict[str, Any]:
    """Write the files that examples read, and return the data that they use."""
    copies = [("references", "references"), ("system_a", "results"), ("sampled_a", "sampled")]
    copies += [("system_a", "a"), ("system_b", "b")]
    for source, target in copies:
        shutil.copy(BUNDLED / f"{source}.json", folder / f"{target}.json")
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


def run_example(example: DocstringExample, names: dict[str, Any]) -> None:
    """Run an example, and compare the values of expressions with their comments."""
    comments = _find_comments(example.code)
    for statement in ast.parse(example.code).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), str(example), "eval"), names)
            shown = comments.get(statement.end_lineno or 0, "")
            assert matches(shown, value), f"{example} gives {value!r}, not {shown}"
        else:
            exec(compile(ast.Module([statement], []), str(example), "exec"), names)


def _find_comments(code: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokens
        if token.type == tokenize.COMMENT
    }


def matches(shown: str, value: Any) -> bool:
    """Return False if a comment shows another value; prose matches any."""
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
    return _is_close(value, expected)


def _is_close(value: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return value.keys() == expected.keys() and all(
            _is_close(value[key], expected[key]) for key in expected
        )
    if isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(map(_is_close, value, expected))
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-9)
    return bool(value == expected)
