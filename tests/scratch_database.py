"""Databases of tests begin as a copy of a migrated one: all migrations take long.

The copies lie in `var/tests` under the digest of all migrations, for all processes of a
run and for the runs after it: a file of SQLite, and a dump of PostgreSQL. One process
makes them while the others wait.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from tests.services import postgres_tool

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "var" / "tests"


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the tests' database begin as the copy; on PostgreSQL Django migrates it."""
    if connection.vendor != "sqlite":
        request.getfixturevalue("django_db_setup")
        yield
        return
    path = connection.settings_dict["TEST"]["NAME"]
    shutil.copy(migrated_file(), path)
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = path
    yield
    connection.close()
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def database_prepare() -> None:
    """Let this process's database begin as a copy, if there is nothing in it yet."""
    if connection.vendor == "postgresql":
        _restore_dump(os.environ["DATABASE_URL"])
        return
    path = Path(settings.DATABASES["default"]["NAME"])
    if not path.exists():
        shutil.copy(migrated_file(), path)


def migrated_file() -> Path:
    """Return the path of an empty SQLite database with every migration."""
    copy = FOLDER / f"{_digest_of_migrations()}.sqlite3"
    with _one_at_a_time():
        if not copy.exists():
            _remove_others("*.sqlite3")
            unfinished = copy.with_suffix(".unfinished")
            unfinished.unlink(missing_ok=True)
            places = {
                "DATABASE_URL": f"sqlite:///{unfinished}",
                "CONDUCTOR_ENV": "development",
            }
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
                cwd=ROOT,
                env={**os.environ, **places},
                check=True,
            )
            unfinished.replace(copy)
    return copy


def _restore_dump(url: str) -> None:
    """Restore the dump; if there is none yet, migrate and make it."""
    dump = FOLDER / f"{_digest_of_migrations()}.dump"
    with _one_at_a_time():
        if not dump.exists():
            call_command("migrate", verbosity=0)
            _remove_others("*.dump")
            unfinished = dump.with_suffix(".unfinished")
            _run("pg_dump", "--format=custom", f"--file={unfinished}", url)
            unfinished.replace(dump)
            return
    _run("pg_restore", "--no-owner", "--exit-on-error", f"--dbname={url}", str(dump))


def _run(tool: str, *arguments: str) -> None:
    subprocess.run([postgres_tool(tool), *arguments], check=True)


def _digest_of_migrations() -> str:
    digest = hashlib.sha256()
    # Django and its packages have migrations too: the lock file names their versions.
    for path in [
        ROOT / "requirements.txt",
        *sorted(ROOT.glob("conductor_site/*/base.py")),
        *sorted(ROOT.glob("apps/**/migrations/*.py")),
    ]:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_others(pattern: str) -> None:
    for other in FOLDER.glob(pattern):
        other.unlink()
