"""The native core with another compiler than the one that built it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


@pytest.mark.build
@pytest.mark.parametrize("library", ["libstdc++", "libc++"])
def test_clang_finds_nothing_in_the_core(library: str, tmp_path: Path) -> None:
    compiler = shutil.which("clang++")
    if compiler is None:
        pytest.skip("no clang++")
    core = [path for path in sorted(NATIVE.glob("*.cpp")) if not path.stem.startswith("bind")]
    together = tmp_path / "core.cpp"
    together.write_text("".join(f'#include "{path}"\n' for path in core))
    options = ["-std=c++20", f"-stdlib={library}", "-fsyntax-only", f"-I{NATIVE}", *WARNINGS]
    done = subprocess.run(
        [compiler, *options, together], capture_output=True, text=True, check=False
    )
    if re.search(r"fatal error: '\w+' file not found", done.stderr):
        pytest.skip(f"{library} has no headers here")
    assert done.returncode == 0, done.stderr


def test_what_differs_between_compilers_is_in_one_header() -> None:
    specific = re.compile(
        r"__(?:GNUC__|clang__|builtin_\w+|attribute__)|_MSC_VER|_WIN32|#pragma GCC"
    )
    found = {
        path.name
        for path in NATIVE.glob("*.*")
        if specific.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"compiler.hpp"}
