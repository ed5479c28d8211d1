"""The built wheels, each installed without the others, and where there is no compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import cidery

ROOT = Path(__file__).parents[2]
MOST_BYTES = 15_000_000
COMPANIONS = ("server", "lab")
COMMANDS = {"serve": "server", "study": "server", "challenge": "server", "lab": "lab"}
"""Commands of the companions."""
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


def build_wheel(source: Path, folder: Path, *settings: str) -> Path:
    """Build the wheel of a source folder and return its path."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
            *(f"--config-settings={setting}" for setting in settings),
            *("--wheel-dir", str(folder), str(source)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from what is compiled already."""
    if find_spec("scikit_build_core") is None or find_spec("nanobind") is None:
        pytest.skip("scikit-build-core or nanobind is not installed; `make test` installs them")
    compiled, definitions = find_build_folder()
    settings = [f"build-dir={compiled}", *(f"cmake.define.{one}" for one in definitions)]
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"), *settings)


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


def install(folder: Path, *wheels: Path) -> Path:
    """Return the folder of programs of a new venv with these wheels and no dependencies."""
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    installer = [sys.executable, "-m", "pip", "--python", str(scripts / "python")]
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*installer, "install", *options, *map(str, wheels)], check=True)
    return scripts


def list_requirements(package: metadata.Distribution, extras: Iterable[str]) -> list[Requirement]:
    """Return the requirements of a distribution that apply here, with these extras."""
    return [
        requirement
        for requirement in map(Requirement, package.requires or ())
        if requirement.marker is None
        or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def find_dependencies(wheels: Iterable[Path]) -> Iterator[metadata.Distribution]:
    """Yield all distributions that wheels depend on, except those of this repository."""
    waiting = [
        requirement
        for wheel in wheels
        for package in metadata.distributions(path=[str(wheel)])
        for requirement in list_requirements(package, ())
    ]
    found: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in found and not name.startswith("cidery"):
            found.add(name)
            package = metadata.distribution(name)
            waiting += list_requirements(package, requirement.extras)
            yield package


def link_dependencies(site_packages: Path, wheels: Iterable[Path]) -> None:
    """Give a venv the declared dependencies of its wheels and nothing else.

    They are links to what the tests run with: a test may not download them.
    """
    for package in find_dependencies(wheels):
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            link = site_packages / name
            if not link.exists():
                link.symlink_to(str(package.locate_file(name)))


LIST_HELP = """
import contextlib, io
from typer.main import get_command
from cidery.cli import app, main

def walk(command, context, path):
    yield path
    for name in getattr(command, "list_commands", lambda context: ())(context):
        yield from walk(command.get_command(context, name), context, [*path, name])

top = get_command(app)
context = top.make_context("cidery", [], resilient_parsing=True)
for path in walk(top, context, []):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        status = main([*path, "--help"])
    assert status == 0 and output.getvalue().startswith("Usage: "), path
    print(*path)
"""


@pytest.fixture(scope="module")
def wheels(built_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels of the three distributions."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed; `make test` installs it")
    built = {name: build_wheel(ROOT / name, tmp_path_factory.mktemp(name)) for name in COMPANIONS}
    return {"cidery": built_wheel, **built}


@pytest.mark.build
@pytest.mark.skipif(os.name == "nt", reason="links need a right on Windows")
@pytest.mark.parametrize("name", ["cidery", "server", "lab"])
def test_every_command_runs_where_nothing_else_is_installed(
    wheels: dict[str, Path], tmp_path: Path, name: str
) -> None:
    installed = list(dict.fromkeys([wheels["cidery"], wheels[name]]))
    assert {wheel.name.split("-")[1] for wheel in installed} == {cidery.__version__}
    scripts = install(tmp_path / "venv", *installed)
    (site_packages,) = (tmp_path / "venv").glob("**/site-packages")
    link_dependencies(site_packages, installed)
    environment = {"PATH": str(scripts), "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    helped = run(
        [scripts / "python", "-c", LIST_HELP], folder=tmp_path, environment=environment
    ).splitlines()
    assert {"", "score", "submit", "doctor", "demo", "data get"} <= set(helped)
    own = {command for command, extra in COMMANDS.items() if extra == name}
    assert {command for command in helped if command in COMMANDS} == own

    def call(*arguments: str, status: int = 0) -> str:
        return run(
            [scripts / "cidery", *arguments],
            folder=tmp_path,
            environment=environment,
            status=status,
        )

    assert "72 images scored" in call("demo")
    assert call("doctor", status=0)
    if name == "cidery":
        assert not (site_packages / "django").exists()
        call("demo", "--copy", ".")
        where = ("--url", "http://127.0.0.1:9", "--token", "x")
        refused = call("submit", "orchard", "system_a.json", *where, status=2)
        assert "no answer from http://127.0.0.1:9" in refused
        for command, extra in COMMANDS.items():
            message = call(command, status=2)
            assert f"is a command of cidery-{extra}, which is not installed" in message
            assert f"pip install 'cidery[{extra}]'" in message
    elif name == "server":
        assert "/set-password/" in call("serve", "--owner-link", "owner", "--data", "data")
        assert call("challenge", "list", "--data", "data")
        assert call("study", "list", "--data", "data")
    else:
        assert "repetition" in call("lab", "list")


def test_it_scores_where_there_is_no_compiler(built_wheel: Path, tmp_path: Path) -> None:
    scripts = install(tmp_path / "venv", built_wheel)
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
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    status: int = 0,
) -> str:
    """Return the output of a command; of one that fails, its messages."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout
