"""Imports point down, as ARCHITECTURE.md says; native code knows Python in its bindings only."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from cidery.storage import parse_toml

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cidery"
MODULES = sorted(path for path in SOURCE.rglob("*.py"))
PRIVATE = {"_native", "_version"}
"""Below every package."""


def listed_packages() -> list[str]:
    """Return packages and modules in the order of ARCHITECTURE.md's table, from the lowest up."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\w+)(?:\.py|/)` \|", text, flags=re.MULTILINE)


def package_of(path: Path) -> str:
    """Return the package of a file, or its name if it lies in none."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_packages(path: Path) -> set[str]:
    """Return the packages that a module imports anywhere, but for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_checkers = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    packages: set[str] = set()
    for node in ast.walk(tree):
        if node in for_checkers:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            names = below if node.module == "cidery" else [node.module or ""]
        else:
            continue
        for name in names:
            if name == "cidery":
                packages.add("cidery")
            elif name.startswith("cidery."):
                found = name.split(".")[1]
                exists = (SOURCE / f"{found}.py").exists() or (SOURCE / found).is_dir()
                packages.add(found if exists or found in PRIVATE else "cidery")
    return packages - PRIVATE


def test_every_package_is_listed() -> None:
    packages = {package_of(path) for path in MODULES} - PRIVATE - {"__init__"}
    assert sorted(listed_packages()) == sorted(packages)


def find_public_names(init: Path) -> set[str]:
    """Return the names that a package offers: `__all__`, else what it defines or imports."""
    module = importlib.import_module(
        ".".join(("cidery", *init.parent.relative_to(SOURCE).parts)),
    )
    names = getattr(module, "__all__", None) or dir(module)
    return {name for name in names if not isinstance(getattr(module, name, None), ModuleType)}


@pytest.mark.parametrize(
    "init",
    [
        *SOURCE.rglob("__init__.py"),
    ],
    ids=lambda init: str(init.parent.relative_to(SOURCE)),
)
def test_no_name_is_a_module_and_something_else(init: Path) -> None:
    """`import cidery.diversity as d` gives a module, whatever was imported before."""
    modules = {path.stem for path in init.parent.iterdir() if path.suffix == ".py"}
    modules |= {path.parent.name for path in init.parent.glob("*/__init__.py")}
    assert not find_public_names(init) & modules


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    packages, package = listed_packages(), package_of(path)
    if package == "__init__" or package in PRIVATE:
        return
    # The command line imports `cidery` as its users do; nothing else may.
    allowed = {*packages[: packages.index(package) + 1], *(["cidery"] if package == "cli" else [])}
    assert imported_packages(path) <= allowed


def find_private_imports(path: Path) -> list[str]:
    """Return the underscore names and modules of other packages that a module uses."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = package_of(path)
    modules: dict[str, str] = {}  # local name -> module of another package
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("cidery"):
            continue
        for alias in node.names:
            name = f"{node.module}.{alias.name}"
            parts = name.split(".")[1:]
            if parts[0] == package or parts[0] in PRIVATE:
                continue
            if any(part.startswith("_") and not part.endswith("__") for part in parts):
                found.append(name)
            modules[alias.asname or alias.name] = name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_private = node.attr.startswith("_") and not node.attr.endswith("__")
            if is_private and node.value.id in modules:
                found.append(f"{modules[node.value.id]}.{node.attr}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_private_names_stay_in_their_package(path: Path) -> None:
    assert find_private_imports(path) == []


def test_private_imports_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "scoring").mkdir()
    module = tmp_path / "scoring" / "some.py"
    module.write_text(
        "from cidery._version import __version__\nfrom cidery.scoring.scorer import _own\n"
        "from cidery.corpus.ids import _key\nfrom cidery.corpus import ids as names\n"
        "from cidery.corpus._hidden import key\nnames._key()\nnames.__name__\n",
        encoding="utf-8",
    )
    assert find_private_imports(module) == [
        "cidery.corpus.ids._key",
        "cidery.corpus._hidden.key",
        "cidery.corpus.ids._key",
    ]


def test_the_check_sees_imports(tmp_path: Path) -> None:
    module = tmp_path / "some.py"
    module.write_text(
        "from typing import TYPE_CHECKING\nfrom cidery.corpus.corpus import Corpus\n"
        "if TYPE_CHECKING:\n    from cidery.cli import main\n"
        "def late():\n    import cidery\n    from cidery import score\n",
        encoding="utf-8",
    )
    assert imported_packages(module) == {"corpus", "cidery"}


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("native/*.[ch]pp")), ids=lambda path: str(path.name)
)
def test_only_bindings_know_python(path: Path) -> None:
    included = re.findall(r'#\s*include\s*[<"]([^>"]+)', path.read_text(encoding="utf-8"))
    knows = any(name.startswith(("nanobind", "Python.h", "pybind")) for name in included)
    assert knows == path.name.startswith("bind")


def test_make_check_has_the_same_mypy_settings() -> None:
    """`make check` has settings of its own, without the app: a new package belongs in both."""
    of_app = {"confusable_homoglyphs.*", "huey.*", "knox.*", "studies_load"}
    of_companions = {"cidery_lab.*", "lab.tests.*", "server.tests.*"}
    whole, check = (
        read_mypy_settings(ROOT / name) for name in ("pyproject.toml", "tools/mypy-check.toml")
    )
    assert {
        module: settings
        for module, settings in whole.items()
        if module not in of_app | of_companions
        and not settings.items() <= check.get(module, {}).items()
    } == {}


def read_mypy_settings(file: Path) -> dict[str, dict[str, str]]:
    """Return the settings of mypy for modules, by pattern."""
    found: dict[str, dict[str, str]] = {}
    for override in parse_toml(file.read_text(encoding="utf-8"))["tool"]["mypy"]["overrides"]:
        for module in override.pop("module"):
            found.setdefault(module, {}).update({k: repr(v) for k, v in override.items()})
    return found
