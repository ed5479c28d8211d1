"""Settings of an installation: data directory, database, queue, public address.

`cidery serve` turns its options into environment variables, so that the web server's processes,
the workers and the owner's commands have the same settings, and a container can set them itself.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cidery.errors import MissingExtraError, SettingError

DATABASE_SCHEMES = ("sqlite", "postgres", "postgresql")
QUEUE_SCHEMES = ("redis", "rediss", "postgres", "postgresql")
MAIL_SCHEMES = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
"""Mail schemes with their ports."""
KEY_FILE = "secret-key"
DATABASE_FILE = "cidery.sqlite3"
QUEUE_FILE = "queue.sqlite3"
HOW_TO = (
    "set its directory with --data, or create one with: cidery serve, cidery study create FILE or "
    "cidery challenge create FILE"
)


@dataclass(frozen=True)
class Environment:
    """Settings of an installation; every field has its environment variable."""

    data: Path = Path("cidery-data")
    """CIDERY_DATA: directory of the secret key, and of the SQLite files if there is no other
    database."""
    database: str = ""
    """CIDERY_DATABASE: `postgresql://user:password@host/name`. Default: a file in
    `data`."""
    queue: str = ""
    """CIDERY_QUEUE: `redis://…` or `postgresql://…`. Default: PostgreSQL if it is the database,
    else a file in `data`."""
    url: str = ""
    """CIDERY_URL: public address, such as `https://captions.example.org`."""
    proxies: int = 0
    """CIDERY_PROXIES: number of reverse proxies in front of the app."""
    rates: str = ""
    """CIDERY_RATES: rate limits that differ from the defaults, `sign-in=10/min,submit=60/hour`."""
    mail: str = ""
    """CIDERY_MAIL: `smtp://user:password@host:587` (STARTTLS), `smtps://…:465`, or
    `smtp+plain://host:25` for a server on the same machine. Default: messages go to the log."""
    mail_from: str = "cidery@localhost"
    """CIDERY_MAIL_FROM: the sender's address."""
    lease: int = 60
    """CIDERY_LEASE: seconds after which the job of a dead worker is given to another."""

    engine: str = "local"
    """CIDERY_ENGINE: `ray` runs slow metrics on a cluster."""
    engine_address: str = ""
    """CIDERY_ENGINE_ADDRESS: address of the cluster. Default: the one that this machine belongs to,
    or this machine alone."""

    def __post_init__(self) -> None:
        if self.engine != "local":  # engines take as long to import as all else here
            from cidery.engines import ENGINES

            if self.engine not in ENGINES:
                known = ", ".join(ENGINES)
                raise SettingError(f"unknown engine {self.engine!r}; known: {known}")
        if self.engine_address and self.engine == "local":
            raise SettingError("an address is only valid with the engine ray")
        _check_scheme("database", self.database, DATABASE_SCHEMES)
        _check_scheme("queue", self.queue, QUEUE_SCHEMES)
        _check_scheme("url", self.url, ("http", "https"))
        _check_scheme("mail", self.mail, tuple(MAIL_SCHEMES))

    @classmethod
    def read(cls) -> Environment:
        """Return the settings of the environment variables."""
        given = {}
        for name in cls.__dataclass_fields__:
            if (text := os.environ.get(_variable(name))) is not None:
                try:
                    given[name] = type(getattr(cls, name))(text)
                except ValueError:
                    raise SettingError(
                        f"{_variable(name)} must be an integer, not {text!r}"
                    ) from None
        found = cls(**given)
        return replace(found, data=found.data.absolute(), url=found.url.rstrip("/"))

    def write(self) -> None:
        """Set the environment variables, for this process and those it starts."""
        for name in self.__dataclass_fields__:
            value = str(getattr(self, name))
            if value:
                os.environ[_variable(name)] = value

    @property
    def database_url(self) -> str:
        """URL of the database."""
        return self.database or f"sqlite:///{self.data / DATABASE_FILE}"

    @property
    def on_postgresql(self) -> bool:
        """True if the database is PostgreSQL."""
        return self.database.startswith("postgres")

    @property
    def address(self) -> str:
        """Public address, or the one that `cidery serve` listens on by default."""
        return self.url or "http://127.0.0.1:8000"

    @property
    def https(self) -> bool:
        """True if the public address is https."""
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
        """SQLite file; None if the database is PostgreSQL."""
        if self.on_postgresql:
            return None
        import dj_database_url

        return Path(str(dj_database_url.parse(self.database_url)["NAME"]))

    def check_exists(self) -> None:
        """Raise an error if there is no installation."""
        file = self.database_file
        for path in (self.data / KEY_FILE, *([file] if file else [])):
            if not path.exists():
                raise SettingError(f"no installation found ({path} is missing); {HOW_TO}")

    def secret_key(self) -> str:
        """Return the key that signs sessions; empty if there is none yet."""
        path = self.data / KEY_FILE
        return path.read_text(encoding="ascii").strip() if path.exists() else ""

    def make_secret_key(self) -> None:
        """Create the key if there is none, in a file that only its owner may read."""
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            descriptor = os.open(self.data / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(64) + "\n")


def _variable(name: str) -> str:
    return f"CIDERY_{name.upper()}"


def _check_scheme(what: str, url: str, known: tuple[str, ...]) -> None:
    if url and urlsplit(url).scheme not in known:
        # Without the URL itself, which may contain a password.
        raise SettingError(f"the {what} must be a URL that starts with {'://, '.join(known)}://")


def set_up(environment: Environment) -> None:
    """Set up Django in this process for an installation; create it if there is none."""
    _check_django()
    environment.make_secret_key()
    _set_up_django(environment)


def set_up_existing(environment: Environment) -> None:
    """Set up Django for an existing installation."""
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
