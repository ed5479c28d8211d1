"""`cidery demo`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cidery.cli import parsing
from cidery.cli.compare import compare
from cidery.cli.rendering import show_title
from cidery.cli.score import score
from cidery.cli.stats import stats

FREQUENCIES = "coco-val2014"

app = parsing.new_app()


@app.command(epilog=parsing.examples("cidery demo", "cidery demo --copy examples"))
def demo(
    copy: Annotated[
        str | None,
        typer.Option(
            help="Only copy the example files into this folder; it is created if needed.",
            metavar="FOLDER",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Score, compare and describe the bundled example."""
    from cidery.corpus import bundled

    if copy is not None:
        Path(copy).mkdir(parents=True, exist_ok=True)
        for name in bundled.NAMES:
            typer.echo(shutil.copyfile(bundled.path(name), Path(copy) / name))
        return
    with _folder(bundled.path("references.json").parent):
        _announce("score system_a.json references.json", FREQUENCIES)
        score("system_a.json", "references.json", frequencies=FREQUENCIES)
        _announce("score system_b.json references.json", FREQUENCIES)
        score("system_b.json", "references.json", frequencies=FREQUENCIES)
        _announce("compare references.json system_a.json system_b.json", FREQUENCIES)
        compare("references.json", ["system_a.json", "system_b.json"], frequencies=FREQUENCIES)
        _announce("stats references.json")
        stats(["references.json"])


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Work in a folder, so that files have the names that the commands show."""
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def _announce(command: str, frequencies: str | None = None) -> None:
    option = f" --frequencies {frequencies}" if frequencies else ""
    show_title(f"\n$ cidery {command}{option}")
