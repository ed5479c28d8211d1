"""Startup file that makes an environment read CIDERY_COCO: write, find and delete it."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from cidery.coco.startup import OFF, VARIABLE

FILE_NAME = "cidery-coco.pth"

_LINE = (
    f"import os; os.environ.get({VARIABLE!r}, '') in {OFF} or exec("
    '"try:\\n from cidery.coco.startup import install_if_enabled\\n'
    "except ImportError as error:\\n import sys\\n"
    f" print('{VARIABLE} is set, but cidery cannot be imported; delete', file, error, "
    "file=sys.stderr)\\n"
    "else:\\n install_if_enabled()\", {'file': %r})\n"
)
"""Python runs each line of such a file that begins with `import`; %r is the file's own name."""


def find_files() -> list[Path]:
    """Return the startup files of this environment: normally at most one."""
    return [path for path in _places() if path.is_file()]


def enable() -> Path:
    """Write the startup file and return its path; raise OSError where that is not possible."""
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
    """Delete the startup files and return their paths."""
    found = find_files()
    for path in found:
        path.unlink(missing_ok=True)
    return found


def _places() -> Iterator[Path]:
    yield Path(sysconfig.get_path("purelib")) / FILE_NAME
    if site.ENABLE_USER_SITE:  # never in a virtual environment
        yield Path(site.getusersitepackages()) / FILE_NAME
