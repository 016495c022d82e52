"""Web processes of a site on a database of their own, for tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.patience import PATIENCE_S, awaited
from tests.processes.ports import reserved_port
from tests.processes.python import (
    PythonProcess,
    database_fill,
    python_output,
    python_start,
)


class WebProcess:
    """One `python -m conductor_site`."""

    def __init__(self, process: PythonProcess, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.pid = process.pid
        self._process = process

    def readiness(self) -> tuple[int, dict[str, str]]:
        """Return what /readyz says: status and a line for each part; 0: nothing."""
        with suppress(httpx.TransportError):
            answer = httpx.get(f"{self.url}/readyz")
            return answer.status_code, answer.json()["parts"]
        return 0, {}

    def until_readiness(self, status: int) -> dict[str, str]:
        """Return the lines once /readyz answers with this status."""

        def look() -> dict[str, str] | None:
            assert self._process.poll() is None, "the process has ended"
            answered, parts = self.readiness()
            return parts if answered == status else None

        return awaited(look)

    def ask_to_stop(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """End it by SIGKILL, and return when it has ended."""
        self._process.kill()
        self._process.wait()

    def ended(self) -> int:
        """Return the exit status once it has ended."""
        return self._process.wait()


class Home:
    """A migrated database with a team, a key and a pool, and processes on it.

    SQLite in `folder` and no Redis, unless `environment` says otherwise.
    """

    def __init__(self, folder: Path, models_url: str, **environment: str) -> None:
        places = {
            "CONDUCTOR_VAR_DIR": str(folder),
            "DATABASE_URL": "",
            "REDIS_URL": "",
        }
        self.environment = {**os.environ, **places, **environment}
        known = database_fill(models_url, self.environment)
        self.key, self.session = known["key"], known["session"]

    def python(self, *arguments: str, **environment: str) -> str:
        """Run Python with these arguments and return what it prints."""
        merged = {**self.environment, **environment}
        return python_output(*arguments, environment=merged)

    @contextmanager
    def serving(self, **environment: str) -> Iterator[WebProcess]:
        """Start a process and wait until it is ready."""
        with reserved_port() as port:
            process = python_start(
                *("-m", "conductor_site", "--port", str(port)),
                environment={**self.environment, **environment},
            )
            web = WebProcess(process, port)
            try:
                web.until_readiness(200)
                yield web
            finally:
                web.kill()

    def client(self, url: str) -> httpx.Client:
        """Return a client with the team's key, for one process."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=url, headers=headers, timeout=PATIENCE_S)


def question(prompt: str, *, model: str = "conductor-ultra", **fields: Any) -> Any:
    """Return the body of a chat completion request."""
    messages = [{"role": "user", "content": prompt}]
    return {"model": model, "messages": messages, **fields}
