"""A site of processes: PostgreSQL, Redis, one web process, workers as wanted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx
import psycopg
import pytest

from apps.simulator.app import create_app
from tests.patience import PATIENCE_S, eventually
from tests.processes.ports import reserved_port
from tests.processes.python import PythonProcess, database_fill, python_start
from tests.runs.conftest import Models
from tests.services import Postgres, Redis, postgres, redis
from tests.serving import serving

DRAIN_S = 3
"""Long enough for one step of the slow worker, and too short for five."""
SLOW = 1
"""The worker of the pool that takes a second; see tests/runs/prepare.py."""


class Crew:
    """The processes, and a client of theirs."""

    def __init__(
        self, database: Postgres, broker: Redis, models: Models, port: int
    ) -> None:
        """`port`: where the web process listens."""
        self.broker = broker
        self._environment = {
            **os.environ,
            "DATABASE_URL": database.url,
            "REDIS_URL": broker.url,
            "BACKGROUND_RUNS": "workers",
        }
        known = database_fill(models.url, self._environment)
        self._port = port
        self.database = psycopg.connect(database.url, autocommit=True)
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{self._port}",
            headers={"Authorization": f"Bearer {known['key']}"},
            timeout=PATIENCE_S,
        )

    @contextmanager
    def web(self) -> Iterator[None]:
        """Serve the site."""
        with self.process("conductor_site", "--port", str(self._port)):
            wait_for(self._answers)
            yield

    @contextmanager
    def worker(self, drain_s: int = DRAIN_S) -> Iterator[PythonProcess]:
        """Run a worker; enter when it has its lease."""
        more = {"WORKER_DRAIN_S": str(drain_s)}
        with self.process("conductor_site.worker", **more) as worker:
            wait_for(lambda: bool(worker.poll() or self.leases(worker.pid)))
            assert self.leases(worker.pid) == ["worker"]
            yield worker

    @contextmanager
    def process(
        self, module: str, *arguments: str, **more: str
    ) -> Iterator[PythonProcess]:
        """Run a module until the block ends, or until it has ended by itself."""
        environment = {**self._environment, **more}
        process = python_start("-m", module, *arguments, environment=environment)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def leases(self, pid: int) -> list[str]:
        """Return the kinds of the leases of a process."""
        found = self.database.execute(
            "SELECT kind FROM runs_process WHERE name LIKE %s", [f"%:{pid}"]
        )
        return [kind for (kind,) in found]

    def owner(self, run_id: str) -> str | None:
        """Return the kind of the process that executes a run; None: nobody does."""
        row = self.database.execute(
            "SELECT p.kind FROM runs_run r LEFT JOIN runs_process p "
            "ON p.id = r.owner_id WHERE r.id = %s",
            [run_id],
        ).fetchone()
        assert row is not None
        kind: str | None = row[0]
        return kind

    def history(self, run_id: str) -> list[str]:
        """Return what is on record of a run, in order."""
        found = self.database.execute(
            "SELECT action FROM audit_entry WHERE subject_id = %s ORDER BY seq",
            [run_id],
        )
        return [action for (action,) in found]

    def ask(self, question: str) -> tuple[str, str]:
        """Begin a background response; return its id and that of its run."""
        answer = self.client.post(
            "/v1/responses",
            json={"model": "conductor-ultra", "input": question, "background": True},
        )
        assert answer.json()["status"] == "in_progress", answer.text
        return answer.json()["id"], answer.headers["x-conductor-run-id"]

    def ending(self, response_id: str) -> dict[str, Any]:
        """Follow a response as a stream, and return its last event."""
        path = f"/v1/responses/{response_id}?stream=true"
        *_, last, _ = self.client.get(path).text.split("\n\n")
        event: dict[str, Any] = json.loads(last.partition("data: ")[2])
        return event

    def _answers(self) -> bool:
        with suppress(httpx.TransportError):
            return self.client.get("/readyz").status_code == 200
        return False


def wait_for(is_true: Callable[[], bool]) -> None:
    """Look until something outside of this process is so."""
    assert eventually(is_true), "it never was so"


def stop(process: PythonProcess) -> int:
    """Ask a process to stop and return its exit status."""
    process.terminate()
    return process.wait()


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    """One site for all tests of a file, with a web process and no worker."""
    with ExitStack() as stack:
        models = stack.enter_context(serving(create_app(speed=1), ws="none"))
        database = stack.enter_context(postgres())
        broker = stack.enter_context(redis())
        port = stack.enter_context(reserved_port())
        crew = Crew(database, broker, Models(f"{models}/v1"), port)
        stack.enter_context(crew.client)
        stack.enter_context(crew.database)
        stack.enter_context(crew.web())
        yield crew
