from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

DIGITS = "char(32)"
"""The type that Django's own backend for SQLite gives UUIDs, and nothing else."""


def uuids_to_bytes(_: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Store 16 bytes in place of 32 digits, in every table of a database of SQLite.

    All at once or not at all. What is not 32 digits stays as it is: verification
    reports it.
    """
    connection = schema_editor.connection
    if connection.vendor != "sqlite":
        return
    connection.ensure_connection()
    connection.connection.create_function("uuid_bytes", 1, _bytes, deterministic=True)
    # Both ends of each reference change, so that there is nothing to check.
    connection.disable_constraint_checking()
    try:
        with transaction.atomic(connection.alias), connection.cursor() as cursor:
            for table in connection.introspection.table_names(cursor):
                _convert(cursor, connection.ops.quote_name, table)
    finally:
        connection.enable_constraint_checking()


def _convert(cursor: Any, quoted: Any, table: str) -> None:
    cursor.execute(f"PRAGMA table_info({quoted(table)})")
    columns = [quoted(row[1]) for row in cursor.fetchall() if row[2] == DIGITS]
    if not columns:
        return
    values = ", ".join(f"{column} = uuid_bytes({column})" for column in columns)
    cursor.execute(f"UPDATE {quoted(table)} SET {values}")  # nosec B608


def _bytes(stored: Any) -> Any:
    try:
        return UUID(stored).bytes if isinstance(stored, str) else stored
    except ValueError:
        return stored


class Migration(migrations.Migration):
    """SQLite keeps UUIDs as 16 bytes (decision 26)."""

    atomic = False
    dependencies = [("accounts", "0007_user_language")]

    operations = [migrations.RunPython(uuids_to_bytes, elidable=True)]
