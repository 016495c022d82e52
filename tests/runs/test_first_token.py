"""A worker that is there and says nothing: its time to the first token is limited."""

from __future__ import annotations

import uuid

import pytest

from apps.engine import events as ev
from apps.engine.errors import CallFailed, CallFault
from apps.engine.ports import Call, CallEnd, CallParams, Message
from apps.llm.chat import ChatClient
from apps.llm.http import open_transport
from apps.llm.types import Endpoint, Timeouts
from apps.pools.models import Worker
from apps.runs.execution import latency_stats as latencies_module
from apps.runs.execution.circuit_breaker import CircuitBreakers, circuit_key
from apps.runs.execution.endpoint_client import EndpointClient
from apps.runs.execution.latency_stats import ENOUGH, LatencyStats
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site
from tests.runs.clients import ask_all, request

TEAM = uuid.uuid4()
SOON_S = 0.2
MESSAGES = (Message(role="user", content="[[say one two three]]"),)


async def outcome(
    url: str, model: str, *, own_s: float | None = None, usual_s: float | None = None
) -> CallFault | str:
    """Call a model; return its fault, or how its answer ended."""
    endpoint = Endpoint("w", url, model, timeouts=Timeouts(first_token_s=own_s))
    latencies = LatencyStats()
    for _ in range(ENOUGH if usual_s is not None else 0):
        key = circuit_key(TEAM, endpoint)
        latencies.began(key, is_streamed=True, after_s=usual_s or 0.0)
    async with open_transport(allowed_networks=["127.0.0.0/8"]) as transport:
        client = ChatClient(transport)
        model_client = EndpointClient(
            client, {"w": endpoint}, TEAM, CircuitBreakers(), latencies
        )
        try:
            items = [
                i async for i in model_client.stream(Call("w", MESSAGES, CallParams()))
            ]
        except CallFailed as exc:
            return exc.fault
    end = items[-1]
    assert isinstance(end, CallEnd)
    return end.finish_reason


async def test_D7_pings_are_no_first_token(simulator_url: str) -> None:
    fault = await outcome(simulator_url, "fault-ping", own_s=SOON_S)
    assert fault is CallFault.FIRST_TOKEN_TIMEOUT


async def test_D7_the_limit_comes_from_the_workers_own_latencies(
    simulator_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latencies_module, "LEAST_LIMIT_S", SOON_S)
    fault = await outcome(simulator_url, "fault-ping", usual_s=0.01)
    assert fault is CallFault.FIRST_TOKEN_TIMEOUT


async def test_D7_what_follows_the_first_token_may_take_longer(
    simulator_url: str,
) -> None:
    assert await outcome(simulator_url, "trickle-150", own_s=SOON_S) == "stop"


def test_D7_the_next_worker_is_asked_at_once_and_the_ledger_says_why(
    site: Site,
) -> None:
    site.add_worker("fault-ping")
    team = site.cast.team
    worker = Worker.objects.for_team(team.id).get(name="fault-ping")
    worker.first_token_timeout_s = 1
    worker.save()
    pool = team.pools.get(is_default=True)
    pool.fallback, pool.conductor = worker, None
    pool.save()
    pool.tiers.update(planner="single_worker")
    body = request("conductor-mini", "What is 17 * 23 + 4?", is_streamed=True)
    [said] = ask_all(site, [("", "", body)])
    assert "39" in said.answer
    run = Run.objects.for_team(team.id).get()
    events = [recorded.event for recorded in run_events(run)]
    failed = [e for e in events if isinstance(e, ev.StepAttemptFailed)]
    assert [e.fault for e in failed] == ["first_token_timeout"]
    assert failed[0].latency_ms < 5_000
