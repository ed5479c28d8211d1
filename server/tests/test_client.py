"""The client of `cidery submit`, against servers that are not what they should be."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from cidery.client import Client
from cidery.errors import InputError
from server.tests.support.installations import free_port


@contextmanager
def answering(status: int, content: bytes, **headers: str) -> Iterator[str]:
    """Run a server that answers everything in one way, and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.do_GET()

        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    received: list[bytes] = []
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / 'results "1".json'
    path.write_text("[]" + " " * 200_000)
    return path


def test_progress_is_reported(file: Path) -> None:
    seen: list[tuple[str, float]] = []
    with answering(201, json.dumps({"id": 7}).encode()) as url:
        number = Client(url, "token").submit("x", file, "t", lambda *news: seen.append(news))
    assert number == 7
    assert len(seen) > 2
    assert [share for _, share in seen] == sorted(share for _, share in seen)
    assert seen[-1] == ("sending", 1.0)


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (200, b"<html>", "is not a cidery server"),
        (200, b"[1]", "is not a cidery server"),
        (502, b"<html>", "answers with status 502"),
        (403, b'{"detail": "Not you."}', "^Not you.$"),
        (400, b'{"errors": {"file": ["Bad."], "title": ["Long."]}}', "^Bad. title: Long.$"),
    ],
)
def test_answers_are_explained(file: Path, status: int, content: bytes, message: str) -> None:
    with answering(status, content) as url, pytest.raises(InputError, match=message):
        Client(url, "token").submit("x", file, "t")


def test_a_redirection_is_named(file: Path) -> None:
    target = "https://captions.example.org/api/"
    with (
        answering(301, b"", Location=target) as url,
        pytest.raises(InputError, match=f"redirects to {target}; give that server as the URL"),
    ):
        Client(url, "token").submit("x", file, "t")


def test_what_cannot_be_asked(file: Path) -> None:
    with pytest.raises(InputError, match="no answer from"):
        Client(f"http://127.0.0.1:{free_port()}", "token").submit("x", file, "t")
    with pytest.raises(InputError, match="must begin with http:// or https://"):
        Client("ftp://example.org", "token").submit("x", file, "t")
    with pytest.raises(InputError, match="the token has characters other than ASCII"):
        Client("http://127.0.0.1:1", "tokén…").submit("x", file, "t")


def test_only_submitting_imports_httpx() -> None:
    code = "import sys, cidery, cidery.cli.submit; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
