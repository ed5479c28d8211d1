"""The native core under the sanitizers: every fuzz target on seeded inputs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
TARGETS = sorted(path.stem for path in (NATIVE / "fuzz").glob("fuzz_*.cpp"))
INPUTS = {"address,undefined": 200, "thread": 60}
OPTIMIZED = ("encoder", "encoder_avx2", "encoder_portable")
"""Sources whose loops take longer to run unoptimized than to optimize."""
APART = ("encoder_avx2", "encoder_portable", "ptb")
"""Sources that define a name which another one defines too, hidden in its anonymous namespace."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler with a sanitizer, and where its output goes."""

    program: str
    sanitizer: str
    folder: Path

    def run(self, *arguments: str | Path, level: str = "-O0") -> None:
        """Compile or link; skip the test where the sanitizer's library is not installed."""
        command = [
            self.program, "-std=c++20", level, "-g1", "-pthread", f"-fsanitize={self.sanitizer}",
            "-fno-sanitize-recover=all", f"-I{NATIVE}", *map(str, arguments),
        ]  # fmt: skip
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if "cannot find" in done.stderr and "san" in done.stderr:
            pytest.skip(f"the compiler has no library for -fsanitize={self.sanitizer}")
        assert done.returncode == 0, done.stderr

    def compile(self, name: str, sources: Sequence[Path], level: str = "-O0") -> Path:
        """Compile sources as one, so that they share the work of reading the standard library."""
        together, made = self.folder / f"{name}.cpp", self.folder / f"{name}.o"
        together.write_text("".join(f'#include "{source}"\n' for source in sources))
        self.run("-c", together, "-o", made, level=level)
        return made

    def link(self, name: str, objects: Sequence[Path]) -> Path:
        """Make a program of object files."""
        self.run(*objects, "-o", self.folder / name)
        return self.folder / name


@dataclass(frozen=True)
class SanitizedCore:
    """The core, compiled with one sanitizer."""

    compiler: Compiler
    objects: tuple[Path, ...]

    def build(self, *sources: Path) -> Path:
        """Compile a program on the core."""
        name = sources[0].stem
        return self.compiler.link(name, [self.compiler.compile(name, sources), *self.objects])


@pytest.fixture(scope="module", params=INPUTS)
def sanitized_core(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> SanitizedCore:
    """The core, compiled once per sanitizer."""
    program = shutil.which("g++") or shutil.which("clang++")
    if program is None:
        pytest.skip("no C++ compiler")
    compiler = Compiler(program, request.param, tmp_path_factory.mktemp("core"))
    sources = [path for path in sorted(NATIVE.glob("*.cpp")) if not path.stem.startswith("bind")]
    # The thread sanitizer slows programs more than its compilation takes.
    usual = "-O1" if compiler.sanitizer == "thread" else "-O0"
    units = {path.stem: [path] for path in sources if path.stem in APART + OPTIMIZED}
    units["core"] = [path for path in sources if path.stem not in units]
    return SanitizedCore(
        compiler,
        tuple(
            compiler.compile(name, unit, "-O1" if name in OPTIMIZED else usual)
            for name, unit in units.items()
        ),
    )


@pytest.mark.parametrize("target", TARGETS)
def test_no_sanitizer_complains(sanitized_core: SanitizedCore, target: str) -> None:
    program = sanitized_core.build(
        NATIVE / "fuzz" / f"{target}.cpp", ROOT / "tests" / "native" / "run_seeded.cpp"
    )
    count = INPUTS[sanitized_core.compiler.sanitizer]
    done = subprocess.run([program, "1", str(count)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == f"{count} inputs\n"


def test_there_is_a_target_for_every_part() -> None:
    assert {"fuzz_core", "fuzz_encoder", "fuzz_meteor", "fuzz_ptb"} <= set(TARGETS)


@pytest.mark.parametrize("sanitized_core", ["thread"], indirect=True)
def test_threads_may_share_prepared_metrics(sanitized_core: SanitizedCore) -> None:
    program = sanitized_core.build(ROOT / "tests" / "native" / "reward_stress.cpp")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
