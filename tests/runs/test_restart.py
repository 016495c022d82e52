"""The real process, asked to stop and killed, in the middle of a run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import connection

from tests.patience import PATIENCE_S
from tests.runs.asking import frames, planned, until, watching
from tests.runs.conftest import Models
from tests.services import database_beside

ROOT = Path(__file__).resolve().parent.parent.parent
FIRST, SLOW, LAST = "instant", "delay-1000", "delay-0"


class Scratch:
    """A database of its own, and the processes that serve it."""

    def __init__(self, database: dict[str, str], models: Models) -> None:
        # What is live when a process stops is left to the next one.
        self._environment = {**os.environ, **database, "WEB_DRAIN_S": "0"}
        known = json.loads(self.python("-m", "tests.runs.prepare", models.url))
        self.key, self.session = known["key"], known["session"]

    def python(self, *arguments: str) -> str:
        """Run Python with these arguments and return what it prints."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self._environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=180,
        ).stdout

    @contextmanager
    def serving(self) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
        """Serve the site in a process of its own."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "conductor_site", "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=self._environment)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(process, url)
            yield process, url
        finally:
            process.kill()
            process.wait(PATIENCE_S)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(400):
        with suppress(httpx.TransportError):
            httpx.get(f"{url}/v1/models")
            return
        with suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"the site ended with {process.wait(0.05)}")
    raise AssertionError("the site does not answer")


@pytest.fixture
def scratch(tmp_path: Path, models: Models) -> Iterator[Scratch]:
    if connection.vendor == "sqlite":
        yield Scratch({"CONDUCTOR_VAR_DIR": str(tmp_path)}, models)
    else:
        with database_beside(os.environ["DATABASE_URL"]) as url:
            yield Scratch({"DATABASE_URL": url}, models)


def start_on_page(url: str, session: str) -> str:
    """Start a run of three steps, each reading the ones before, and return its id."""
    with httpx.Client(base_url=url, headers={"Cookie": session}) as browser:
        browser.get("/")
        token = browser.cookies["csrftoken"]
        answer = browser.post(
            "/playground/runs/",
            data={"prompt": planned([0, 1, 2]), "tier": "ultra"},
            headers={
                "Accept": "application/json",
                "X-CSRFToken": token,
                "Cookie": f"{session}; csrftoken={token}",
            },
        )
    return str(answer.json()["id"])


def story(url: str, run_id: str, session: str) -> list[dict[str, Any]]:
    with watching(url, run_id, session=session) as live:
        return [frame for frame in frames(live) if frame["type"] == "event"]


def test_run_survives_a_stop_and_a_kill(scratch: Scratch, models: Models) -> None:
    with scratch.serving() as (process, url):
        run_id = start_on_page(url, scratch.session)
        with watching(url, run_id, session=scratch.session) as live:
            until(live, "step.completed")
            until(live, "step.started")
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) in (0, -signal.SIGTERM)
    with (
        scratch.serving() as (process, url),
        watching(url, run_id, session=scratch.session) as live,
    ):
        until(live, "run.resumed")
        process.kill()
        process.wait(PATIENCE_S)
    with scratch.serving() as (_, url):
        events = story(url, run_id, scratch.session)
    assert [e["action"] for e in events].count("run.resumed") == 2
    assert events[-1]["action"] == "run.completed"
    unknown = [
        e["data"]["unknown_calls"] for e in events if e["action"] == "run.resumed"
    ]
    # Who is stopped closes its call on record; who is killed cannot.
    assert unknown == [0, 1]
    assert models.stats()["requests"] == {
        "scripted-conductor": 1,
        FIRST: 1,
        SLOW: 3,
        LAST: 1,
    }
    assert "1 chain holds" in scratch.python("manage.py", "audit_verify")


def test_run_goes_on_when_the_ledgers_process_dies(
    scratch: Scratch, models: Models
) -> None:
    with scratch.serving() as (process, url):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        writer_pid = int(children.read_text().split()[0])
        os.kill(writer_pid, signal.SIGKILL)
        run_id = start_on_page(url, scratch.session)
        events = story(url, run_id, scratch.session)
    assert events[-1]["action"] == "run.completed"
    assert "1 chain holds" in scratch.python("manage.py", "audit_verify")
