"""cidery-server and cidery-lab use public names of cidery only."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from cidery.plugins import install_command

ROOT = Path(__file__).parents[2]
COMPANIONS = ("server", "lab")
MODULES = sorted(path for name in COMPANIONS for path in (ROOT / name / "src").rglob("*.py"))


def find_private_imports(source: str) -> Iterator[str]:
    """Yield the imports of a module that are not public names of cidery.

    Public are the names in `__all__` of `cidery`, of its packages and of its modules; of a module
    without `__all__`, those that it defines or imports `as` themselves.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported = [(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        for module, name in imported:
            if module.partition(".")[0] == "cidery" and not is_public(module, name):
                yield f"{module}.{name}" if name else module


def is_public(module: str, name: str) -> bool:
    package = module.split(".")[1:]
    if (module, name) == ("cidery", "__version__"):
        return True
    if len(package) > 1 or any(part.startswith("_") for part in (*package, name)):
        return False
    return not name or name in list_public_names(module)


@cache
def list_public_names(module: str) -> set[str]:
    imported = importlib.import_module(module)
    if module == "cidery":
        return {*imported.__all__, *(info.name for info in pkgutil.iter_modules(imported.__path__))}
    if hasattr(imported, "__all__"):
        return set(imported.__all__)
    names: set[str] = set()
    for node in ast.parse(inspect.getsource(imported)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names if alias.name == alias.asname}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_companions_import_public_names(path: Path) -> None:
    assert list(find_private_imports(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("line", "private"),
    [
        ("import cidery", []),
        ("import cidery.meta", []),
        ("import cidery.meta.settings", ["cidery.meta.settings"]),
        ("from cidery import score, errors", []),
        ("from cidery import _native", ["cidery._native"]),
        ("from cidery._version import __version__", ["cidery._version.__version__"]),
        ("from cidery.errors import InputError", []),
        ("from cidery.scoring import Scorer", []),
        ("from cidery.scoring.scorer import Scorer", ["cidery.scoring.scorer.Scorer"]),
        ("from cidery.meta import evaluation", ["cidery.meta.evaluation"]),
        ("from cidery.client import httpx", ["cidery.client.httpx"]),
        (
            "def late():\n    from cidery.files.sources import shorten",
            ["cidery.files.sources.shorten"],
        ),
        ("from cidery_server.web import pages", []),
    ],
)
def test_private_imports_are_found(line: str, private: list[str]) -> None:
    assert list(find_private_imports(line)) == private


def test_the_contract_is_documented() -> None:
    """ARCHITECTURE.md lists the packages that companions use, with public names of each."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(cidery\.\w+)` \| (.+) \|$", text, flags=re.MULTILINE))
    for module, names in rows.items():
        assert set(re.findall(r"`(\w+)`", names)) <= list_public_names(module)
    assert set(rows) >= {
        node.module
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cidery.")
    }


def test_install_commands_work_in_a_checkout() -> None:
    folder = Path(install_command("server").removeprefix("pip install "))
    assert 'name = "cidery-server"' in (folder / "pyproject.toml").read_text(encoding="utf-8")
    assert install_command("meteor") == "pip install 'cidery[meteor]'"
