"""Databases of tests begin as a copy of a migrated one: all migrations take long.

The copy lies in `var/tests` under the digest of all migrations, for all processes of a
run and for the runs after it. One process makes it while the others wait.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

COPY = "CONDUCTOR_TESTS_MIGRATED"
"""The environment variable with the path of an empty SQLite database to begin with."""
FOLDER = Path(settings.BASE_DIR) / "var" / "tests"


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest, django_db_blocker: Any
) -> Iterator[None]:
    """Begin with the copy, or make it from a database that Django migrates."""
    if connection.vendor != "sqlite":
        request.getfixturevalue("django_db_setup")
        yield
        return
    copy = FOLDER / f"{_digest_of_migrations()}.sqlite3"
    with _alone():
        is_new = not copy.exists()
        if is_new:
            request.getfixturevalue("django_db_setup")
            with django_db_blocker.unblock():
                _keep(copy)
    os.environ[COPY] = str(copy)
    if is_new:
        yield
        return
    path = connection.settings_dict["TEST"]["NAME"]
    shutil.copy(copy, path)
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = path
    yield
    connection.close()
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def database_prepare() -> None:
    """Migrate this process's database; a new SQLite file begins as the copy."""
    copy, path = os.environ.get(COPY), Path(settings.DATABASES["default"]["NAME"])
    if copy and connection.vendor == "sqlite" and not path.exists():
        shutil.copy(copy, path)
    else:
        call_command("migrate", verbosity=0)


def _digest_of_migrations() -> str:
    root = Path(settings.BASE_DIR)
    digest = hashlib.sha256()
    # Django and its packages have migrations too: the lock file names their versions.
    for path in [
        root / "requirements.txt",
        *sorted(root.glob("apps/**/migrations/*.py")),
    ]:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


@contextmanager
def _alone() -> Iterator[None]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _keep(copy: Path) -> None:
    """Write the database to `copy`, and remove copies of other migrations."""
    for other in FOLDER.glob("*.sqlite3"):
        other.unlink()
    unfinished = copy.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(unfinished)])
    unfinished.replace(copy)
