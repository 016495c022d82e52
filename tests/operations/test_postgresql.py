"""Our PostgreSQL backend: moments, and when a pooled connection is asked."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.db import connection

from conductor_site.databases import database_of
from conductor_site.postgresql.base import MomentLoader, check_if_touched

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class Connection:
    """What a check needs to know of a connection."""

    autocommit = True

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self.questions: list[str] = []

    def fileno(self) -> int:
        """Return the socket's number."""
        return self._end.fileno()

    def execute(self, question: str) -> None:
        """Note the question."""
        self.questions.append(question)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of one line."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (b"2026-11-22 12:00:00+00", NOON),
        (b"2026-11-22 12:00:00.000001+00", NOON.replace(microsecond=1)),
        (b"2026-11-22 12:00:00.5+00", NOON.replace(microsecond=500_000)),
        (b"2026-11-22 17:30:00+05:30", NOON),
        (b"2026-11-22 04:00:00-08", NOON),
    ],
)
def test_a_moment_is_read_in_utc(text: bytes, moment: datetime) -> None:
    read = MomentLoader(0).load(text)
    assert read == moment
    assert read.tzinfo is UTC


def test_a_quiet_connection_is_not_asked(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours = Connection(ends[0])
    check_if_touched(ours)  # type: ignore[arg-type]
    assert ours.questions == []


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_connection_whose_server_spoke_is_asked(
    ends: tuple[socket.socket, socket.socket], *, has_ended: bool
) -> None:
    ours, theirs = Connection(ends[0]), ends[1]
    theirs.close() if has_ended else theirs.sendall(b"N")
    check_if_touched(ours)  # type: ignore[arg-type]
    assert ours.questions == [""]


@pytest.mark.django_db
def test_a_database_of_postgresql_has_it() -> None:
    given = database_of("postgresql://somebody@127.0.0.1/conductor", settings.VAR_DIR)
    assert given["ENGINE"] == "conductor_site.postgresql"
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT timestamptz '2026-11-22 13:00:00+01'")
            assert cursor.fetchone() == (NOON,)
