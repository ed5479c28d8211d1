"""`python -m cidery.coco SCRIPT`: run a script with cidery in place of pycocoevalcap."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from cidery._version import __version__
from cidery.coco import enabling, startup
from cidery.coco.installation import PACKAGES, is_installed, register_modules
from cidery.errors import CideryError

_USAGE = """python -m cidery.coco [--alias NAME] [--ignore-sigma] SCRIPT [ARGUMENT ...]
       python -m cidery.coco [--alias NAME] [--ignore-sigma] -m MODULE [ARGUMENT ...]
       python -m cidery.coco --status | --enable | --disable | --path"""
_EPILOG = """examples:
  python -m cidery.coco eval.py --split val           eval.py is not changed
  python -m cidery.coco -m lmms_eval --tasks nocaps   as python -m lmms_eval
  python -m cidery.coco --alias utils.cider.pyciderevalcap train.py

Processes that the script starts have the modules too. --enable is for commands that
start Python themselves: CIDERY_COCO=1 accelerate launch -m lmms_eval
"""
_TAKES_A_VALUE = ("--alias",)
BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    own, command = _split(given)
    parser = _make_parser()
    options = parser.parse_args(own)
    try:
        if options.status:
            return _show_status()
        if options.path:
            print(startup.STARTUP_FOLDER)
            return 0
        if options.enable or options.disable:
            return _enable() if options.enable else _disable()
        if not command:
            parser.error("name a script, or a module after -m")
        aliases = [*startup.read_environment_aliases(), *options.alias]
        register_modules(
            ignore_sigma=options.ignore_sigma, aliases=aliases, reason="python -m cidery.coco"
        )
    except CideryError as error:
        print(f"cidery.coco: {error}", file=sys.stderr)
        return BAD_INPUT
    startup.enable_in_children(aliases, ignore_sigma=options.ignore_sigma)
    return _run(parser, command)


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cidery.coco",
        usage=_USAGE,
        description="Run a script or a module with cidery in place of pycocoevalcap and "
        "pyciderevalcap.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--alias",
        action="append",
        default=[],
        metavar="NAME",
        help="another name of these packages, such as utils.cider.pyciderevalcap or "
        "evaluation=pycocoevalcap; may be repeated",
    )
    add("--ignore-sigma", action="store_true", help="CiderD always uses sigma 6")
    add("--status", action="store_true", help="show the current state and exit")
    add("--enable", action="store_true", help="make this environment read CIDERY_COCO")
    add("--disable", action="store_true", help="undo --enable")
    add(
        "--path",
        action="store_true",
        help="print a directory that has the effect of --enable when it is on PYTHONPATH",
    )
    add("--version", action="version", version=f"cidery {__version__}")
    return parser


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split at the script or at -m; the rest are the script's arguments."""
    end = 0
    while end < len(arguments) and (arguments[end].startswith("--") or arguments[end] == "-h"):
        end += 2 if arguments[end] in _TAKES_A_VALUE else 1
    return list(arguments[:end]), list(arguments[end:])


def _run(parser: argparse.ArgumentParser, command: Sequence[str]) -> int:
    first, *rest = command
    if first == "-m":
        if not rest:
            parser.error("name a module after -m")
        sys.argv = list(rest)
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return 0
    if first.startswith("-"):
        parser.error(f"unknown option {first}")
    if not Path(first).exists():
        print(f"cidery.coco: no such file: {first}", file=sys.stderr)
        return BAD_INPUT
    sys.argv = [first, *rest]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = str(Path(first).resolve().parent)  # as Python does for a script
    runpy.run_path(first, run_name="__main__")
    return 0


def _enable() -> int:
    try:
        path = enabling.enable()
    except OSError as error:
        print(
            f"cidery.coco: cannot write {error.filename}: {error.strerror}. Without it, run\n"
            f"  python -m cidery.coco SCRIPT\nor set two variables:\n"
            f"  export PYTHONPATH={startup.STARTUP_FOLDER} {startup.VARIABLE}=1",
            file=sys.stderr,
        )
        return 1
    print(
        f"Wrote {path}. With {startup.VARIABLE}=1, imports of {' and '.join(PACKAGES)} in this "
        "environment find cidery.\nUndo with: python -m cidery.coco --disable"
    )
    return 0


def _disable() -> int:
    try:
        deleted = enabling.disable()
    except OSError as error:
        print(f"cidery.coco: cannot delete {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print("\n".join(f"Deleted {path}" for path in deleted) or "Not enabled; nothing to do.")
    return 0


def _show_status() -> int:
    value = os.environ.get(startup.VARIABLE)
    files = enabling.find_files()
    on_path = startup.STARTUP_FOLDER in os.environ.get("PYTHONPATH", "").split(os.pathsep)
    looks = [str(path) for path in files] + (["PYTHONPATH"] if on_path else [])
    real = {name: PathFinder.find_spec(name) for name in PACKAGES}
    lines = {
        startup.VARIABLE: "not set" if value is None else repr(value),
        startup.ALIASES_VARIABLE: ", ".join(startup.read_environment_aliases()) or "not set",
        "activated by": ", ".join(looks) or "nothing (see --enable)",
        "imports find": "cidery" if is_installed() else "the installed packages",
    }
    for name, spec in real.items():
        places = list(spec.submodule_search_locations or ()) if spec else []
        lines[name] = places[0] if places else "not installed"
    width = max(map(len, lines))
    print("\n".join(f"{name:<{width}}  {text}" for name, text in lines.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
