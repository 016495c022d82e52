"""Finds the migrations of this version that a database has not run."""

from __future__ import annotations

from functools import cache

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader

TABLE = "django_migrations"


def pending_migrations(database: BaseDatabaseWrapper) -> list[tuple[str, str]]:
    """Return app and name of each, sorted. Raises: DatabaseError.

    More than this version knows of are no fault: the next version is on its way.
    """
    with database.cursor() as cursor:
        if TABLE not in database.introspection.table_names(cursor):
            return sorted(own_migrations())
        # Not Django's own query: that one asks the connection of the same alias.
        cursor.execute(f"SELECT app, name FROM {TABLE}")  # nosec B608
        return sorted(own_migrations() - set(cursor.fetchall()))


@cache
def own_migrations() -> frozenset[tuple[str, str]]:
    """Return all migrations of this version."""
    return frozenset(MigrationLoader(None).disk_migrations)
