"""Which tests stay in one process of a run: those that share what is slow to make."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling


class Sharing(LoadScopeScheduling):
    """Sends tests that share a running app, or a fixture of their file, to one process.

    All others go one by one to whichever process is free; the largest groups go first.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, name = nodeid.partition("::")
        return name_group(self.config.rootpath / file, name) or nodeid


def name_group(file: Path, test: str) -> str:
    """Return what a test shares with others, or nothing."""
    if file.stem.startswith("test_security"):
        return "the attacked installation"
    if file.stem.endswith("_browser"):
        return "the installation in a browser"
    text = read_once(file)
    if "installation: Installation" in text and "[" in test:
        return f"the installation on {test.partition('[')[2].partition('-')[0].rstrip(']')}"
    return file.stem if 'scope="module"' in text else ""


@cache
def read_once(file: Path) -> str:
    """Return a file's text."""
    return file.read_text(encoding="utf-8")
