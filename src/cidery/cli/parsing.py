"""Arguments and options that several commands share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

import typer


def new_app(**settings: Any) -> typer.Typer:
    """Return the Typer of a command, set as all of them are."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **settings,
    )


def examples(*lines: str) -> str:
    """Return an epilog for `--help`; a backspace keeps its lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  $ {line}" for line in lines)])


def _complete_metrics(incomplete: str) -> list[str]:
    from cidery.metrics import FAMILIES, METRICS
    from cidery.plugins import list_names

    names = (*FAMILIES, *list_names("metric", METRICS))
    return [name for name in names if name.startswith(incomplete)]


def _complete_frequencies(incomplete: str) -> list[str]:
    from cidery.frequencies import SHIPPED

    return [name for name in ("references", *SHIPPED) if name.startswith(incomplete)]


def complete_shipped(incomplete: str) -> list[str]:
    """Complete the name of a set of frequencies."""
    return [name for name in _complete_frequencies(incomplete) if name != "references"]


def _complete_tokenizers(incomplete: str) -> list[str]:
    from cidery.captions.tokenizers import TOKENIZERS
    from cidery.plugins import list_names

    return [name for name in list_names("tokenizer", TOKENIZERS) if name.startswith(incomplete)]


_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def read_metrics(names: list[str] | None) -> list[str | Callable[..., Any]] | None:
    """Return names of metrics as they are, and import what is written as `module:function`.

    Only the command line does this: a name in a file or a web form runs no code.
    """
    return [read_metric(name) for name in names] if names else None


def read_metric(name: str) -> str | Callable[..., Any]:
    """Return the name of a metric as it is, or import what is written as `module:function`."""
    from cidery.metrics import FAMILIES, METRICS

    known = name.partition(":")[0] in (*METRICS, *FAMILIES)
    is_function = _FUNCTION.fullmatch(name) is not None and not known
    return _import_function(name) if is_function else name


def _import_function(name: str) -> Callable[..., Any]:
    """Import a function; modules in the current folder are found too."""
    import importlib

    from cidery.errors import SettingError

    module, _, path = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # the executable's own folder stands there
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


References: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="File of reference captions, in any format cidery reads; - is standard input.",
        metavar="REFERENCES",
        show_default=False,
    ),
]
Metrics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric, a family, name:setting=value,… or a Python function as module:function; "
        "may be repeated. Default: bleu, rouge-l, cider-d and cider-r.",
        metavar="NAME",
        show_default=False,
        autocompletion=_complete_metrics,
    ),
]
Format: TypeAlias = Annotated[
    Literal["table", "json", "csv", "markdown", "latex"],
    typer.Option("--format", "-f", help="How to print the result."),
]
TableOrJson: TypeAlias = Annotated[
    Literal["table", "json"], typer.Option("--format", "-f", help="How to print the result.")
]
Tokenizer: TypeAlias = Annotated[
    str,
    typer.Option(
        help="ptb, ptb-coco, whitespace, words, or one that an installed package adds.",
        metavar="NAME",
        autocompletion=_complete_tokenizers,
    ),
]
Stemmer: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Snowball language, such as english; default: no stemming.",
        metavar="LANGUAGE",
        show_default=False,
    ),
]
Frequencies: TypeAlias = Annotated[
    str,
    typer.Option(
        help="What CIDEr's weights are counted on: references, coco-val2014, coco-train2014 or "
        "a file made by `cidery frequencies`.",
        metavar="NAME|FILE",
        autocompletion=_complete_frequencies,
    ),
]
Faithful: TypeAlias = Annotated[
    Literal["coco", "paper"] | None,
    typer.Option(
        help="Follow the community's code or the papers' equations; default: each metric's own.",
        show_default=False,
    ),
]
Missing: TypeAlias = Annotated[
    Literal["error", "skip"],
    typer.Option(help="What to do about images that lack captions or references."),
]
Split: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Keep references of this split only, such as test or train+restval.",
        metavar="NAME",
        show_default=False,
    ),
]
Resamples: TypeAlias = Annotated[
    int, typer.Option(help="Bootstrap samples (and permutations).", metavar="COUNT")
]
Seed: TypeAlias = Annotated[
    int, typer.Option(help="Seed of everything random; equal seeds repeat.", metavar="NUMBER")
]
Threads: TypeAlias = Annotated[
    int, typer.Option(help="0: one per core; any number gives the same bits.", metavar="COUNT")
]
Output: TypeAlias = Annotated[
    str, typer.Option("--output", "-o", help="File to write.", metavar="FILE", show_default=False)
]

RESAMPLES = 1000
"""As `cidery.statistics.RESAMPLES`, which would cost an import of NumPy; a test compares them."""
