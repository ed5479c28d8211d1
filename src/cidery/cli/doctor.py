"""`cidery doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import show_advice, show_json, show_table

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery doctor",
        "cidery doctor --deep",
        "cidery doctor --format json",
        "python -m cidery.doctor",
    )
)
def doctor(
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Also load every model and plug-in, and score with every metric."
        ),
    ] = False,
    format: options.TableOrJson = "table",
) -> int:
    """Show installed extras and available metrics.

    Also shows the commands that install what is missing. The exit status is 0 if the core metrics
    work, else 1.
    """
    from cidery.doctor import DEEP_PROBES, PROBES, diagnose

    with progress(len(PROBES) + len(DEEP_PROBES) * deep) as step:
        found = diagnose(deep=deep, report=step)
    if format == "json":
        show_json(found.to_dict())
    else:
        show_table(found.table())
        typer.echo(f"\nCore metrics: {'OK' if found.works else 'not working'}")
        if found.remedies:
            show_advice(f"{what}   ({', '.join(n)})" for what, n in found.remedies.items())
    return 0 if found.works else 1
