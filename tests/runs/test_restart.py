"""The real process, asked to stop and killed, in the middle of a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import connection

from tests.processes.site import Home
from tests.runs.asking import frames, planned, until, watching
from tests.runs.conftest import Models
from tests.services import database_beside

pytestmark = pytest.mark.slow

FIRST, SLOW, LAST = "instant", "delay-1000", "delay-0"


NO_DRAIN = {"WEB_DRAIN_S": "0"}
"""What is live when a process stops is left to the next one."""


@pytest.fixture
def home(tmp_path: Path, models: Models) -> Iterator[Home]:
    if connection.vendor == "sqlite":
        yield Home(tmp_path, models.url, **NO_DRAIN)
    else:
        with database_beside(os.environ["DATABASE_URL"]) as url:
            yield Home(tmp_path, models.url, DATABASE_URL=url, **NO_DRAIN)


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


def test_run_survives_a_stop_and_a_kill(home: Home, models: Models) -> None:
    with home.serving() as process:
        run_id = start_on_page(process.url, home.session)
        with watching(process.url, run_id, session=home.session) as live:
            until(live, "step.completed")
            until(live, "step.started")
            process.ask_to_stop()
            assert process.ended() in (0, -signal.SIGTERM)
    with (
        home.serving() as process,
        watching(process.url, run_id, session=home.session) as live,
    ):
        until(live, "run.resumed")
        process.kill()
    with home.serving() as process:
        events = story(process.url, run_id, home.session)
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
    assert "1 chain holds" in home.python("manage.py", "audit_verify")


def test_run_goes_on_when_the_ledgers_process_dies(home: Home) -> None:
    with home.serving() as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        writer_pid = int(children.read_text().split()[0])
        os.kill(writer_pid, signal.SIGKILL)
        run_id = start_on_page(process.url, home.session)
        events = story(process.url, run_id, home.session)
    assert events[-1]["action"] == "run.completed"
    assert "1 chain holds" in home.python("manage.py", "audit_verify")
