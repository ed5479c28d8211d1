"""The command line: parse, make one public call, render.

A command is a module of this package with a Typer `app`, and its name in `COMMANDS`. Modules import
the library inside their functions, so that `cidery --help` and shell completion stay quick.

`__all__` lists the names that commands of other packages may use; docs/write-your-own-metric.md
has an example.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup
from typer.main import get_command

from cidery._version import __version__
from cidery.cli.options import (
    Address,
    EngineOptions,
    Format,
    InputOptions,
    PipelineOptions,
    References,
    TableOrJson,
    with_options,
)
from cidery.cli.parsing import check_output, examples, new_app
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import (
    on_terminal,
    show_json,
    show_message,
    show_notes,
    show_pairs,
    show_result,
    show_table,
    show_title,
)
from cidery.errors import CideryError, DataWarning, InputNote, SliceWarning, UnreliableWarning
from cidery.plugins import COMPANIONS, install_command, list_names, load_plugin

__all__ = [
    "Address",
    "EngineOptions",
    "Format",
    "InputOptions",
    "PipelineOptions",
    "References",
    "TableOrJson",
    "app",
    "check_output",
    "examples",
    "main",
    "new_app",
    "on_terminal",
    "progress",
    "show_json",
    "show_message",
    "show_notes",
    "show_pairs",
    "show_result",
    "show_table",
    "show_title",
    "with_options",
]

GROUPS = {
    "Scores": ("score", "compare", "report", "explain", "diversity", "dense-video"),
    "Checks of files, scores and rewards": (
        *("audit", "stats", "rank", "ledger", "objects", "redteam"),
    ),
    "Metrics and their parts": ("metrics", "meta", "frequencies", "tokenize", "graph"),
    "Setup": ("demo", "doctor", "data", "submit"),
}
"""Names of commands by heading, in the order of `cidery --help`; each is a module here."""
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
OTHERS = "Commands of other packages"
"""Heading of the commands of companions and plugins."""

OUR_WARNINGS = (UnreliableWarning, SliceWarning, DataWarning, InputNote)
"""Warnings that are printed in one line, at every run."""
BAD_INPUT = 2
BROKEN_PIPE = 128 + 13  # what a shell reports for a program that SIGPIPE ended


class _LazyCommands(TyperGroup):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list_names("command", COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = _find_command(cmd_name)
        if command is None:
            if not ctx.resilient_parsing:
                _fail_unknown(ctx, cmd_name)
            return None
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by group, in columns of the same width."""
        names = self.list_commands(ctx)
        width = max(map(len, names))
        grouped = {**GROUPS, OTHERS: [name for name in names if name not in COMMANDS]}
        for title, listed in grouped.items():
            found = [(name, self.get_command(ctx, name)) for name in listed]
            limit = formatter.width - 6 - width
            rows = [(name.ljust(width), c.get_short_help_str(limit)) for name, c in found if c]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            # Without this, Python prints the error once more when it closes stdout.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None


def _find_command(name: str) -> Any:
    """Import a command of cidery, or of an installed package; None where there is no such name."""
    if name in COMMANDS:
        module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
        return get_command(module.app)
    plugin = load_plugin("command", name)
    if plugin is None:
        return None
    if not isinstance(plugin.value, typer.Typer):
        raise plugin.plugin.fail("is not a typer.Typer")
    return get_command(plugin.value)


def _fail_unknown(ctx: Any, name: str) -> None:
    if name in COMPANIONS:
        extra = COMPANIONS[name]
        ctx.fail(
            f"{name!r} is a command of cidery-{extra}, which is not installed; install it with: "
            f"{install_command(extra)}"
        )
    similar = get_close_matches(name, list_names("command", COMMANDS), n=1)
    if similar:
        ctx.fail(f"No such command {name!r}; did you mean {similar[0]!r}?")


app = typer.Typer(
    cls=_LazyCommands,
    rich_markup_mode=None,  # Rich's help takes longer to import than everything else
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    epilog=examples(
        "cidery demo",
        "cidery score results.json references.json",
        "cidery compare references.json ours.json theirs.json",
        "cidery score --help",
    ),
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cidery {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Evaluate captions of images against reference captions."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0: success, or help for a group without arguments; 2: bad input or usage, with a message of one
    line; 130: interrupted; 141: broken pipe. An unexpected error is a bug: it prints its traceback
    and exits with status 1.
    """
    with warnings.catch_warnings():
        for category in OUR_WARNINGS:
            warnings.simplefilter("always", category)
        warnings.showwarning = _show_warning
        try:
            status = get_command(app).main(arguments, prog_name="cidery", standalone_mode=False)
            return status if isinstance(status, int) else 0
        except typer.TyperException as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # a private class of Typer
                typer.echo(error.format_message())
                return 0
            show_message("error", _explain_usage(error))
        except typer.Abort:
            return 130
        except OSError as error:
            show_message("error", _explain_os_error(error))
        except CideryError as error:
            show_message("error", str(error))
        return BAD_INPUT


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,
) -> None:
    if issubclass(category, OUR_WARNINGS):
        show_message("note" if category is InputNote else "warning", str(message))
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _explain_usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message().rstrip(".")
    if context is None:
        return message
    see = " See" if message.endswith("?") else "; see"
    return f"{message}{see} {context.command_path} --help"


def _explain_os_error(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}"
