"""`cidery serve`: the web app for studies and challenges."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cidery.cli import Address, examples, new_app
from cidery_server.commands.installation import Data, Database, make_installation, read_environment

app = new_app()


@app.command(
    epilog=examples(
        "cidery serve",
        "cidery serve --data /srv/cidery --url https://captions.example.org --proxies 1",
        "cidery serve --database postgresql://cidery@db/cidery --processes 4 --workers 4",
        "cidery serve --engine ray --address auto",
        "cidery serve --data /srv/cidery --backup cidery-monday.sqlite3",
    )
)
def serve(
    data: Data = None,
    database: Database = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
    url: Annotated[
        str | None,
        typer.Option(help="Public address of the app, if it is behind a proxy."),
    ] = None,
    proxies: Annotated[
        int | None, typer.Option(help="Number of reverse proxies in front of the app.", min=0)
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            help="Job queue: redis://… or postgresql://…. Default: the database itself, "
            "or a file in DIR."
        ),
    ] = None,
    mail: Annotated[
        str | None,
        typer.Option(
            help="SMTP server for e-mail: smtp://user:password@host:587. Default: print messages. "
            "Use the environment variable CIDERY_MAIL to hide the password from other users.",
            metavar="URL",
        ),
    ] = None,
    mail_from: Annotated[
        str | None, typer.Option(help="Sender of e-mail.", metavar="ADDRESS")
    ] = None,
    processes: Annotated[
        int, typer.Option(help="Number of web server processes; 0 runs workers only.", min=0)
    ] = min(os.cpu_count() or 1, 4),
    workers: Annotated[
        int,
        typer.Option(help="Number of background workers, which score submissions.", min=0),
    ] = 1,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Engine for slow metrics: local, or ray (a Ray cluster).",
            metavar="NAME",
        ),
    ] = None,
    address: Address = None,
    backup: Annotated[
        Path | None,
        typer.Option(
            help="Copy the database to this new file and exit. Works while the app is running."
        ),
    ] = None,
    owner_link: Annotated[
        str | None,
        typer.Option(
            help="Print a one-time link that sets the password of this owner, and exit.",
            metavar="NAME",
        ),
    ] = None,
    new_owner: Annotated[
        str | None,
        typer.Option(
            help="Create another owner, print a one-time link that sets the password, and exit.",
            metavar="NAME",
        ),
    ] = None,
) -> None:
    """Serve studies and challenges to browsers and programs.

    Everything is stored in one directory, in an SQLite file, unless --database names a PostgreSQL
    database. The first start prints a link for the owner's account.
    """
    if backup is not None:
        from cidery_server.web.database import back_up

        back_up(read_environment(data, database), backup)
        typer.echo(f"copied to {backup}")
        return
    asked = read_environment(data, database, engine=engine, engine_address=address)
    only_link = owner_link is not None or new_owner is not None
    if workers and asked.engine == "ray" and not only_link:
        from cidery.engines import get_engine

        # Now, not when a submission is scored.
        get_engine("ray", address=asked.engine_address or None).check()
    environment = make_installation(
        data,
        database,
        url=url,
        proxies=proxies,
        queue=queue,
        mail=mail,
        mail_from=mail_from,
        engine=engine,
        engine_address=address,
    )
    url = environment.url or f"http://{host}:{port}"
    from cidery_server.web.owners import make_owner_link, owner_exists
    from cidery_server.web.supervisor import serve as run

    if only_link:
        name = owner_link or new_owner or ""
        typer.echo(make_owner_link(name, url, new=new_owner is not None))
        return
    if processes:
        typer.echo(f"serving at {url} (data in {environment.data}); press Ctrl-C to stop")
    if not owner_exists():
        link = make_owner_link("owner", url)
        typer.echo(f"open this link once to set the owner's password: {link}")
    run(host=host, port=port, processes=processes, workers=workers)
