"""Hashes of content: equal for equal content, whatever the process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cidery.storage import UnknownContentError, hash_content, hash_path

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
]


def test_different_content() -> None:
    assert len({hash_content(value) for value in DISTINCT}) == len(DISTINCT)


def test_unknown_content() -> None:
    with pytest.raises(UnknownContentError, match="an object of type generator"):
        hash_content(_ for _ in ())
    with pytest.raises(UnknownContentError, match=r"`value` \(an object of type generator\)"):
        hash_content([Setting(_ for _ in ())])


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
