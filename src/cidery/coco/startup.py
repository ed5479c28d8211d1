"""What a starting Python does where the environment variable CIDERY_COCO is set.

Two things can make it look at the variable: the file that `python -m cidery.coco --enable` puts
into the environment, and the folder `STARTUP_FOLDER` on `PYTHONPATH`, which
`python -m cidery.coco SCRIPT` hands on to the processes that the script starts. This module is
imported at every start then, so it imports little.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

VARIABLE = "CIDERY_COCO"
ALIASES_VARIABLE = "CIDERY_COCO_ALIASES"
OFF = ("", "0")
IGNORE_SIGMA = "ignore-sigma"
"""A value of CIDERY_COCO that also asks for `install(ignore_sigma=True)`."""
STARTUP_FOLDER = Path(__file__).parent / "on_path"
FILE_NAME = "cidery-coco.pth"

_LINE = (
    f"import os; os.environ.get({VARIABLE!r}, '') in {OFF} or exec("
    '"try:\\n from cidery.coco.startup import install_if_asked\\n'
    "except ImportError as error:\\n import sys\\n"
    f" print('{VARIABLE} is set, but cidery cannot be imported; delete', file, error, "
    "file=sys.stderr)\\n"
    "else:\\n install_if_asked()\", {'file': %r})\n"
)
"""Python runs each line of such a file that begins with `import`; %r is the file's own name."""


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
    if str(STARTUP_FOLDER) not in listed.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(STARTUP_FOLDER), listed]))


def find_files() -> list[Path]:
    """Return the start-up files of this environment, of which there is at most one by right."""
    return [path for path in _places() if path.is_file()]


def enable() -> Path:
    """Write the start-up file, and return where it is; OSError where no folder may be written."""
    failures = []
    for path in _places():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Not written in place: another Python may start meanwhile.
            temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
            temporary.write_text(_LINE % str(path), encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            failures.append(error)
        else:
            return path
    raise failures[0]


def disable() -> list[Path]:
    """Delete the start-up files, and return which there were."""
    found = find_files()
    for path in found:
        path.unlink(missing_ok=True)
    return found


def _places() -> Iterator[Path]:
    yield Path(sysconfig.get_path("purelib")) / FILE_NAME
    if site.ENABLE_USER_SITE:  # never in a virtual environment
        yield Path(site.getusersitepackages()) / FILE_NAME
