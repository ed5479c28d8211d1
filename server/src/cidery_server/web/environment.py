"""Where the app runs: its data directory, its database and how it is reached.

`cidery serve` turns its options into environment variables, so that the web server's processes,
the workers and the owner's commands all see the same settings, and a container can set them itself.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cidery.errors import MissingExtraError, SettingError

DATABASE_SCHEMES = ("sqlite", "postgres", "postgresql")
QUEUE_SCHEMES = ("redis", "rediss", "postgres", "postgresql")
MAIL_SCHEMES = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
"""With their ports."""
KEY_FILE = "secret-key"
DATABASE_FILE = "cidery.sqlite3"
QUEUE_FILE = "queue.sqlite3"
HOW_TO = (
    "name its directory with --data, or make one with: cidery serve, cidery study create FILE or "
    "cidery challenge create FILE"
)


@dataclass(frozen=True)
class Environment:
    """What an installation is told from outside; every field has its environment variable."""

    data: Path = Path("cidery-data")
    """CIDERY_DATA: the secret key, and the SQLite files where there is no other database."""
    database: str = ""
    """CIDERY_DATABASE: `postgresql://user:password@host/name`; by default a file in `data`."""
    queue: str = ""
    """CIDERY_QUEUE: `redis://…` or `postgresql://…`; by default PostgreSQL if it is the database,
    else a file in `data`."""
    url: str = ""
    """CIDERY_URL: where people reach the app, such as `https://captions.example.org`."""
    proxies: int = 0
    """CIDERY_PROXIES: how many reverse proxies are in front of the app."""
    rates: str = ""
    """CIDERY_RATES: limits other than the usual ones, `sign-in=10/min,submit=60/hour`."""
    mail: str = ""
    """CIDERY_MAIL: `smtp://user:password@host:587` (STARTTLS), `smtps://…:465`, or
    `smtp+plain://host:25` for a server on the same machine; by default messages go to the log."""
    mail_from: str = "cidery@localhost"
    """CIDERY_MAIL_FROM: the sender's address."""
    lease: int = 60
    """CIDERY_LEASE: so many seconds after a worker has died, its job goes to another."""

    engine: str = "local"
    """CIDERY_ENGINE: `ray` has a cluster do the slow work of metrics for the workers."""
    engine_address: str = ""
    """CIDERY_ENGINE_ADDRESS: the cluster; by default the one that this machine belongs to, or this
    machine alone."""

    def __post_init__(self) -> None:
        if self.engine != "local":  # engines take as long to import as all else here
            from cidery.engines import ENGINES

            if self.engine not in ENGINES:
                known = ", ".join(ENGINES)
                raise SettingError(f"there is no engine {self.engine!r}; there are {known}")
        if self.engine_address and self.engine == "local":
            raise SettingError("the address of a cluster goes with the engine ray")
        _check_scheme("database", self.database, DATABASE_SCHEMES)
        _check_scheme("queue", self.queue, QUEUE_SCHEMES)
        _check_scheme("url", self.url, ("http", "https"))
        _check_scheme("mail", self.mail, tuple(MAIL_SCHEMES))

    @classmethod
    def read(cls) -> Environment:
        """Return what the environment variables say."""
        given = {
            name: os.environ[variable]
            for name in cls.__dataclass_fields__
            if (variable := _variable(name)) in os.environ
        }
        try:
            return cls(
                data=Path(given.get("data", cls.data)).absolute(),
                database=given.get("database", ""),
                queue=given.get("queue", ""),
                url=given.get("url", "").rstrip("/"),
                proxies=int(given.get("proxies", cls.proxies)),
                rates=given.get("rates", ""),
                mail=given.get("mail", ""),
                mail_from=given.get("mail_from", cls.mail_from),
                lease=int(given.get("lease", cls.lease)),
                engine=given.get("engine", cls.engine),
                engine_address=given.get("engine_address", ""),
            )
        except ValueError as error:
            if isinstance(error, SettingError):
                raise
            raise SettingError(
                f"CIDERY_PROXIES and CIDERY_LEASE must be whole numbers: {error}"
            ) from None

    def write(self) -> None:
        """Set the environment variables, for this process and those it starts."""
        for name in self.__dataclass_fields__:
            value = str(getattr(self, name))
            if value:
                os.environ[_variable(name)] = value

    @property
    def database_url(self) -> str:
        """The database, the default one spelled out."""
        return self.database or f"sqlite:///{self.data / DATABASE_FILE}"

    @property
    def on_postgresql(self) -> bool:
        """Whether the database is PostgreSQL."""
        return self.database.startswith("postgres")

    @property
    def address(self) -> str:
        """Where people reach the app: the URL, or what `cidery serve` listens on by default."""
        return self.url or "http://127.0.0.1:8000"

    @property
    def https(self) -> bool:
        """Whether people reach the app by https."""
        return self.url.startswith("https://")

    def mail_settings(self) -> dict[str, str | int | bool]:
        """Return Django's settings for e-mail."""
        server = urlsplit(self.mail)
        backend = "smtp" if self.mail else "console"
        return {
            "EMAIL_BACKEND": f"django.core.mail.backends.{backend}.EmailBackend",
            "EMAIL_HOST": server.hostname or "localhost",
            "EMAIL_PORT": server.port or MAIL_SCHEMES.get(server.scheme, 25),
            "EMAIL_HOST_USER": unquote(server.username or ""),
            "EMAIL_HOST_PASSWORD": unquote(server.password or ""),
            "EMAIL_USE_SSL": server.scheme == "smtps",
            "EMAIL_USE_TLS": server.scheme == "smtp",
            "EMAIL_TIMEOUT": 30,
            "DEFAULT_FROM_EMAIL": self.mail_from,
        }

    @property
    def database_file(self) -> Path | None:
        """The file of SQLite, where that is the database."""
        if self.on_postgresql:
            return None
        import dj_database_url

        return Path(str(dj_database_url.parse(self.database_url)["NAME"]))

    def check_exists(self) -> None:
        """Say that there is no installation, and how to make one, where there is none."""
        file = self.database_file
        for path in (self.data / KEY_FILE, *([file] if file else [])):
            if not path.exists():
                raise SettingError(f"there is no installation here ({path} is missing); {HOW_TO}")

    def secret_key(self) -> str:
        """Return the key that signs sessions, or nothing where it has not been made."""
        path = self.data / KEY_FILE
        return path.read_text(encoding="ascii").strip() if path.exists() else ""

    def make_secret_key(self) -> None:
        """Make the key if there is none, in a file for its owner's eyes only."""
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            descriptor = os.open(self.data / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(64) + "\n")


def _variable(name: str) -> str:
    return f"CIDERY_{name.upper()}"


def _check_scheme(what: str, url: str, known: tuple[str, ...]) -> None:
    if url and urlsplit(url).scheme not in known:
        # Not the URL itself, which may hold a password.
        raise SettingError(f"the {what} must be a URL that begins with {'://, '.join(known)}://")


def set_up(environment: Environment) -> None:
    """Make Django ready in this process for an installation, which is made if there is none."""
    _check_django()
    environment.make_secret_key()
    _set_up_django(environment)


def set_up_existing(environment: Environment) -> None:
    """Make Django ready for an installation that exists; nothing is created."""
    _check_django()
    environment.check_exists()
    _set_up_django(environment)


def _check_django() -> None:
    try:
        import django  # noqa: F401
    except ImportError:
        raise MissingExtraError.to(
            "serve studies and challenges", package="Django", extra="server"
        ) from None


def _set_up_django(environment: Environment) -> None:
    import django

    environment.write()
    os.environ["DJANGO_SETTINGS_MODULE"] = "cidery_server.web.settings"
    django.setup()
