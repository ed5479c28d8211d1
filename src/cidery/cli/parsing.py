"""Checks and readers of arguments that several commands share."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from cidery.cli.options import Inputs


def new_app(**settings: Any) -> typer.Typer:
    """Return the Typer of a command, with the settings of all commands."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **settings,
    )


def check_confidence(value: float | None) -> float | None:
    """Check that a confidence is between 0 and 1."""
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} must be greater than 0 and less than 1")
    return value


def check_output(output: str, *inputs: str, option: str = "--output") -> None:
    """Check that a file can be written and is not one of the inputs."""
    path = Path(output)
    if path.is_dir():
        raise typer.BadParameter(f"{output} is a folder; name a file", param_hint=option)
    if not path.parent.is_dir():
        problem = f"{output} cannot be written: there is no folder {path.parent}"
        raise typer.BadParameter(problem, param_hint=option)
    if any(path.exists() and Path(i).exists() and path.samefile(i) for i in inputs):
        problem = f"{output} is also an input; name another file"
        raise typer.BadParameter(problem, param_hint=option)


def name_systems(given: list[str]) -> dict[str, str]:
    """Return files by name: the name given, the file's name, or its path if two names are equal."""
    pairs: list[tuple[str, str]] = []
    unnamed = []
    for item in given:
        name, equals, file = item.partition("=")
        if not equals or Path(item).exists():
            name, file = Path(item).name.partition(".")[0], item
            unnamed.append(item)
        elif not (name and file):
            raise typer.BadParameter(f"expected NAME=FILE, not {item!r}", param_hint="SYSTEM")
        pairs.append((name, file))
    counts = Counter(name for name, _ in pairs)
    files = {file if file in unnamed and counts[name] > 1 else name: file for name, file in pairs}
    if len(files) < len(pairs):
        raise typer.BadParameter("the same system is given twice", param_hint="SYSTEM")
    return files


def count_captions(images: int, captions: int) -> str:
    """Return the number of images and, if it differs, of captions."""
    found = "1 image" if images == 1 else f"{images} images"
    return found if captions == images else f"{found}, {captions} captions"


def split_runs(given: str) -> list[str]:
    """Return the files of a system's runs, which are separated by commas."""
    if "," not in given or Path(given).exists():
        return [given]
    files = given.split(",")
    if not all(files):
        raise typer.BadParameter(f"expected FILE,FILE,…, not {given!r}", param_hint="SYSTEM")
    return files


def refuse_with_stream(given: Mapping[str, object]) -> None:
    """Refuse options that streams do not support; None is not given."""
    for option, value in given.items():
        if value is not None:
            raise typer.BadParameter("not supported with --stream", param_hint=option)


def examples(*lines: str) -> str:
    """Return an epilog for `--help`; a backspace keeps its lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  $ {line}" for line in lines)])


def complete_metrics(incomplete: str) -> list[str]:
    """Complete the name of a metric."""
    from cidery.metrics import FAMILIES, METRICS
    from cidery.plugins import list_names

    names = (*FAMILIES, *list_names("metric", METRICS))
    return [name for name in names if name.startswith(incomplete)]


def complete_presets(incomplete: str) -> list[str]:
    """Complete the name of a preset."""
    from cidery.metrics.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def complete_frequencies(incomplete: str) -> list[str]:
    """Complete the name of a set of frequencies, or `references`."""
    from cidery.frequencies import SHIPPED

    return [name for name in ("references", *SHIPPED) if name.startswith(incomplete)]


def complete_shipped(incomplete: str) -> list[str]:
    """Complete the name of a shipped set."""
    return [name for name in complete_frequencies(incomplete) if name != "references"]


def complete_tokenizers(incomplete: str) -> list[str]:
    """Complete the name of a tokenizer."""
    from cidery.plugins import list_names
    from cidery.text import SEGMENTERS, TOKENIZERS

    names = list_names("tokenizer", (*TOKENIZERS, *SEGMENTERS))
    return [name for name in names if name.startswith(incomplete)]


def read_segmenters(given: str | None) -> Any:
    """Return `all`, or the names in a list with commas."""
    return given if given in (None, "all") else [name.strip() for name in given.split(",")]


def complete_languages(incomplete: str) -> list[str]:
    """Complete the code of a language."""
    from cidery.text import LANGUAGES

    return [code for code in sorted(LANGUAGES) if code.startswith(incomplete)]


def refuse_swapped(inputs: Inputs, references: str, files: Mapping[str, str]) -> None:
    """Refuse references that are given as a system, and captions as references."""
    from cidery.corpus import Runs

    if len(inputs.references) < 2 or any(len(group) > 1 for group in inputs.references.values()):
        return
    for name, rows in inputs.captions.items():
        if isinstance(rows, Runs):
            continue
        counts = Counter(row[0] for row in rows)
        if counts and min(counts.values()) > 1:
            raise typer.BadParameter(
                f"{references} has one caption per image and {files[name]} several: are they "
                "swapped? The file of references comes first, then the files of systems. To use "
                "them as they are, call cidery.write_report from Python",
                param_hint="REFERENCES",
            )


_FILE_NAME = re.compile(r"\S+\.(json|jsonl|ndjson|csv|tsv|parquet|arrow)(\.gz)?", re.IGNORECASE)


def check_captions_or_files(
    caption: str | None,
    reference: list[str] | None,
    has_results: bool,
    references: str | None,
    image: list[str] | None,
) -> None:
    """Check that either captions or files are given, completely."""
    if not has_results and references is None:
        if caption is None or not reference:
            raise typer.BadParameter(
                "give a caption and its references, or files: --results FILE --references FILE",
                param_hint="CAPTION REFERENCE…",
            )
        for text in filter(_FILE_NAME.fullmatch, (caption, *reference)):
            raise typer.BadParameter(
                f"{text} looks like a file; pass files with --results FILE --references FILE",
                param_hint="CAPTION REFERENCE…",
            )
        if image:
            raise typer.BadParameter(
                "only valid with --results and --references", param_hint="--image"
            )
    elif caption is not None:
        raise typer.BadParameter("pass a caption or files, not both", param_hint="CAPTION")
    elif not has_results or references is None:
        lacking = "--references" if has_results else "--results"
        raise typer.BadParameter("both files are needed", param_hint=lacking)


def check_plot(plot: str | None, by: str | None, *inputs: str) -> None:
    """Check that a figure can be drawn and written."""
    if plot is None:
        return
    if by is None:
        raise typer.BadParameter("only valid with --by", param_hint="--plot")
    from importlib.util import find_spec

    from cidery.errors import MissingExtraError
    from cidery.plots.figures import check_figure_file

    if find_spec("matplotlib") is None:
        raise MissingExtraError.to("draw", package="matplotlib", extra="plots")
    check_output(plot, *inputs, option="--plot")
    check_figure_file(plot)


_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def read_metrics(names: Sequence[str] | None) -> list[str | Callable[..., Any]] | None:
    """Return names of metrics unchanged, and import functions named as `module:function`.

    Only the command line does this: a name in a file or a web form runs no code.
    """
    return [read_metric(name) for name in names] if names else None


def read_metric(name: str) -> str | Callable[..., Any]:
    """Return the name of a metric unchanged, or import a function named as `module:function`."""
    from cidery.metrics import FAMILIES, METRICS

    if _FUNCTION.fullmatch(name) is None:
        return name
    is_known = name.partition(":")[0] in (*METRICS, *FAMILIES)
    return name if is_known else _import_function(name)


def _import_function(name: str) -> Callable[..., Any]:
    """Import a function; modules in the current folder are found too."""
    import importlib

    from cidery.errors import SettingError

    module, _, path = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # in place of the executable's folder
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise SettingError(
            f"the function {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise SettingError(f"{name!r} is {type(found).__name__}, expected a function")
    function: Callable[..., Any] = found
    return function
