"""Names and docstrings use the words of the field: what a thing is, not a riddle about it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "src", ROOT / "server" / "src", ROOT / "lab" / "src"]
MODULES = sorted(
    path for source in SOURCES for path in source.rglob("*.py") if "migrations" not in path.parts
)
VAGUE_BEGINNING = re.compile(r"(What|How|Whether|Which|Whose|Who|Why|Where|Tell|Say)\b")
"""Beginnings for which a noun phrase or an imperative is clearer."""
VAGUE_NAMES = {
    *("told", "said", "heard", "looked", "goes_on", "knows", "lacks", "nobody", "whoever"),
    *("stranger", "strangers", "survivors", "foreign", "way", "ways"),
}
"""Identifiers that hide what they name; see the glossary in CONTRIBUTING.md."""


def list_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of all docstrings, including those of attributes."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant):
                yield statement.lineno, str(value.value).strip()


def list_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of all definitions, arguments and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_and_names_are_plain(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    vague = [
        f"line {line}: {text.splitlines()[0]}"
        for line, text in list_docstrings(tree)
        if VAGUE_BEGINNING.match(text)
    ]
    vague += [
        f"line {line}: the name {name}"
        for line, name in list_names(tree)
        if name.strip("_").lower() in VAGUE_NAMES
    ]
    assert not vague


def test_the_check_sees_vague_words() -> None:
    tree = ast.parse('def goes_on(told):\n    """Whether it does."""\n    _way = 1\n')
    assert [text for _, text in list_docstrings(tree)] == ["Whether it does."]
    found = {name.strip("_").lower() for _, name in list_names(tree)} & VAGUE_NAMES
    assert found == {"goes_on", "told", "way"}
