"""SQLite keeps UUIDs as 16 bytes; a database that has them as text is converted."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from apps.pools.models import Worker
from tests.audit.examples import append, draft, execute, place
from tests.conftest import Cast
from tests.pools.making import make_pool, make_worker

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="how SQLite keeps them"),
]


def tables() -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of the database as it is stored."""
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as reader:
        names = reader.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return {
            name: reader.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()
            for (name,) in names.fetchall()
        }


def uuids_to_digits() -> None:
    """Store UUIDs as the versions before the migration did."""
    with connection.constraint_checks_disabled(), connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"PRAGMA table_info({table})")
            for row in cursor.fetchall():
                if row[2] == "char(32)":
                    name = row[1]
                    digits = f"{name} = lower(hex({name}))"
                    cursor.execute(
                        f"UPDATE {table} SET {digits} WHERE {name} IS NOT NULL"
                    )
        cursor.execute("PRAGMA user_version = 0")


def migrate() -> None:
    call_command("migrate", verbosity=0)


def test_database_with_uuids_as_text_is_converted_whole(cast: Cast) -> None:
    append(cast.team.id, draft(bodies={"prompt": "hello"}))
    worker = make_worker(cast.team)
    make_pool(cast.team, worker)
    rows = tables()
    uuids_to_digits()
    assert tables() != rows
    assert not Worker.objects.for_team(cast.team.id).exists()
    migrate()
    assert tables() == rows
    assert execute("PRAGMA user_version") == [(1,)]
    assert place(cast.team.id) is None
    assert execute("PRAGMA foreign_key_check") == []
    assert execute("PRAGMA foreign_keys") == [(1,)]
    migrate()
    assert tables() == rows


def test_what_is_no_uuid_stays_for_verification_to_find(cast: Cast) -> None:
    append(cast.team.id, draft())
    uuids_to_digits()
    execute("UPDATE audit_entry SET subject_id = 'nobody' WHERE seq = 1")
    migrate()
    assert execute("SELECT subject_id FROM audit_entry WHERE seq = 1") == [("nobody",)]
    assert place(cast.team.id) is not None


def test_uuids_are_read_as_such_by_columns_expressions_and_raw_sql(cast: Cast) -> None:
    worker = make_worker(cast.team)
    make_pool(cast.team, worker)
    assert execute("SELECT id FROM pools_worker") == [(worker.id,)]
    assert execute("SELECT max(id) FROM pools_worker") == [(worker.id.bytes,)]
    rows = Worker.objects.for_team(cast.team.id).prefetch_related("pools")
    assert [len(row.pools.all()) for row in rows] == [1]
    found = rows.filter(id=str(worker.id)).values_list("id", flat=True)
    assert list(found) == [worker.id]
