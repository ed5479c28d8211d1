"""Runs `cidery` commands in processes that have most modules imported already.

Most of the time of a command on an installation is importing Django, NumPy and the like. The
standard library's fork server imports them once; each command is a new process forked from it,
which runs what the installed script runs.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory

PRELOADED = [
    "__main__",
    "support.commands",
    "cidery.cli",
    "cidery.meta",
    "cidery.metrics.contextual.consensus",
    "cidery.metrics.ngram.bleu",
    "cidery.metrics.ngram.rouge",
    "cidery.metrics.spice.metric",
    "cidery.scoring",
    "django.contrib.postgres.fields",
    "django.core.management.commands.migrate",
    "django.db.backends.postgresql.base",
    "django.db.backends.sqlite3.base",
    "django.template.defaulttags",
    "httpx",
    "psycopg",
    "scipy.stats",
]
"""Modules that do not read Django's settings, which differ between commands."""
MODELS = "support.loaded_models"


@dataclass(frozen=True)
class Finished:
    """Result of a command."""

    status: int
    stdout: str
    stderr: str


@cache
def _fork_server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def preload_models() -> None:
    """Let commands find models loaded, unless some have been run in this process already."""
    _fork_server().set_forkserver_preload([*PRELOADED, MODELS])


def run_cidery(
    arguments: Sequence[str], *, environment: Mapping[str, str], folder: Path | None = None
) -> Finished:
    """Run `cidery` with arguments, in a folder, and wait for its end."""
    with TemporaryDirectory() as temporary:
        outputs = [Path(temporary, name) for name in ("stdout", "stderr")]
        content = (list(arguments), dict(environment), folder or Path.cwd(), outputs)
        process = _fork_server().Process(target=_run, args=content)
        process.start()
        process.join()
        assert process.exitcode is not None
        stdout, stderr = (path.read_text(encoding="utf-8") for path in outputs)
    return Finished(process.exitcode, stdout, stderr)


def _run(
    arguments: list[str], environment: dict[str, str], folder: Path, outputs: list[Path]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for path, stream in zip(outputs, (sys.stdout, sys.stderr), strict=True):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
    sys.argv = ["cidery", *arguments]
    from cidery.cli import main

    status = main()
    atexit._run_exitfuncs()  # which the end of a forked process leaves out
    sys.exit(status)
