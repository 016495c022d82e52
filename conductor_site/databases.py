"""The database that an address names, and how its connections fail."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

STANDSTILL_MS = 4_000
"""PostgreSQL breaks off who does nothing for so long in a transaction. A process that
stands still holds its locks until then, its team's chain among them; others take its
runs 7 s after it stopped at the earliest, and must find them free."""
SILENCE = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""A server that has vanished without a word is given up after some 10 s, not after the
system's 15 minutes to 2 hours: by then others have this process's runs. Seconds, but
for the last one, which is in ms."""
POOL = {"min_size": 1, "max_size": 10, "timeout": 5, "reconnect_timeout": 2}
"""A request waits 5 s for a connection and then gets 503. A lost connection is retried
for 2 s, then by the next request: never at growing intervals, so the site is back as
soon as the database is."""


def database_of(url: str, folder: Path) -> dict[str, Any]:
    """Return Django's settings of the database at this address.

    `folder`: where tests keep one of SQLite.
    """
    if urlsplit(url).scheme == "sqlite":
        return _sqlite(_path(url), folder)
    return {**_server(url), **_postgresql(_options(url))}


def _path(url: str) -> str:
    return unquote(urlsplit(url).path.removeprefix("/"))


def _server(url: str) -> dict[str, Any]:
    """Return server and database; a path with a second slash begins with a socket's."""
    address, path = urlsplit(url), _path(url)
    socket, name = path.rsplit("/", 1) if path.startswith("/") else ("", path)
    return {
        "NAME": name,
        "USER": unquote(address.username or ""),
        "PASSWORD": unquote(address.password or ""),
        "HOST": socket or address.hostname or "",
        "PORT": address.port or "",
    }


def _options(url: str) -> dict[str, Any]:
    given = parse_qsl(urlsplit(url).query)
    return {name: int(text) if text.isdecimal() else text for name, text in given}


def _sqlite(path: str, folder: Path) -> dict[str, Any]:
    return {
        "ENGINE": "conductor_site.sqlite3",
        "NAME": path or ":memory:",
        # IMMEDIATE takes the write lock at BEGIN: no lock errors halfway.
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        # Opening one costs more than most of what is asked of it.
        "CONN_MAX_AGE": None,
        # Named for the process, so that two test runs at once leave each other alone.
        "TEST": {"NAME": str(folder / f"test-{os.getpid()}.sqlite3")},
    }


def _postgresql(given: dict[str, Any]) -> dict[str, Any]:
    """`given`: what the address says after its `?`, which goes before ours."""
    return {
        "ENGINE": "conductor_site.postgresql",
        "OPTIONS": {**SILENCE, **given, "pool": POOL},
        "CONN_MAX_AGE": 0,
        # Without it every dead connection of the pool costs one failure after a
        # restart.
        "CONN_HEALTH_CHECKS": True,
    }


def limit_standstills(database: dict[str, Any]) -> None:
    """Let PostgreSQL break off connections of this process that stand still.

    For those that serve, before their first connection. Commands may think for long:
    a migration does, on a slow machine.
    """
    if database["ENGINE"].endswith("postgresql"):
        options = database["OPTIONS"]
        limit = f"-c idle_in_transaction_session_timeout={STANDSTILL_MS}"
        options["options"] = f"{limit} {options.get('options', '')}".rstrip()
