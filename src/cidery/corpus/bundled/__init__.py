"""Example captions that come with the package: 72 invented scenes and two imaginary systems."""

from __future__ import annotations

from pathlib import Path

from cidery.errors import SettingError

NAMES = ("references.json", "system_a.json", "system_b.json", "sampled_a.json")


def path(name: str) -> Path:
    """Return the path of one of the example files.

    ```python
    from cidery.corpus import bundled
    from cidery.files import read_references

    references = read_references(bundled.path("references.json"))
    ```
    """
    if name not in NAMES:
        raise SettingError(f"no example file {name!r}; there are {', '.join(NAMES)}")
    return Path(__file__).parent / name
