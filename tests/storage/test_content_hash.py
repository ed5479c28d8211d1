"""Hashes of content: equal for equal content, whatever the process."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import Flag
from functools import lru_cache, partial, update_wrapper
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from cidery.storage import UnknownContentError, content_hash, hash_content, hash_path, list_versions

SCRIPT = """
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from cidery.storage.content_hash import hash_content
WORDS = {"a", "the", "of", "dog"}
@dataclass(frozen=True)
class Weight:
    value: float = 2.0
    def __call__(self, text): return self.value * len(text)
class Plain:
    def __init__(self): self.pattern = re.compile("a+")
@lru_cache
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def score(text, scale=Weight()): return even(len(WORDS & set(text.split()))) * scale(text)
print([hash_content(v) for v in (score, partial(score, "a"), Plain(), Weight(), {1: [2.5, None]})])
"""


def test_hashes_do_not_depend_on_the_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(found) == 1


@dataclass(frozen=True)
class Setting:
    value: Any


class Loud:
    def call(self) -> str:
        return "A"


class Quiet(Loud):
    def call(self) -> str:
        return "a"


def twice(value: int, times: int = 2) -> int:
    return value * times


def thrice(value: int, times: int = 3) -> int:
    return value * times


class Upper(dict[int, int]):
    def __missing__(self, key: int) -> str:
        return "A"


class Lower(dict[int, int]):
    def __missing__(self, key: int) -> str:
        return "a"


class Group(set[int]):
    pass


class Pair(NamedTuple):
    first: int
    second: int


class Found(NamedTuple):
    first: int
    last: int


class Scaled:
    """A decorator with a state of its own."""

    def __init__(self, function: Any, scale: float) -> None:
        update_wrapper(self, function)
        self.scale = scale


class Longer(Setting):
    """A subclass with an attribute that is no field."""

    def __init__(self, value: int, more: int) -> None:
        super().__init__(value)
        vars(self)["more"] = more


class Mark(Flag):
    A = 1
    B = 2


DISTINCT = [
    1,
    1.0,
    True,
    "1",
    b"1",
    None,
    [1],
    (1,),
    {1},
    {1: 1},
    np.array([1, 2]),
    np.array([1, 2], np.float32),
    np.array([[1, 2]]),
    np.zeros(1, [("a", "f4"), ("b", "f4")]),
    np.zeros(1, [("b", "f4"), ("a", "f4")]),
    np.ma.array([1, 2], mask=[True, False]),
    np.ma.array([1, 2], mask=[False, True]),
    defaultdict(lambda: 1),
    defaultdict(lambda: 2),
    Counter({1: 1}),
    Upper({1: 1}),
    Lower({1: 1}),
    Group({1}),
    Pair(1, 2),
    Found(1, 2),
    Scaled(twice, 2),
    Scaled(twice, 3),
    Longer(1, 2),
    Longer(1, 3),
    Mark.A,
    Mark.A | Mark.B,
    Setting(1),
    Setting((1,)),
    Loud,
    Loud(),
    Quiet,
    Quiet(),
    Loud().call,
    Quiet().call,
    twice,
    thrice,
    partial(twice, 1),
    partial(twice, 2),
    lru_cache(twice),
    lambda value: value,
    lambda value: value + 1,
    len,
    sys,
    np,
    Path(__file__),
    Path(__file__).parent,
    Path("no such file"),
    Path("no other file"),
]


def test_different_content() -> None:
    assert len({hash_content(value) for value in DISTINCT}) == len(DISTINCT)


def test_unknown_content() -> None:
    with pytest.raises(UnknownContentError, match="an object of type generator"):
        hash_content(_ for _ in ())
    with pytest.raises(UnknownContentError, match=r"`value` \(an object of type generator\)"):
        hash_content([Setting(_ for _ in ())])


def imports_inside(text: str) -> float:
    import own_helper  # type: ignore[import-not-found]

    return float(own_helper.weigh(text))


def imports_names_inside(text: str) -> float:
    from own_helper import weigh

    return float(weigh(text))


def imports_modules_inside(text: str) -> float:
    def score() -> float:
        from own_package import inner  # type: ignore[import-not-found]

        return float(inner.weigh(text))

    return score()


HELPER = "from own_constants import WEIGHT\ndef weigh(text): return WEIGHT * len(text)\n"


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write modules; return a function that sets their constant, and imports them again."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "__init__.py").write_text("")
    for path in (tmp_path / "own_helper.py", tmp_path / "own_package" / "inner.py"):
        path.write_text(HELPER)

    def write(weight: int) -> ModuleType:
        (tmp_path / "own_constants.py").write_text(f"WEIGHT = {weight}\n")
        for name in [name for name in sys.modules if name.startswith("own_")]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        return importlib.import_module("own_helper")

    return write


@pytest.mark.parametrize("function", [imports_inside, imports_names_inside, imports_modules_inside])
def test_modules_that_functions_import(function: Any, helper: Any) -> None:
    helper(2)
    before = hash_content(function)
    helper(2)
    assert hash_content(function) == before
    helper(30)
    assert hash_content(function) != before


def test_constants_of_modules(helper: Any) -> None:
    """The constant is in a third module, from which the second imports it by name."""
    module = helper(2)
    space: dict[str, Any] = {"own_helper": module, "__name__": "own_script"}
    exec("def score(text): return own_helper.weigh(text)", space)
    before = hash_content(space["score"])
    space["own_helper"] = helper(30)
    after = hash_content(space["score"])
    space["own_helper"].WEIGHT = 4
    assert len({before, after, hash_content(space["score"])}) == 3


def test_attributes_of_functions() -> None:
    def score(text: str) -> float:
        return score.weight * len(text)  # type: ignore[attr-defined,no-any-return]

    score.weight = 2.0  # type: ignore[attr-defined]
    before = hash_content(score)
    score.weight = 3.0  # type: ignore[attr-defined]
    assert hash_content(score) != before


def test_places_of_errors() -> None:
    """From Python 3.11 on, bytecode is the same wherever `try` ends."""
    sources = (
        "def f():\n try:\n  a()\n  b()\n except E: pass",
        "def f():\n try:\n  a()\n except E: pass\n else: b()",
    )
    found = set()
    for source in sources:
        space: dict[str, Any] = {"__name__": "own_script"}
        exec(source, space)
        found.add(hash_content(space["f"]))
    assert len(found) == 2


def test_versions_of_what_packages_require(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that uses a package depends on what computes in it."""
    import typer

    before = hash_content(typer.echo)
    assert {"typer", "rich"} <= list_versions(["typer"]).keys()
    assert list_versions(["no-such-package"]) == {}
    read = content_hash._read_metadata
    content_hash._find_package.cache_clear()
    monkeypatch.setattr(
        content_hash,
        "_read_metadata",
        lambda name: ("0.1", ()) if name == "rich" else read(name),
    )
    assert hash_content(typer.echo) != before
    content_hash._find_package.cache_clear()


def test_packages_inside_setuptools_do_not_count(tmp_path: Path, monkeypatch: Any) -> None:
    """Importing setuptools must not change the content of anything."""
    folder = tmp_path / "_vendor" / "own_package-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: own-package\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    content_hash._read_metadata.cache_clear()
    assert list_versions(["own-package"]) == {}
    renamed = (tmp_path / "_vendor").rename(tmp_path / "site")
    monkeypatch.syspath_prepend(str(renamed))
    content_hash._read_metadata.cache_clear()
    assert list_versions(["own-package"]) == {"own-package": "1.0"}


def test_linked_folders(tmp_path: Path) -> None:
    (tmp_path / "a" / "loop").mkdir(parents=True)
    (tmp_path / "a" / "loop" / "up").symlink_to(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "file").write_text("x")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b")
    before = hash_path(tmp_path / "a")
    (tmp_path / "b" / "file").write_text("y")
    assert hash_path(tmp_path / "a") != before


def test_images_with_the_same_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_text("x")
    status, before = path.stat(), hash_path(tmp_path)
    path.with_suffix(".new").write_text("y")
    path.with_suffix(".new").replace(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert hash_path(tmp_path) != before


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    file, before = hash_path(tmp_path / "a"), hash_path(tmp_path)
    (tmp_path / "a").write_text("y")
    assert hash_path(tmp_path / "a") != file
    assert hash_path(tmp_path) != before
    (tmp_path / "a").write_text("x")
    assert hash_path(tmp_path) == before
    (tmp_path / "a").rename(tmp_path / "b")
    assert hash_path(tmp_path) != before
