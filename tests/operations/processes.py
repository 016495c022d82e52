"""Real web processes on a database of their own, for tests."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent.parent
POLL_S = 0.05


class WebProcess:
    """One `python -m conductor_site`."""

    def __init__(self, environment: dict[str, str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "conductor_site", "--port", str(self.port)]
        self._popen = subprocess.Popen(command, cwd=ROOT, env=environment)
        self.pid = self._popen.pid

    def readiness(self) -> tuple[int, dict[str, str]]:
        """Return what /readyz says: status and a line for each part; 0: nothing."""
        with suppress(httpx.TransportError):
            answer = httpx.get(f"{self.url}/readyz")
            return answer.status_code, answer.json()["parts"]
        return 0, {}

    def until_readiness(self, status: int) -> dict[str, str]:
        """Return the lines once /readyz answers with this status."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.readiness())[0] != status:
            assert self._popen.poll() is None, "the process has ended"
            assert time.monotonic() < deadline, found
            time.sleep(POLL_S)
        return found[1]

    def ask_to_stop(self) -> None:
        """Send SIGTERM."""
        self._popen.terminate()

    def ended(self) -> int:
        """Return the exit status once it has ended."""
        return self._popen.wait(PATIENCE_S)

    def remove(self) -> None:
        """End it, whatever it does."""
        self._popen.kill()
        self._popen.wait(PATIENCE_S)


class Home:
    """A migrated database with a team, a key and a pool, and processes on it.

    SQLite in `folder` and no Redis, unless `environment` says otherwise.
    """

    def __init__(self, folder: Path, models_url: str, **environment: str) -> None:
        folder_of = {
            "CONDUCTOR_VAR_DIR": str(folder),
            "DATABASE_URL": "",
            "REDIS_URL": "",
        }
        self.environment = {**os.environ, **folder_of, **environment}
        known = json.loads(self.python("-m", "tests.runs.prepare", models_url))
        self.key, self.session = known["key"], known["session"]

    def python(self, *arguments: str, **environment: str) -> str:
        """Run Python with these arguments and return what it prints."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**self.environment, **environment},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
        ).stdout

    @contextmanager
    def serving(self, **environment: str) -> Iterator[WebProcess]:
        """Start a process and wait until it is ready."""
        process = WebProcess({**self.environment, **environment})
        try:
            process.until_readiness(200)
            yield process
        finally:
            process.remove()

    def client(self, url: str) -> httpx.Client:
        """Return a client with the team's key, for one process."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=url, headers=headers, timeout=PATIENCE_S)


def question(prompt: str, *, model: str = "conductor-ultra", **fields: Any) -> Any:
    """Return the body of a chat completion request."""
    messages = [{"role": "user", "content": prompt}]
    return {"model": model, "messages": messages, **fields}
