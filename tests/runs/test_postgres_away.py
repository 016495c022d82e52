"""A PostgreSQL that restarts under a serving process: told, survived, nothing lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.patience import PATIENCE_S
from tests.runs.conftest import Models
from tests.runs.test_restart import Scratch
from tests.services import Postgres, postgres

BACK_S = 10


@pytest.fixture
def database() -> Iterator[Postgres]:
    with postgres() as server:
        yield server


@pytest.fixture
def own_site(database: Postgres, models: Models) -> Scratch:
    return Scratch({"DATABASE_URL": database.url}, models)


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


def test_nothing_acknowledged_is_lost_and_the_rest_is_told(
    database: Postgres, own_site: Scratch
) -> None:
    headers = {"Authorization": f"Bearer {own_site.key}", "Cookie": own_site.session}
    with (
        own_site.serving() as (_, url),
        httpx.Client(base_url=url, headers=headers, timeout=PATIENCE_S) as client,
    ):
        answers = [ask(client) for _ in range(5)]
        database.kill()
        told = ask_everywhere(client)
        assert {(a.status_code, "retry-after" in a.headers) for a in told} == {
            (503, True)
        }
        database.start()
        back_by = time.monotonic() + BACK_S
        while (answer := ask(client)).status_code == 503:
            assert time.monotonic() < back_by
        answers.append(answer)
        kept = client.get("/api/v1/runs/").json()
    assert {answer.status_code for answer in answers} == {200}
    ids = {answer.headers["x-conductor-run-id"] for answer in answers}
    assert ids <= {run["id"] for run in kept["data"] if run["state"] == "completed"}
    assert "1 chain holds" in own_site.python("manage.py", "audit_verify")
