"""METEOR's jar, started once for all processes of a test run: it reads its tables for ten seconds.

A `java` that stands first on the path passes the questions of pycocoevalcap's wrapper on to it, and
gives everything else to the real Java. Run as a program, this file is that one's other half:

    one_jar.py ask SOCKET JAVA ARGUMENT...     # connects stdin and stdout
    one_jar.py serve SOCKET JAVA ARGUMENT...   # runs the jar; the run's reaper ends it
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import threading
from pathlib import Path

FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For programs that end soon: no second compiler and no threads that collect garbage."""
SCRIPT = """#!/bin/sh
case "$*" in
  *"meteor-1.5.jar - - -stdio -l en -norm") exec {python} {file} ask {socket} {java} {flags} "$@" ;;
esac
exec {java} {flags} "$@"
"""


def write_java(folder: Path, java: str) -> None:
    """Write the `java` that shares METEOR's jar; processes of a run may do so at the same time."""
    names = {"python": sys.executable, "file": __file__, "java": java}
    names["socket"] = str(folder / "jar.socket")
    quoted = {name: shlex.quote(value) for name, value in names.items()} | {"flags": FLAGS}
    partial = folder / f"java.{os.getpid()}"
    partial.write_text(SCRIPT.format(**quoted), encoding="utf-8")
    partial.chmod(0o755)
    partial.rename(folder / "java")


def connect(address: str, command: list[str]) -> socket.socket:
    """Return a connection to the running jar, which the first that asks starts."""
    from filelock import FileLock

    connection = socket.socket(socket.AF_UNIX)
    with FileLock(f"{address}.lock"):
        if not Path(address).exists():
            serve = [sys.executable, __file__, "serve", address, *command]
            server = subprocess.Popen(serve, stdout=subprocess.PIPE, start_new_session=True)
            assert server.stdout is not None
            server.stdout.readline()  # it listens
    connection.connect(address)
    return connection


def ask(address: str, command: list[str]) -> None:
    """Pass questions on, and answers back."""
    connection = connect(address, command)

    def send() -> None:
        while piece := os.read(0, 1 << 16):
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)

    threading.Thread(target=send, daemon=True).start()
    while piece := connection.recv(1 << 16):
        os.write(1, piece)


def serve(address: str, command: list[str]) -> None:
    """Answer all who connect, one question at a time."""
    devnull = subprocess.DEVNULL
    jar = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=devnull, bufsize=1 << 16
    )
    questions, answers = jar.stdin, jar.stdout
    assert questions is not None and answers is not None
    turn = threading.Lock()

    def answer(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                # A question has one answer, but EVAL one for each segment and one for all.
                count = 1 + line.count(b"|||") if line.startswith(b"EVAL") else 1
                with turn:
                    questions.write(line)
                    questions.flush()
                    found = b"".join(answers.readline() for _ in range(count))
                if not found:
                    return
                connection.sendall(found)

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        os.write(1, b"\n")
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=answer, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    {"ask": ask, "serve": serve}[sys.argv[1]](sys.argv[2], sys.argv[3:])
