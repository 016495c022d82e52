"""A backup comes back whole, and is worth nothing without its encryption keys."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.processes.python import python_run
from tests.processes.site import Home
from tests.services import Postgres, postgres, postgres_tool

pytestmark = pytest.mark.slow

WRITE = """
import django
django.setup()
from tests.audit.examples import chain_of
chain_of(40)
"""
OTHER_KEY = "k9:" + "A" * 43 + "="
Restore = Callable[[Home], dict[str, str]]


def restore_postgres(server: Postgres, folder: Path) -> dict[str, str]:
    """Do what docs/operations.md says for PostgreSQL; return how the copy is named."""
    file, copy = str(folder / "conductor.dump"), server.create_database("restored")
    for command in (
        [postgres_tool("pg_dump"), "--format=custom", f"--file={file}", server.url],
        [
            postgres_tool("pg_restore"),
            "--no-owner",
            "--exit-on-error",
            f"--dbname={copy}",
            file,
        ],
    ):
        subprocess.run(command, check=True, timeout=PATIENCE_S)
    return {"DATABASE_URL": copy}


def restore_sqlite(folder: Path) -> dict[str, str]:
    """Do what docs/operations.md says for SQLite."""
    copy = folder / "copy"
    copy.mkdir()
    with (
        closing(sqlite3.connect(folder / "conductor.sqlite3")) as database,
        closing(sqlite3.connect(copy / "conductor.sqlite3")) as backup,
    ):
        database.backup(backup)
    return {"CONDUCTOR_VAR_DIR": str(copy)}


@pytest.fixture(params=["postgres", "sqlite"])
def backed_up(
    request: pytest.FixtureRequest, tmp_path: Path, models_url: str
) -> Iterator[tuple[Home, dict[str, str]]]:
    """A site with a ledger, and the variables that name a restored copy of it."""
    if request.param == "sqlite":
        home = Home(tmp_path, models_url)
        home.python("-c", WRITE, DJANGO_SETTINGS_MODULE="conductor_site.settings")
        yield home, restore_sqlite(tmp_path)
        return
    with postgres() as server:
        home = Home(tmp_path, models_url, DATABASE_URL=server.url)
        home.python("-c", WRITE, DJANGO_SETTINGS_MODULE="conductor_site.settings")
        yield home, restore_postgres(server, tmp_path)


def test_a_restored_ledger_holds_with_its_keys_alone(backed_up):
    home, copy = backed_up
    present = home.python("manage.py", "audit_verify")
    assert "40 bodies" in present
    assert home.python("manage.py", "audit_verify", **copy) == present
    no_key = {
        "audit_verify": "mac_key_unknown at seq 1: none of CONDUCTOR_ENCRYPTION_KEYS",
        "check --deploy": "encryption key 'dev' is not among the settings",
    }
    for command, words in no_key.items():
        environment = {**home.environment, **copy}
        environment["CONDUCTOR_ENCRYPTION_KEYS"] = OTHER_KEY
        refused = python_run("manage.py", *command.split(), environment=environment)
        assert refused.returncode == 1
        assert words in refused.stderr
