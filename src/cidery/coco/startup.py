"""Activation of the drop-in modules at the start of Python, by the variable CIDERY_COCO.

The variable is read because of the file that `python -m cidery.coco --enable` writes
(cidery.coco.enabling), or because `STARTUP_FOLDER` is on `PYTHONPATH`, which
`python -m cidery.coco SCRIPT` sets for child processes. This module is then imported at every
start, so it imports little.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

VARIABLE = "CIDERY_COCO"
ALIASES_VARIABLE = "CIDERY_COCO_ALIASES"
OFF = ("", "0")
IGNORE_SIGMA = "ignore-sigma"
"""A value of CIDERY_COCO that also asks for `install(ignore_sigma=True)`."""
STARTUP_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "on_path")  # noqa: PTH100, PTH118, PTH120


def is_enabled(value: str | None) -> bool:
    """Return whether this value of CIDERY_COCO enables the drop-in modules."""
    return (value or "") not in OFF


def install_if_enabled() -> None:
    """Register the drop-in modules if CIDERY_COCO is set; print errors on stderr."""
    if not is_enabled(os.environ.get(VARIABLE)):
        return
    from cidery.coco.installation import register_modules
    from cidery.errors import CideryError

    try:
        register_modules(
            ignore_sigma=os.environ[VARIABLE] == IGNORE_SIGMA,
            aliases=read_environment_aliases(),
            reason=f"{VARIABLE} is set",
        )
    except CideryError as error:  # a Python that cannot start would be worse
        print(f"{VARIABLE} is set, but cidery.coco is not active: {error}", file=sys.stderr)


def read_environment_aliases() -> list[str]:
    """Return the comma-separated aliases of CIDERY_COCO_ALIASES."""
    listed = os.environ.get(ALIASES_VARIABLE, "")
    return [alias.strip() for alias in listed.split(",") if alias.strip()]


def enable_in_children(aliases: Iterable[str], *, ignore_sigma: bool) -> None:
    """Enable the drop-in modules in child processes."""
    os.environ[VARIABLE] = IGNORE_SIGMA if ignore_sigma else "1"
    os.environ[ALIASES_VARIABLE] = ",".join(aliases)
    listed = os.environ.get("PYTHONPATH", "")
    if STARTUP_FOLDER not in listed.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP_FOLDER, listed]))
