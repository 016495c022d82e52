"""An evaluation in a process of its own that tests kill, with models and a database."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from apps.simulator.app import create_app
from tests.patience import PATIENCE_S, WORK_PATIENCE_S, eventually
from tests.serving import serving

ROOT = Path(__file__).parents[2]


def wait(is_so: Callable[[], bool]) -> None:
    """Return when it is so. Raises: AssertionError if it does not come to that."""
    assert eventually(is_so), "it did not come so far"


class Prepared(NamedTuple):
    """A database with a team and suites, and the models of its pools."""

    database: Path
    models_url: str

    @property
    def asked(self) -> int:
        """Return how many requests the models have had."""
        answer = httpx.get(f"{self.models_url}/v1/stats")
        return sum(answer.json()["requests"].values())


@contextmanager
def prepared(folder: Path) -> Iterator[Prepared]:
    """Serve models, and fill a database with `prepare.py`."""
    with serving(create_app(), ws="none") as url:
        database = folder / "prepared.sqlite3"
        prepare = [sys.executable, "-m", "tests.evaluation.prepare", f"{url}/v1"]
        subprocess.run(prepare, env=environment(database), cwd=ROOT, check=True)
        yield Prepared(database, url)


def environment(database: Path) -> dict[str, str]:
    """Return the environment variables of a process with this database."""
    return os.environ | {
        "CONDUCTOR_VAR_DIR": str(database.parent),
        "DATABASE_URL": f"sqlite:///{database}",
        "CONDUCTOR_ENV": "development",
    }


class Killable:
    """`manage.py evaluate` in a process of its own, on a copy of a database."""

    def __init__(self, folder: Path, original: Prepared, **env: str) -> None:
        """`env`: environment variables of the process."""
        self._original, self._asked_before = original, original.asked
        self.database = folder / "site.sqlite3"
        shutil.copy(original.database, self.database)
        self._env = environment(self.database) | env

    @property
    def asked(self) -> int:
        """Return how many requests the models have had since this was made."""
        return self._original.asked - self._asked_before

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", "evaluate", "--team=orchestra"]
        return subprocess.Popen(
            [*command, *arguments],
            env=self._env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def rows(self, query: str) -> list[tuple[object, ...]]:
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def count(self, state: str) -> int:
        """Return how many results are in a state."""
        found = self.rows("SELECT state FROM evaluation_evaluationresult")
        return found.count((state,))


def kill(process: subprocess.Popen[str]) -> str:
    """End an evaluation by SIGKILL; return its id, to go on with it."""
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE_S)
    found = re.search(r"evaluation (\S+)", said)
    assert found is not None, said
    return found[1]


def finished(process: subprocess.Popen[str]) -> str:
    """Return what an evaluation prints that ends by itself."""
    out, said = process.communicate(timeout=WORK_PATIENCE_S)
    assert process.returncode == 0, said
    return out
