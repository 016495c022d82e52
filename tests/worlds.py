"""Databases that take long to fill: filled once for each test process, then copied.

A test names the function that fills it, which gets the site:

    def trained(site: Site) -> None: ...

    @world(trained)
    def test_something(site: Site) -> None: ...

The test begins with a database in which the function has just ended and the site was
closed; the site opens on it again. `kept_databases` is for functions without a site.
"""

from __future__ import annotations

import copy
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.db import connection

from tests.quick_flush import KEPT
from tests.services import postgres_tool

T = TypeVar("T")


def world(fill: Callable[..., object]) -> pytest.MarkDecorator:
    """Mark a test that begins with the database that `fill` has filled."""
    return pytest.mark.world.with_args(fill)


class KeptDatabases:
    """Copies of the database of this test process, by the functions that filled it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[Callable[[], Any], tuple[Path, Any]] = {}

    def enter(self, fill: Callable[[], T], key: Callable[..., Any] | None = None) -> T:
        """Fill the empty database, or copy what `fill` made of it before.

        Returns what `fill` returned, each time as a copy. `key` stands for `fill` if
        that is another function each time.
        """
        key = key or fill
        if key not in self._kept:
            path = self._folder / f"{len(self._kept)}.kept"
            value = fill()
            _save(path)
            self._kept[key] = path, value
            return copy.deepcopy(value)
        path, value = self._kept[key]
        _restore(path)
        return copy.deepcopy(value)


def _save(path: Path) -> None:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(path)])
        return
    tables = [f"--exclude-table={name}" for name in (*KEPT, "django_migrations")]
    _run("pg_dump", "--format=custom", "--data-only", f"--file={path}", *tables)


def _restore(path: Path) -> None:
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(path)) as source:
            source.backup(connection.connection)
        return
    _run("pg_restore", "--data-only", "--disable-triggers", str(path))


def _run(tool: str, *arguments: str) -> None:
    place = settings.DATABASES["default"]
    address = f"postgresql://{place['USER']}@{place['HOST']}:{place['PORT']}"
    name = f"--dbname={address}/{connection.settings_dict['NAME']}"
    subprocess.run([postgres_tool(tool), name, *arguments], check=True)


@pytest.fixture(scope="session")
def kept_databases(tmp_path_factory: pytest.TempPathFactory) -> KeptDatabases:
    return KeptDatabases(tmp_path_factory.mktemp("kept"))
