"""Packages with entry points, laid out as an installer lays them out."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Install = Callable[..., None]


def make_installer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that puts a package on the path until the test is over."""
    monkeypatch.syspath_prepend(str(folder))

    def install(
        name: str,
        code: str,
        entry_points: Mapping[str, Mapping[str, str]],
        version: str = "1.0",
    ) -> None:
        """Write the package's one module, named like it, and what an installer notes about it."""
        module = name.replace("-", "_")
        (folder / f"{module}.py").write_text(code, encoding="utf-8")
        info = folder / f"{module}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = []
        for group, points in entry_points.items():
            lines.append(f"[cidery.{group}]")
            lines += [f"{point} = {module}:{target}" for point, target in points.items()]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        monkeypatch.delitem(sys.modules, module, raising=False)
        importlib.invalidate_caches()

    return install
