"""The native core under the sanitizers: every fuzz target on seeded inputs."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
TARGETS = sorted((NATIVE / "fuzz").glob("fuzz_*.cpp"))
STRESS = ROOT / "tests" / "native" / "reward_stress.cpp"
OPTIONS = {
    "address,undefined": ("-O0", "-fsanitize-undefined-trap-on-error"),
    "thread": ("-Og",),
}
"""Options that compile fastest. Undefined behavior ends the program by SIGILL without a message,
since messages take a third of the compiler's time: compile without that option to read them."""
MANY_INPUTS, SOME_INPUTS, FEW_INPUTS = 200, 60, 20
SLOW = {"fuzz_encoder": SOME_INPUTS, "fuzz_rewards": 30}
"""Inputs with the address sanitizer, where each takes long."""


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


@pytest.fixture(scope="module", params=OPTIONS)
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
        compiler, "-std=c++20", *OPTIONS[request.param], "-pthread", "-DCIDERY_ALL_TARGETS",
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
    count = SLOW.get(target, MANY_INPUTS)
    if sanitized_core.sanitizer == "thread":
        count = FEW_INPUTS if target in SLOW else SOME_INPUTS
    if os.environ.get("CIDERY_EXAMPLES") == "new":
        count = MANY_INPUTS
    sanitized_core.run(target, count)


def test_there_is_a_target_for_every_part() -> None:
    assert {"fuzz_core", "fuzz_encoder", "fuzz_meteor", "fuzz_ptb"} <= {
        path.stem for path in TARGETS
    }


@pytest.mark.parametrize("sanitized_core", ["thread"], indirect=True)
def test_threads_may_share_prepared_metrics(sanitized_core: SanitizedCore) -> None:
    sanitized_core.run(STRESS.stem, 1)
