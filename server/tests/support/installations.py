"""Starts the real app for tests: `cidery serve` as a process, on SQLite or a real PostgreSQL."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
from filelock import FileLock

from cidery_server.web.environment import DATABASE_FILE
from support.commands import run_cidery
from support.reaper import MARK, postgresql_folder

CIDERY = str(Path(sys.executable).parent / "cidery")
TIMEOUT_SECONDS = 180
"""A busy machine is slow, not wrong: only what never happens fails."""
GENEROUS = ",".join(
    f"{name}=10000/min" for name in ("sign-in", "sign-in-account", "sign-up", "submit", "join")
)
"""All of a test's visitors come from one address."""
PASSWORD = "cider in the evening"


def free_port() -> int:
    """Return a port below those that the system gives to clients, who might take it meanwhile.

    Each process of a test run chooses among ports of its own.
    """
    first = 20_000 + 2_400 * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 5)
    while True:
        port = first + secrets.randbelow(2_400)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_until(done: Any, seconds: float = TIMEOUT_SECONDS, *, what: str = "it") -> None:
    deadline = time.monotonic() + seconds
    pause = 0.02  # longer and longer: asking takes the time of whoever answers
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} took more than {seconds} seconds")
        time.sleep(pause)
        pause = min(1.3 * pause, 0.4)


def wait_for_morning() -> None:
    """Where submissions of a day are counted, let no day end meanwhile."""
    now = datetime.now(timezone.utc)
    tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    if tomorrow - now < timedelta(minutes=1):
        time.sleep((tomorrow - now).total_seconds() + 1)


def open_client(url: str) -> httpx.Client:
    """Return a client for plain HTTP: reading the system's certificates takes 45 ms of CPU."""
    return httpx.Client(base_url=url, timeout=TIMEOUT_SECONDS, verify=False)


@dataclass
class Visitor:
    """A browser without a screen: cookies, CSRF tokens, JSON."""

    url: str
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.http = open_client(self.url)

    def get(self, path: str, **settings: Any) -> httpx.Response:
        return self.http.get(path, **settings)

    def post(self, path: str, **settings: Any) -> httpx.Response:
        """Post with the CSRF token, which any page with a form brings."""
        if "csrftoken" not in self.http.cookies:
            self.http.get("/sign-in")
        headers = {"X-CSRFToken": self.http.cookies.get("csrftoken", "")}
        return self.http.post(path, headers=headers | settings.pop("headers", {}), **settings)

    def sign_up(self, name: str) -> None:
        answer = self.post("/api/sign-up", json={"name": name, "password": PASSWORD})
        assert answer.status_code == 201, answer.text

    def sign_in(self, name: str) -> None:
        answer = self.post("/api/sign-in", json={"name": name, "password": PASSWORD})
        assert answer.status_code == 200, answer.text

    def make_token(self) -> str:
        answer = self.post("/api/account", json={})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["new_token"])


@dataclass
class Installation:
    """An installation of the app in a folder, running or not."""

    folder: Path
    database: str = ""
    workers: int = 1
    processes: int = 1
    settings: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    visitors: list[Visitor] = field(default_factory=list)
    has_owner: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "serve.log"

    @property
    def environment(self) -> dict[str, str]:
        given = {"CIDERY_DATA": str(self.folder / "data"), "CIDERY_RATES": GENEROUS}
        if self.database:
            given["CIDERY_DATABASE"] = self.database
        return os.environ | given | self.settings

    def start(self) -> None:
        command = [
            *(CIDERY, "serve", "--port", str(self.port)),
            *("--processes", str(self.processes), "--workers", str(self.workers)),
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        self.wait()

    def wait(self) -> None:
        """Wait until it answers."""
        with open_client(self.url) as http:
            wait_until(lambda: self.answers(http), what=f"starting the app (see {self.log})")

    def answers(self, http: httpx.Client) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(self.log.read_text())
        try:
            return http.get("/api/health").status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(TIMEOUT_SECONDS)
        self.process = None
        for visitor in self.visitors:
            visitor.http.close()

    def visitor(self) -> Visitor:
        self.visitors.append(Visitor(self.url))
        return self.visitors[-1]

    def owner(self) -> Visitor:
        """Return the owner, signed in; the first call uses the one-time link."""
        visitor = self.visitor()
        if self.has_owner:
            visitor.sign_in("owner")
            return visitor
        link = self.run("serve", "--owner-link", "owner").strip()
        answer = visitor.post("/api/" + link.split("/", 3)[3], json={"password": PASSWORD})
        assert answer.status_code == 200, answer.text
        self.has_owner = True
        return visitor

    def run(self, *arguments: str, status: int = 0, folder: Path | None = None) -> str:
        """Run a `cidery` command on this installation and return what it prints."""
        done = run_cidery(arguments, environment=self.environment, folder=folder)
        assert done.status == status, done.stderr
        return done.stdout if status == 0 else done.stderr


MIGRATE = """
from cidery_server.web.database import migrate
from cidery_server.web.environment import Environment, set_up
set_up(Environment.read())
migrate()
"""


def make_tables(data: Path, database: str = "") -> None:
    """Make the empty tables of an installation, in a process of its own."""
    environment = os.environ | {"CIDERY_DATA": str(data), "CIDERY_DATABASE": database}
    subprocess.run([sys.executable, "-c", MIGRATE], env=environment, check=True)


def copy_tables(installation: Installation) -> None:
    """Give a new installation on SQLite its empty tables, which the first of a run makes."""
    cache = os.environ.get("CIDERY_CACHE", "")
    target = installation.folder / "data" / DATABASE_FILE
    if installation.database or target.exists() or not cache:
        return
    made = Path(cache).with_name("tables")
    with FileLock(f"{made}.lock"):
        if not (made / DATABASE_FILE).exists():
            partial = made.with_name("tables.partial")
            make_tables(partial)
            partial.rename(made)
    target.parent.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(made / DATABASE_FILE, target)


@contextmanager
def running(folder: Path, database: str = "", **settings: Any) -> Iterator[Installation]:
    """Run the app while the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    installation = Installation(folder, database, **settings)
    copy_tables(installation)
    try:
        installation.start()
        yield installation
    finally:
        installation.stop()


@dataclass
class PostgreSQL:
    """A PostgreSQL server of the tests' own, in a temporary folder."""

    programs: Path
    folder: Path
    port: int = field(default_factory=free_port)

    @staticmethod
    def find() -> Path | None:
        """Return the folder of PostgreSQL's programs; Debian keeps them off the path."""
        on_path = shutil.which("initdb")
        folders = [Path(on_path).resolve().parent] if on_path else []
        folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        return next((folder for folder in folders if (folder / "initdb").exists()), None)

    def _as_nobody(self, *command: str) -> Sequence[str]:
        """PostgreSQL refuses to run as root."""
        if os.geteuid() != 0:
            return command
        return ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command)

    def _run(self, *command: str) -> None:
        program, *arguments = command
        done = subprocess.run(
            self._as_nobody(str(self.programs / program), *arguments),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=os.environ | {"LC_ALL": "C"},
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()

    def start(self) -> None:
        data = str(self.folder / "data")
        if os.geteuid() == 0:
            os.chown(self.folder, pwd.getpwnam("nobody").pw_uid, -1)
        self._run("initdb", "-D", data, "-U", "cidery", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-p {self.port} -k {self.folder} -c fsync=off -c listen_addresses=127.0.0.1"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", data, "-w", "-l", log, "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")

    def new_database(self, *options: str) -> str:
        """Make an empty database and return its URL."""
        name = f"test_{secrets.token_hex(6)}"
        where = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "cidery")
        self._run("createdb", *where, *options, name)
        return f"postgresql://cidery@127.0.0.1:{self.port}/{name}"

    def new_tables(self) -> str:
        """Make a database with the app's empty tables, which the first call of a run makes."""
        made = self.folder / "tables"
        with FileLock(f"{made}.lock"):
            if not made.exists():
                url = self.new_database()
                with tempfile.TemporaryDirectory() as data:
                    make_tables(Path(data), url)
                made.write_text(url.rpartition("/")[2])
        return self.new_database("--template", made.read_text())


def choose_database(request: Any) -> str:
    """Return the URL of a new database for a fixture's parameter; none for SQLite."""
    if request.param == "sqlite":
        return ""
    server: PostgreSQL = request.getfixturevalue("postgresql")
    return server.new_tables()


def share_postgresql(programs: Path) -> PostgreSQL:
    """Return the PostgreSQL of this test run, which the first that needs it starts.

    All processes of the run share it; the run's reaper ends it.
    """
    folder = postgresql_folder(os.environ[MARK])
    folder.mkdir(exist_ok=True)
    server, chosen = PostgreSQL(programs, folder), folder / "port"
    with FileLock(f"{folder}.lock"):
        if chosen.exists():
            server.port = int(chosen.read_text())
        else:
            server.start()
            chosen.write_text(str(server.port))
    return server


@contextmanager
def running_postgresql(programs: Path) -> Iterator[PostgreSQL]:
    """Run a PostgreSQL while the block lasts."""
    with tempfile.TemporaryDirectory(prefix="cidery-postgresql-") as folder:
        server = PostgreSQL(programs, Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
