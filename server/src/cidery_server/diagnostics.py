"""Findings of `cidery doctor` about the web app."""

from __future__ import annotations

from collections.abc import Iterator

from cidery.doctor import Finding, run_probe

SECONDS_TO_ANSWER = 1
"""Timeout of a connection."""


def probe_services() -> Iterator[Finding]:
    """Yield the state of the web app's folder, database and queue."""
    topic = "services"
    from cidery_server.web.environment import Environment

    environment = Environment.read()
    there = (environment.data / "secret-key").is_file()
    detail = f"an installation in {environment.data}" if there else "no installation here yet"
    yield Finding(topic, "web app", "ok" if there else "info", detail)
    if environment.on_postgresql:
        yield run_probe(topic, "database", lambda: _reach("PostgreSQL", environment.database, 5432))
    elif environment.database_file is not None:
        file = environment.database_file
        state = "is there" if file.is_file() else "is made by cidery serve"
        yield Finding(topic, "database", "ok", f"SQLite; {file} {state}")
    if environment.queue:
        kind, port = ("Redis", 6379) if environment.queue.startswith("redis") else ("", 5432)
        yield run_probe(
            topic, "queue", lambda: _reach(kind or "PostgreSQL", environment.queue, port)
        )
    else:
        yield Finding(topic, "queue", "ok", "in the database or a file")


def _reach(kind: str, url: str, port: int) -> str:
    """Connect to a service; without its password in messages."""
    import socket
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    host, port = parts.hostname or "localhost", parts.port or port
    with socket.create_connection((host, port), timeout=SECONDS_TO_ANSWER):
        return f"{kind} answers at {host}:{port}"
