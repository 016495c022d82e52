"""The raw SQL in which SQLite and PostgreSQL differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

ROWS_PER_INSERT = 32
"""Rows of one INSERT. Each statement gives up the interpreter lock and has to win it
back from a busy event loop, so a few long ones beat many short ones."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one kind of database takes parameters, locks rows and tells the time."""

    conversions: Mapping[type, Callable[[Any], Any]]
    """By exact type; values of other types pass as they are."""
    lock: str
    """Ends a SELECT that locks its rows until the commit."""
    now: Callable[[Any], str]
    """Returns the time in UTC as `2030-01-31T12:00:00.123456Z`; takes a cursor."""
    mark: str
    """Stands for a parameter, in the driver's own way."""
    insert: Callable[[Any, str, Sequence[tuple[Any, ...]]], None]
    """Adds rows; takes a cursor, the table with its columns, and the rows."""
    time_text: str
    """Reads `recorded_at` as `2030-01-31 12:00:00.123456`, whatever is in it."""

    def adapt(self, value: Any) -> Any:
        """Return `value` as the driver takes it."""
        convert = self.conversions.get(type(value))
        if convert is not None:
            return convert(value)
        return value.value if isinstance(value, Enum) else value

    def marked(self, sql: str) -> str:
        """Return `sql`, which has %s for each parameter, as the driver takes it."""
        return _marked(sql, self.mark)


@lru_cache(maxsize=64)
def _marked(sql: str, mark: str) -> str:
    return sql.replace("%s", mark)


def dialect_of(connection: BaseDatabaseWrapper) -> Dialect:
    """Return the dialect of a Django connection, which need not be open."""
    return _DIALECTS[connection.vendor]


def _naive_text(value: datetime) -> str:
    """Write a time the way Django stores it in SQLite."""
    if value.tzinfo is not UTC:
        value = value.astimezone(UTC)
    return str(value.replace(tzinfo=None))


def _own_time(_: Any) -> str:
    # Half the time of strftime.
    now = datetime.now(UTC).replace(tzinfo=None)
    return now.isoformat(timespec="microseconds") + "Z"


def _server_time(cursor: Any) -> str:
    # Not now(): that is when the transaction began, before it waited for the lock.
    cursor.execute(
        "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', "
        """'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
    )
    return str(cursor.fetchone()[0])


def _insert(cursor: Any, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
    start = 0
    while start < len(rows):
        # Powers of two: few different statements, which the driver keeps prepared.
        count = min(ROWS_PER_INSERT, 1 << (len(rows) - start).bit_length() - 1)
        chunk = rows[start : start + count]
        cursor.execute(
            _insertion(into, len(chunk[0]), count),
            list(chain.from_iterable(chunk)),
        )
        start += count


@lru_cache(maxsize=64)
def _insertion(into: str, columns: int, rows: int) -> str:
    row = f"({','.join(['?'] * columns)})"
    return f"INSERT INTO {into} VALUES {','.join([row] * rows)}"  # nosec B608


def _copy(cursor: Any, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
    # A third of the time of INSERT, and half of the server's: there is nothing to parse
    # but the values.
    if rows:
        with cursor.copy(f"COPY {into} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


_DIALECTS = {
    "sqlite": Dialect(
        conversions={UUID: attrgetter("bytes"), datetime: _naive_text},
        lock="",  # a transaction holds the write lock from its first statement
        now=_own_time,  # SQLite has no other clock than the machine's
        mark="?",
        insert=_insert,
        time_text="CAST(recorded_at AS TEXT)",
    ),
    "postgresql": Dialect(
        conversions={},
        lock=" FOR UPDATE",
        now=_server_time,
        mark="%s",
        insert=_copy,
        time_text="to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
    ),
}
