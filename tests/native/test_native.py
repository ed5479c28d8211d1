"""The native core under the sanitizers: every fuzz target on seeded inputs."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
TARGETS = sorted((NATIVE / "fuzz").glob("fuzz_*.cpp"))
STRESS = ROOT / "tests" / "native" / "reward_stress.cpp"
LEVELS = {"address,undefined": "-O0", "thread": "-O1"}
"""How far to optimize: the thread sanitizer slows programs more than compiling them takes."""
INPUTS = {"fuzz_core": 200, "fuzz_meteor": 200, "fuzz_ptb": 200}
"""Inputs with the address sanitizer, where they are short enough for many."""
USUAL_INPUTS = 60


@dataclass(frozen=True)
class SanitizedCore:
    """The core and all that runs on it in these tests: one program."""

    program: Path
    sanitizer: str

    def run(self, target: str, count: int) -> None:
        """Run a target on seeded inputs."""
        done = subprocess.run(
            [self.program, target, "1", str(count)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        assert done.stdout == f"{count} inputs\n"


@pytest.fixture(scope="module", params=LEVELS)
def sanitized_core(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> SanitizedCore:
    """The core with a sanitizer, compiled as one file: headers are read and templates made once."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("core")
    core = [path for path in sorted(NATIVE.glob("*.cpp")) if not path.stem.startswith("bind")]
    programs = [*TARGETS, STRESS]
    lines = [
        f'#include "{path}"' for path in (*core, *programs, STRESS.with_name("run_target.cpp"))
    ]
    entries = ", ".join(f'{{"{path.stem}", cidery::{path.stem}::run}}' for path in programs)
    lines += [f"const std::vector<Target> kTargets{{{entries}}};", ""]
    (folder / "all.cpp").write_text("\n".join(lines))
    command = [
        compiler, "-std=c++20", LEVELS[request.param], "-pthread", "-DCIDERY_ALL_TARGETS",
        f"-fsanitize={request.param}", "-fno-sanitize-recover=all", f"-I{NATIVE}",
        "all.cpp", "-o", "all",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if "cannot find" in done.stderr and "san" in done.stderr:
        pytest.skip(f"the compiler has no library for -fsanitize={request.param}")
    assert done.returncode == 0, done.stderr
    return SanitizedCore(folder / "all", request.param)


@pytest.mark.parametrize("target", [path.stem for path in TARGETS])
def test_no_sanitizer_complains(sanitized_core: SanitizedCore, target: str) -> None:
    is_slow = sanitized_core.sanitizer == "thread"
    sanitized_core.run(target, USUAL_INPUTS if is_slow else INPUTS.get(target, USUAL_INPUTS))


def test_there_is_a_target_for_every_part() -> None:
    assert {"fuzz_core", "fuzz_encoder", "fuzz_meteor", "fuzz_ptb"} <= {
        path.stem for path in TARGETS
    }


@pytest.mark.parametrize("sanitized_core", ["thread"], indirect=True)
def test_threads_may_share_prepared_metrics(sanitized_core: SanitizedCore) -> None:
    sanitized_core.run(STRESS.stem, 1)
