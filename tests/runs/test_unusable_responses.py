"""Answers that another call would bring again: nobody pays for them three times."""

from __future__ import annotations

from typing import get_args

import pytest

from apps.engine import events as ev
from apps.engine.errors import CallFault
from apps.llm.types import Protocol
from apps.runs.execution import executor as executor_module
from apps.runs.execution.circuit_breaker import FAILURES, CircuitBreakers
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site
from tests.factories import PriceFactory, WorkerFactory
from tests.runs.clients import ask_all, request

PROTOCOLS = get_args(Protocol)
COMPRESSED, PAGE, LONG = "hostile-http-compressed", "fault-html", "scripted"
SAID = "[[say more than ten characters]]"
EACH = pytest.mark.parametrize("model", [COMPRESSED, PAGE, LONG])
BOTH = pytest.mark.parametrize("is_streamed", [True, False])
UNUSABLE = {"unusable_response"}


@pytest.fixture
def terse(settings) -> None:
    """Allow ten characters; for the site that starts after it."""
    settings.MAX_ANSWER_CHARACTERS = 10


@pytest.fixture
def circuit_breakers(monkeypatch: pytest.MonkeyPatch, site: Site) -> CircuitBreakers:
    breakers = CircuitBreakers()
    executor = executor_module.get_executor()
    monkeypatch.setattr(executor, "circuit_breakers", breakers)
    return breakers


def add_worker(site: Site, model: str, protocol: str) -> tuple[str, str]:
    """Add a worker to the default pool; return its name and its address."""
    pool = site.cast.team.pools.get(is_default=True)
    version = "v1beta" if protocol == "gemini" else "v1"
    worker = WorkerFactory.create(
        team=site.cast.team,
        name=f"{protocol}-{model}",
        model=model,
        protocol=protocol,
        base_url=site.simulator_url.removesuffix("v1") + version,
    )
    PriceFactory.create(worker=worker)
    place = pool.places.count()
    pool.places.create(team=site.cast.team, worker=worker, position=place)
    return worker.name, worker.base_url


def events_of(run_id: str) -> list[ev.Event]:
    run = Run.objects.across_teams().get(id=run_id)
    return [recorded.event for recorded in run_events(run)]


def called(events: list[ev.Event]) -> list[str]:
    return [event.worker for event in events if isinstance(event, ev.StepStarted)]


def faults(events: list[ev.Event]) -> set[str]:
    return {e.fault for e in events if isinstance(e, ev.StepAttemptFailed)}


@BOTH
@EACH
def test_C5_what_would_come_again_is_asked_for_once(
    terse: None, site: Site, model: str, is_streamed: bool
) -> None:
    names = [add_worker(site, model, protocol)[0] for protocol in PROTOCOLS]
    questions = [
        (name, model, request(f"worker/{name}", SAID, is_streamed=is_streamed))
        for name in names
    ]
    for answer in ask_all(site, questions):
        events = events_of(answer.run_id)
        assert called(events) == [answer.name]
        assert faults(events) == UNUSABLE
        end = events[-1]
        assert isinstance(end, ev.RunFailed)
        assert end.is_lasting


@BOTH
@pytest.mark.parametrize("model", [COMPRESSED, PAGE])
def test_C5_the_next_worker_is_asked_instead(
    site: Site, model: str, is_streamed: bool
) -> None:
    name, _ = add_worker(site, model, "openai")
    pool = site.cast.team.pools.get(is_default=True)
    pool.fallback, pool.conductor = pool.workers.get(name=name), None
    pool.save()
    pool.tiers.update(planner="single_worker")
    body = request("conductor-mini", "What is 17 * 23 + 4?", is_streamed=is_streamed)
    [answer] = ask_all(site, [("", "", body)])
    assert answer.error is None
    first, *others = called(events_of(answer.run_id))
    assert first == name
    assert len(others) == 1
    assert name not in others


@BOTH
@EACH
def test_C5_the_circuit_takes_no_notice_of_it(
    terse: None,
    site: Site,
    circuit_breakers: CircuitBreakers,
    model: str,
    is_streamed: bool,
) -> None:
    name, base_url = add_worker(site, model, "openai")
    key = (site.cast.team.id, base_url, model)
    body = request(f"worker/{name}", SAID, is_streamed=is_streamed)
    answers = ask_all(site, [("", "", body)] * (FAILURES + 1))
    told = [called(events_of(answer.run_id)) for answer in answers]
    assert told == [[name]] * (FAILURES + 1)
    for _ in range(FAILURES - 1):
        circuit_breakers.failed(key, CallFault.SERVER_ERROR)
    assert circuit_breakers.admit(key) == 0
    ask_all(site, [("", "", body)])
    circuit_breakers.failed(key, CallFault.SERVER_ERROR)
    assert circuit_breakers.is_open(key)
