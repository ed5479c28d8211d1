"""The built wheel, installed where there is no compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

import cidery

ROOT = Path(__file__).parents[2]
MOST_BYTES = 15_000_000
CANNOT_COMPILE = ("c++", "cc", "clang", "cmake", "g++", "gcc", "make", "ninja")


def find_build_folder() -> tuple[Path, list[str]]:
    """Return where this interpreter's install was compiled, and the settings of CMake then."""
    for init in sorted(ROOT.glob("build/*/CMakeInit.txt")):
        cache = init.with_name("CMakeCache.txt").read_text(encoding="utf-8")
        text = init.read_text(encoding="utf-8")
        compiled_here = f"set(Python_EXECUTABLE [===[{sys.executable}]===]" in text
        if compiled_here and f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" in cache:
            werror = re.search(r"^CIDERY_WERROR:\w+=(\w+)$", cache, re.MULTILINE)
            return init.parent, [f"CIDERY_WERROR={werror[1] if werror else 'OFF'}"]
    pytest.skip("this interpreter compiled nothing here; `make test` does")


@pytest.fixture(scope="module")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from what is compiled already."""
    if find_spec("scikit_build_core") is None or find_spec("nanobind") is None:
        pytest.skip("scikit-build-core or nanobind is not installed; `make test` installs them")
    compiled, definitions = find_build_folder()
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
            f"--config-settings=build-dir={compiled}",
            *(f"--config-settings=cmake.define.{definition}" for definition in definitions),
            *("--wheel-dir", str(folder), str(ROOT)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_what_is_in_the_wheel(built_wheel: Path) -> None:
    assert built_wheel.name.startswith(f"cidery-{cidery.__version__}-cp3")
    assert built_wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(built_wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"cidery-{cidery.__version__}.dist-info/METADATA").decode()
    assert {name.partition("/")[0] for name in names} == {
        "cidery",
        f"cidery-{cidery.__version__}.dist-info",
    }
    assert not [name for name in names if "__pycache__" in name]
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "cidery").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    assert source <= set(names)
    assert "Project-URL: Homepage, https://github.com/cidery/cidery" in metadata


def test_it_scores_where_there_is_no_compiler(built_wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=os.name != "nt")
    scripts = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    installer = [sys.executable, "-m", "pip", "--python", str(scripts / "python")]
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*installer, "install", *options, str(built_wheel)], check=True)
    # Its dependencies come from where the tests run: a test may not ask the network for them.
    # Such a path is searched last, and the .pth files in it are not read.
    (installed,) = (tmp_path / "venv").glob("**/site-packages")
    (installed / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    environment = {"PATH": str(scripts), "HOME": str(tmp_path)}
    assert not [name for name in CANNOT_COMPILE if shutil.which(name, path=environment["PATH"])]

    module = run(
        [scripts / "python", "-c", "import cidery._native as n; print(n.__file__)"],
        folder=tmp_path,
        environment=environment,
    )
    assert Path(module.strip()).is_relative_to(installed)
    run([scripts / "cidery", "demo", "--copy", "."], folder=tmp_path, environment=environment)
    score = ["score", "system_a.json", "references.json", "--format", "json"]
    here = Path(sys.executable).with_name("cidery")
    assert run([scripts / "cidery", *score], folder=tmp_path, environment=environment) == run(
        [here, *score], folder=tmp_path
    )


def run(
    command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str] | None = None
) -> str:
    """Return what a command prints."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
