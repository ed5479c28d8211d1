"""What a starting Python does where the environment variable CIDERY_COCO is set.

Two things can make it look at the variable: the file that `python -m cidery.coco --enable` puts
into the environment (cidery.coco.enabling), and the folder `STARTUP_FOLDER` on `PYTHONPATH`, which
`python -m cidery.coco SCRIPT` hands on to the processes that the script starts. This module is
imported at every start then, so it imports little.
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


def is_asked(value: str | None) -> bool:
    """Tell whether this value of CIDERY_COCO turns the drop-in modules on."""
    return (value or "") not in OFF


def install_if_asked() -> None:
    """Put the drop-in modules in place if CIDERY_COCO says so; say why where that fails."""
    if not is_asked(os.environ.get(VARIABLE)):
        return
    from cidery.coco.installation import put_in_place
    from cidery.errors import CideryError

    try:
        put_in_place(
            ignore_sigma=os.environ[VARIABLE] == IGNORE_SIGMA,
            aliases=aliases_of_environment(),
            reason=f"{VARIABLE} is set",
        )
    except CideryError as error:  # a Python that cannot start would be worse
        print(f"{VARIABLE} is set, but cidery.coco is not in place: {error}", file=sys.stderr)


def aliases_of_environment() -> list[str]:
    """Return the aliases that CIDERY_COCO_ALIASES lists, with commas between them."""
    listed = os.environ.get(ALIASES_VARIABLE, "")
    return [alias.strip() for alias in listed.split(",") if alias.strip()]


def hand_on(aliases: Iterable[str], *, ignore_sigma: bool) -> None:
    """Let every Python that this process starts have the drop-in modules too."""
    os.environ[VARIABLE] = IGNORE_SIGMA if ignore_sigma else "1"
    os.environ[ALIASES_VARIABLE] = ",".join(aliases)
    listed = os.environ.get("PYTHONPATH", "")
    if STARTUP_FOLDER not in listed.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP_FOLDER, listed]))
