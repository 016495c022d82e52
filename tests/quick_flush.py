"""Empties the database between tests without finding out each time what there is.

Django would ask for all tables, look for the management module of each app, and make
the content types and permissions anew. They are the same every time, so they stay.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection
from django.test import TransactionTestCase

KEPT = {model._meta.db_table for model in (ContentType, Permission)}
"""Tables whose rows the signal after a migration makes."""


@pytest.fixture(scope="session", autouse=True)
def quick_flush() -> Iterator[None]:
    """Empty all tables but those that are kept, by statements made once."""
    statements: list[str] = []

    def empty(_case: TransactionTestCase) -> None:
        statements[:] = statements or _statements()
        connection.ops.execute_sql_flush(statements)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


def _statements() -> list[str]:
    found = connection.introspection.django_table_names(
        only_existing=True, include_views=False
    )
    return connection.ops.sql_flush(no_style(), sorted(set(found) - KEPT))
