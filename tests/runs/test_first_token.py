"""A worker that is there and says nothing: its time to the first token is limited."""

from __future__ import annotations

import uuid
from typing import Any

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
    url: str,
    model: str,
    *,
    own_s: float | None = None,
    usual_s: float | None = None,
    assumed_s: float | None = None,
    others_s: float | None = None,
    has_substitute: bool = True,
) -> CallFault | str:
    """Call a model; return its fault, or how its answer ended.

    `usual_s`: what its answers took before, `others_s`: those of the pool's others.
    """
    times = Timeouts(first_token_s=own_s, assumed_first_token_s=assumed_s)
    endpoint = Endpoint("w", url, model, timeouts=times)
    other = Endpoint("x", url, "instant")
    latencies = LatencyStats()
    for known, after_s in ((endpoint, usual_s), (other, others_s)):
        for _ in range(ENOUGH if after_s is not None else 0):
            key = circuit_key(TEAM, known)
            latencies.began(key, is_streamed=True, after_s=after_s or 0.0)
    async with open_transport(allowed_networks=["127.0.0.0/8"]) as transport:
        client = ChatClient(transport)
        model_client = EndpointClient(
            client, {"w": endpoint, "x": other}, TEAM, CircuitBreakers(), latencies
        )
        call = Call("w", MESSAGES, CallParams(), has_substitute=has_substitute)
        try:
            items = [i async for i in model_client.stream(call)]
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


async def test_C7_a_worker_without_times_of_its_own_has_an_assumed_limit(
    simulator_url: str,
) -> None:
    fault = await outcome(simulator_url, "fault-ping", assumed_s=SOON_S)
    assert fault is CallFault.FIRST_TOKEN_TIMEOUT


async def test_C7_three_times_the_median_of_the_pool_is_the_limit_once_it_is_known(
    simulator_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latencies_module, "LEAST_LIMIT_S", 0.0)
    ping = "fault-ping"
    fault = await outcome(simulator_url, ping, assumed_s=3600.0, others_s=SOON_S / 3)
    assert fault is CallFault.FIRST_TOKEN_TIMEOUT
    late = await outcome(simulator_url, "late-300", assumed_s=SOON_S, others_s=1200.0)
    assert late == "stop"


async def test_C7_the_pool_sets_no_limit_below_the_least_one(
    simulator_url: str,
) -> None:
    late = await outcome(simulator_url, "late-300", assumed_s=3600.0, others_s=0.001)
    assert late == "stop"


@pytest.mark.parametrize(
    "times",
    [
        {"has_substitute": False, "others_s": 0.001},
        {"own_s": 3600.0},
        {"usual_s": 1200.0},
    ],
    ids=["nobody could take over", "it has a limit of its own", "its times are known"],
)
async def test_C7_the_assumed_limit_gives_way(
    simulator_url: str, times: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latencies_module, "LEAST_LIMIT_S", 0.0)
    late = await outcome(simulator_url, "late-300", assumed_s=SOON_S, **times)
    assert late == "stop"


def first_in_pool(site: Site, name: str, **timeouts: int) -> None:
    """Let a simulated model answer the mini tier, before all others."""
    site.add_worker(name)
    team = site.cast.team
    worker = Worker.objects.for_team(team.id).get(name=name)
    for field, limit_s in timeouts.items():
        setattr(worker, field, limit_s)
    worker.save()
    pool = team.pools.get(is_default=True)
    pool.fallback, pool.conductor = worker, None
    pool.save()
    pool.tiers.update(planner="single_worker")


def ask(site: Site, model: str = "conductor-mini") -> list[ev.Event]:
    """Ask in a stream, which must bring the answer; return the run's events."""
    body = request(model, "What is 17 * 23 + 4?", is_streamed=True)
    [said] = ask_all(site, [("", "", body)])
    assert "39" in said.answer
    run = Run.objects.for_team(site.cast.team.id).get()
    return [recorded.event for recorded in run_events(run)]


def workers(events: list[ev.Event]) -> list[str]:
    return [event.worker for event in events if isinstance(event, ev.StepStarted)]


@pytest.fixture
def one_second(settings) -> None:
    """Assume a second of workers without times of their own; for the next site."""
    settings.WORKER_FIRST_TOKEN_TIMEOUT_S = 1


def test_C7_the_next_worker_takes_over_from_one_that_is_new_and_silent(
    one_second: None, site: Site
) -> None:
    first_in_pool(site, "fault-ping")
    events = ask(site)
    failed = [e for e in events if isinstance(e, ev.StepAttemptFailed)]
    assert [e.fault for e in failed] == ["first_token_timeout"]
    assert "not known yet" in failed[0].message
    assert failed[0].latency_ms < 5_000
    assert len(workers(events)) == 2


@pytest.mark.parametrize("model", ["worker/late-1500", "conductor-mini"])
def test_C7_a_slow_worker_answers_where_nobody_could_take_over(
    one_second: None, site: Site, model: str
) -> None:
    first_in_pool(site, "late-1500")
    pool = site.cast.team.pools.get(is_default=True)
    pool.places.exclude(worker__name="late-1500").delete()
    assert workers(ask(site, model)) == ["late-1500"]


@pytest.mark.parametrize("field", ["first_byte_timeout_s", "first_token_timeout_s"])
def test_C7_a_slow_worker_answers_if_its_configuration_says_that_it_is_slow(
    one_second: None, site: Site, field: str
) -> None:
    first_in_pool(site, "late-1500", **{field: 20})
    assert workers(ask(site)) == ["late-1500"]


def test_C7_without_the_setting_a_new_worker_has_no_limit(settings, site: Site) -> None:
    settings.WORKER_FIRST_TOKEN_TIMEOUT_S = 0
    first_in_pool(site, "late-1500")
    assert workers(ask(site)) == ["late-1500"]


def test_D7_the_next_worker_is_asked_at_once_and_the_ledger_says_why(
    site: Site,
) -> None:
    first_in_pool(site, "fault-ping", first_token_timeout_s=1)
    failed = [e for e in ask(site) if isinstance(e, ev.StepAttemptFailed)]
    assert [e.fault for e in failed] == ["first_token_timeout"]
    assert failed[0].latency_ms < 5_000
