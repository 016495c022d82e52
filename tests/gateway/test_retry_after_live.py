"""When clients should come back after `worker_failed`, where a worker says so."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from apps.engine.errors import CallFault
from apps.engine.limits import Limits
from apps.pools.models import Worker
from apps.runs.execution import executor as executor_module
from apps.runs.execution.circuit_breaker import FAILURES, REST_S, CircuitBreakers
from apps.simulator.problems import RETRY_AFTER_S
from tests.conftest import Site
from tests.patience import PATIENCE_S

QUESTION = "What is 17 * 23 + 4?"
MESSAGES = [{"role": "user", "content": QUESTION}]
BODIES: dict[str, dict[str, Any]] = {
    "chat/completions": {"messages": MESSAGES},
    "responses": {"input": QUESTION},
    "messages": {"messages": MESSAGES, "max_tokens": 100},
}
"""By the path under `/v1`, a small body without its model."""


def ask(site: Site, model: str, **fields: Any) -> httpx.Response:
    """Ask one model for a chat completion."""
    body = {**BODIES["chat/completions"], "model": model, **fields}
    headers = {"authorization": f"Bearer {site.key}"}
    url = f"{site.api_url}/chat/completions"
    return httpx.post(url, json=body, headers=headers, timeout=PATIENCE_S)


def ask_each(site: Site, model: str) -> dict[str, httpx.Response]:
    """Ask one model through every protocol at once; return the answers by path."""

    async def gather() -> list[httpx.Response]:
        headers = {"authorization": f"Bearer {site.key}"}
        async with httpx.AsyncClient(
            base_url=site.api_url, headers=headers, timeout=PATIENCE_S
        ) as client:
            posts = (
                client.post(f"/{path}", json={**body, "model": model})
                for path, body in BODIES.items()
            )
            return await asyncio.gather(*posts)

    return dict(zip(BODIES, asyncio.run(gather()), strict=True))


@pytest.fixture
def circuit_breakers(monkeypatch: pytest.MonkeyPatch, site: Site) -> CircuitBreakers:
    """The circuits of the site's process, on a clock that stands still."""
    breakers = CircuitBreakers(lambda: 0.0)
    executor = executor_module.get_executor()
    monkeypatch.setattr(executor, "circuit_breakers", breakers)
    return breakers


def fail(breakers: CircuitBreakers, site: Site, name: str, times: int) -> None:
    worker = Worker.objects.for_team(site.cast.team.id).get(name=name)
    key = (site.cast.team.id, worker.base_url, worker.model)
    for _ in range(times):
        breakers.failed(key, CallFault.SERVER_ERROR)


def test_C4_the_wait_that_a_provider_asks_for_is_passed_on(site: Site) -> None:
    site.add_worker("fault-429")
    for path, answer in ask_each(site, "worker/fault-429").items():
        assert answer.status_code == 502, path
        assert answer.headers["retry-after"] == str(RETRY_AFTER_S), path
        assert "x-should-retry" not in answer.headers, path


def test_C4_an_open_circuit_says_until_when(
    site: Site, circuit_breakers: CircuitBreakers
) -> None:
    site.add_worker("instant")
    fail(circuit_breakers, site, "instant", FAILURES)
    for path, answer in ask_each(site, "worker/instant").items():
        assert answer.status_code == 502, path
        assert answer.headers["retry-after"] == f"{REST_S:g}", path


def test_C4_the_failure_that_opens_the_circuit_says_so_too(
    site: Site, circuit_breakers: CircuitBreakers
) -> None:
    site.add_worker("fault-500")
    fail(circuit_breakers, site, "fault-500", FAILURES - Limits().max_attempts)
    answer = ask(site, "worker/fault-500")
    assert answer.headers["retry-after"] == f"{REST_S:g}"


def test_C4_a_fault_that_may_pass_at_any_time_names_no_wait(site: Site) -> None:
    site.add_worker("fault-500")
    assert "retry-after" not in ask(site, "worker/fault-500").headers


def test_C4_a_stream_that_has_begun_ends_as_before(
    site: Site, circuit_breakers: CircuitBreakers
) -> None:
    site.add_worker("instant")
    fail(circuit_breakers, site, "instant", FAILURES)
    answer = ask(site, "worker/instant", stream=True)
    assert answer.status_code == 200
    assert '"worker_failed"' in answer.text


def test_C4_a_fault_that_lasts_names_no_wait(site: Site) -> None:
    site.add_worker("fault-401")
    for path, answer in ask_each(site, "worker/fault-401").items():
        assert "retry-after" not in answer.headers, path
        assert answer.headers["x-should-retry"] == "false", path
