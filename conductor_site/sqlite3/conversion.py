"""Converts databases in which UUIDs are 32 digits, as older versions stored them.

Before the first of the pending migrations, because these look for rows by their ids.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from conductor_site.sqlite3.base import UUID_TYPE

DIGITS = "char(32)"
"""The type that Django's own backend gives columns of UUIDs, and no others."""
SET_TYPES = (
    "UPDATE sqlite_schema SET sql = replace(sql, '\" char(32)', '\" ' || %s) "
    "WHERE type = 'table'"
)
"""After the name of a column: not of `varchar(32)`. Changes of the schema on which no
stored value depends. Source: sqlite.org/lang_altertable.html, section 7."""
CONVERTED = 1
"""What `PRAGMA user_version` says of a database without digits; it is 0 at first."""


def convert_before_migrations(*, using: str, **_: Any) -> None:
    """Convert a database that is about to be migrated: a receiver of pre_migrate."""
    connection = connections[using]
    if connection.vendor == "sqlite":
        uuids_convert(connection)


def uuids_convert(connection: BaseDatabaseWrapper) -> None:
    """Store 16 bytes in place of 32 digits, in every table, if that was not done yet.

    All at once or not at all. What is not 32 digits stays as it is: verification
    reports it.
    """
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA user_version")
        if cursor.fetchone()[0] >= CONVERTED:
            return
    connection.connection.create_function("uuid_bytes", 1, _bytes, deterministic=True)
    # Both ends of each reference change, so that there is nothing to check.
    connection.disable_constraint_checking()
    try:
        with transaction.atomic(connection.alias), connection.cursor() as cursor:
            for table in connection.introspection.table_names(cursor):
                _convert(cursor, connection.ops.quote_name(table), connection)
            _set_types(cursor)
            cursor.execute(f"PRAGMA user_version = {CONVERTED}")
    finally:
        connection.enable_constraint_checking()


def _convert(cursor: Any, table: str, connection: BaseDatabaseWrapper) -> None:
    cursor.execute(f"PRAGMA table_info({table})")
    quoted = connection.ops.quote_name
    columns = [quoted(row[1]) for row in cursor.fetchall() if row[2] == DIGITS]
    if columns:
        values = ", ".join(f"{column} = uuid_bytes({column})" for column in columns)
        cursor.execute(f"UPDATE {table} SET {values}")  # nosec B608


def _set_types(cursor: Any) -> None:
    """Declare the columns as the backend does now."""
    cursor.execute("PRAGMA schema_version")
    version = cursor.fetchone()[0]
    cursor.execute("PRAGMA writable_schema = ON")
    cursor.execute(SET_TYPES, [UUID_TYPE])
    cursor.execute(f"PRAGMA schema_version = {version + 1}")
    cursor.execute("PRAGMA writable_schema = OFF")


def _bytes(stored: Any) -> Any:
    try:
        return UUID(stored).bytes if isinstance(stored, str) else stored
    except ValueError:
        return stored
