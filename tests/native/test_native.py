"""The native core under the sanitizers: every fuzz target on seeded inputs."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = sorted(path.stem for path in (ROOT / "native" / "fuzz").glob("fuzz_*.cpp"))
SANITIZERS = {"address,undefined": 400, "thread": 100}


def compiler() -> str:
    found = shutil.which("g++") or shutil.which("clang++")
    if found is None:
        pytest.skip("no C++ compiler")
    return found


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """Compile the core once per sanitizer; return a function that gives the object files."""
    built: dict[str, list[Path]] = {}

    def build(sanitizer: str) -> list[Path]:
        if sanitizer not in built:
            folder = tmp_path_factory.mktemp("core")
            sources = [p for p in (ROOT / "native").glob("*.cpp") if not p.name.startswith("bind")]
            compile_to(folder, sanitizer, ["-c", *map(str, sources)])
            built[sanitizer] = sorted(folder.glob("*.o"))
        return built[sanitizer]

    return build


def compile_to(folder: Path, sanitizer: str, arguments: list[str]) -> None:
    # Not optimised: compiling takes much longer than running.
    command = [
        compiler(), "-std=c++20", "-O0", "-g1", "-pthread", f"-fsanitize={sanitizer}",
        "-fno-sanitize-recover=all", f"-I{ROOT / 'native'}", *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if "cannot find" in done.stderr and "san" in done.stderr:
        pytest.skip(f"the compiler has no library for -fsanitize={sanitizer}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("target", TARGETS)
def test_no_sanitizer_complains(core, tmp_path, target, sanitizer):
    program = tmp_path / target
    compile_to(
        tmp_path,
        sanitizer,
        [
            str(ROOT / "native" / "fuzz" / f"{target}.cpp"),
            str(ROOT / "tests" / "native" / "run_seeded.cpp"),
            *map(str, core(sanitizer)),
            "-o",
            str(program),
        ],
    )
    count = SANITIZERS[sanitizer]
    done = subprocess.run(
        [program, "1", str(count)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == f"{count} inputs\n"


def test_there_is_a_target_for_every_part():
    assert {"fuzz_core", "fuzz_encoder", "fuzz_meteor", "fuzz_ptb"} <= set(TARGETS)


def test_threads_may_share_prepared_metrics(core, tmp_path):
    program = tmp_path / "stress"
    stress = ROOT / "tests" / "native" / "reward_stress.cpp"
    compile_to(tmp_path, "thread", [str(stress), *map(str, core("thread")), "-o", str(program)])
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
