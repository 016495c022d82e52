"""A PostgreSQL that restarts under a serving process: told, survived, nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.patience import PATIENCE_S, awaited
from tests.processes.site import Home
from tests.runs.conftest import Models
from tests.services import Postgres, postgres

pytestmark = pytest.mark.slow


@pytest.fixture
def database() -> Iterator[Postgres]:
    with postgres() as server:
        yield server


@pytest.fixture
def home(database: Postgres, models: Models, tmp_path: Path) -> Home:
    return Home(tmp_path, models.url, DATABASE_URL=database.url)


def ask(client: httpx.Client) -> httpx.Response:
    """Ask a worker for an answer."""
    return client.post(
        "/v1/chat/completions",
        json={
            "model": "worker/instant",
            "messages": [{"role": "user", "content": "?"}],
        },
    )


def ask_everywhere(client: httpx.Client) -> list[httpx.Response]:
    """Ask the gateway, the REST API and a page at the same time."""
    with ThreadPoolExecutor() as threads:
        others = [threads.submit(client.get, p) for p in ("/api/v1/runs/", "/runs/")]
        return [ask(client), *(other.result() for other in others)]


def _answer_once_back(client: httpx.Client) -> httpx.Response | None:
    answer = ask(client)
    return None if answer.status_code == 503 else answer


def test_nothing_acknowledged_is_lost_and_the_rest_is_told(
    database: Postgres, home: Home
) -> None:
    headers = {"Authorization": f"Bearer {home.key}", "Cookie": home.session}
    with (
        home.serving() as process,
        httpx.Client(
            base_url=process.url, headers=headers, timeout=PATIENCE_S
        ) as client,
    ):
        answers = [ask(client) for _ in range(5)]
        database.kill()
        told = ask_everywhere(client)
        assert {(a.status_code, "retry-after" in a.headers) for a in told} == {
            (503, True)
        }
        database.start()
        answers.append(awaited(lambda: _answer_once_back(client)))
        kept = client.get("/api/v1/runs/").json()
    assert {answer.status_code for answer in answers} == {200}
    ids = {answer.headers["x-conductor-run-id"] for answer in answers}
    assert ids <= {run["id"] for run in kept["data"] if run["state"] == "completed"}
    assert "1 chain holds" in home.python("manage.py", "audit_verify")
