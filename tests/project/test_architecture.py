"""Imports point down, as ARCHITECTURE.md says; native code knows Python in its bindings only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cidery"
MODULES = sorted(path for path in SOURCE.rglob("*.py"))
PRIVATE = {"_native", "_version"}
"""Below every room."""


def listed_rooms() -> list[str]:
    """Return the rooms in the order of ARCHITECTURE.md's table, from the ground up."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\w+)(?:\.py|/)` \|", text, flags=re.MULTILINE)


def room_of(path: Path) -> str:
    """Return the room of a file: its module, or its package."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Return the rooms that a module imports anywhere, but for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_checkers = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    rooms: set[str] = set()
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
                rooms.add("cidery")
            elif name.startswith("cidery."):
                found = name.split(".")[1]
                exists = (SOURCE / f"{found}.py").exists() or (SOURCE / found).is_dir()
                rooms.add(found if exists or found in PRIVATE else "cidery")
    return rooms - PRIVATE


def test_every_room_is_listed() -> None:
    rooms = {room_of(path) for path in MODULES} - PRIVATE - {"__init__"}
    assert sorted(listed_rooms()) == sorted(rooms)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    rooms, room = listed_rooms(), room_of(path)
    if room == "__init__" or room in PRIVATE:
        return
    # The command line comes in by the front door, like everyone else; no other room may.
    allowed = {*rooms[: rooms.index(room) + 1], *(["cidery"] if room == "cli" else [])}
    assert imported_rooms(path) <= allowed


def test_the_check_sees_imports(tmp_path: Path) -> None:
    module = tmp_path / "some.py"
    module.write_text(
        "from typing import TYPE_CHECKING\nfrom cidery.captions.corpus import Corpus\n"
        "if TYPE_CHECKING:\n    from cidery.cli import main\n"
        "def late():\n    import cidery\n    from cidery import score\n",
        encoding="utf-8",
    )
    assert imported_rooms(module) == {"captions", "cidery"}


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("native/*.[ch]pp")), ids=lambda path: str(path.name)
)
def test_only_bindings_know_python(path: Path) -> None:
    included = re.findall(r'#\s*include\s*[<"]([^>"]+)', path.read_text(encoding="utf-8"))
    knows = any(name.startswith(("nanobind", "Python.h", "pybind")) for name in included)
    assert knows == path.name.startswith("bind")
