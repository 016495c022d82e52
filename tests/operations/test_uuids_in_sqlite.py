"""SQLite keeps UUIDs as 16 bytes; a database that has them as text is converted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.pools.models import Worker
from conductor_site.sqlite3.base import DatabaseWrapper
from conductor_site.sqlite3.conversion import convert_before_migrations
from tests.audit.examples import append, draft, execute
from tests.conftest import Cast
from tests.pools.making import make_pool, make_worker

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="how SQLite keeps them"),
]
OLD = "old"
IPV6_OF_16 = "2001:db8::1:2:3a"
"""As long as a UUID."""
Contents = dict[str, tuple[str, list[tuple[Any, ...]]]]


def contents(path: Path) -> Contents:
    """Return schema and rows of every table as they are stored."""
    with closing(sqlite3.connect(path)) as reader:
        tables = reader.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table'"
        )
        return {
            name: (sql, reader.execute(f"SELECT * FROM {name}").fetchall())
            for name, sql in tables.fetchall()
        }


def age(path: Path) -> None:
    """Store UUIDs as the versions before did."""
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        for table in contents(path):
            for column in writer.execute(f"PRAGMA table_info({table})").fetchall():
                if column[2] == "uuidblob":
                    digits = f"{column[1]} = lower(hex({column[1]}))"
                    is_there = f"{column[1]} IS NOT NULL"
                    writer.execute(f"UPDATE {table} SET {digits} WHERE {is_there}")
        writer.execute("PRAGMA writable_schema = ON")
        writer.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, 'uuidblob', 'char(32)')"
        )
        writer.execute("PRAGMA user_version = 0")


@pytest.fixture
def path(cast: Cast, tmp_path: Path) -> Path:
    """A copy of a database with a little of everything."""
    append(cast.team.id, draft(bodies={"prompt": "hello"}))
    make_pool(cast.team, make_worker(cast.team))
    UserSession.objects.create(
        user=cast.bob, session_key="k", ip=IPV6_OF_16, user_agent="a"
    )
    path = tmp_path / "old.sqlite3"
    with (
        closing(sqlite3.connect(connection.settings_dict["NAME"])) as source,
        closing(sqlite3.connect(path)) as copy,
    ):
        source.backup(copy)
    return path


@pytest.fixture
def old(path: Path) -> Iterator[BaseDatabaseWrapper]:
    settings = {**connection.settings_dict, "NAME": str(path)}
    connections[OLD] = wrapper = DatabaseWrapper(settings, OLD)
    yield wrapper
    wrapper.close()
    del connections[OLD]


def test_database_with_uuids_as_text_is_converted_whole(
    path: Path, old: BaseDatabaseWrapper
) -> None:
    before = contents(path)
    age(path)
    assert contents(path) != before
    convert_before_migrations(using=OLD)
    assert contents(path) == before
    with old.cursor() as cursor:
        assert cursor.execute("PRAGMA foreign_key_check").fetchall() == []
        assert cursor.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert cursor.execute("PRAGMA foreign_keys").fetchall() == [(1,)]
        assert cursor.execute("PRAGMA writable_schema").fetchall() == [(0,)]
    convert_before_migrations(using=OLD)
    assert contents(path) == before


def test_what_is_no_uuid_stays_for_verification_to_find(
    path: Path, old: BaseDatabaseWrapper
) -> None:
    age(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("UPDATE audit_entry SET subject_id = 'nobody' WHERE seq = 1")
    convert_before_migrations(using=OLD)
    with old.cursor() as cursor:
        cursor.execute("SELECT subject_id FROM audit_entry WHERE seq = 1")
        assert {each for (each,) in cursor.fetchall()} >= {"nobody"}


def test_uuids_are_read_as_such_by_columns_expressions_and_raw_sql(cast: Cast) -> None:
    worker = make_worker(cast.team)
    make_pool(cast.team, worker)
    assert execute("SELECT id FROM pools_worker") == [(worker.id,)]
    assert execute("SELECT max(id) FROM pools_worker") == [(worker.id.bytes,)]
    rows = Worker.objects.for_team(cast.team.id).prefetch_related("pools")
    assert [len(row.pools.all()) for row in rows] == [1]
    found = rows.filter(id=str(worker.id)).values_list("id", flat=True)
    assert list(found) == [worker.id]


def test_an_address_as_long_as_a_uuid_is_read_as_an_address(path: Path) -> None:
    assert UserSession.objects.get().ip == IPV6_OF_16
