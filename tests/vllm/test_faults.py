"""A real vLLM that is left or overrun in the middle of its work."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.engine import events as ev
from apps.engine.errors import CallFault
from apps.llm.types import Endpoint
from apps.runs.executor import get_executor
from tests.conftest import Site
from tests.runs.starting import on_loop
from tests.vllm.asking import (
    ENDLESS_PLAN,
    Asking,
    events_of,
    is_freed,
    is_planning,
    only_run,
)
from tests.vllm.conftest import ENDLESS, Stage, eventually, occupied, only
from tests.vllm.server import KEY, QUIET_S, SEATS


def test_stopped_run_frees_the_server_while_it_plans(stage: Stage, hold_to):
    hold_to(ENDLESS_PLAN)
    stage.set_conductor(max_output_tokens=8000, context_tokens=None)
    client = Asking(stage)
    assert eventually(lambda: is_planning(stage))
    browser = Client()
    browser.force_login(stage.site.cast.bob)
    stopped = browser.post(
        f"/runs/{only_run(stage).id}/cancel/", headers={"accept": "application/json"}
    )
    assert stopped.json() == {"is_stopped": True}
    assert is_freed(stage)
    client.join(QUIET_S)
    assert "stopped by Bob" in client.text
    assert isinstance(events_of(only_run(stage))[-1], ev.RunCancelled)


def test_client_that_leaves_frees_the_server_while_it_answers(stage: Stage):
    worker = stage.site.cast.team.workers.get(name="tiny")
    worker.max_output_tokens = 8000
    worker.save()
    wanted = {
        "type": "json_schema",
        "json_schema": {"name": "text", "schema": ENDLESS},
    }
    fields = {"model": "worker/tiny", "response_format": wanted}
    # An answer in a form goes out when it is whole: nothing comes meanwhile.
    client = Asking(stage, patience_s=2, max_tokens=7000, **fields)
    assert eventually(lambda: is_planning(stage))
    client.join(QUIET_S)
    assert is_freed(stage)
    assert eventually(
        lambda: isinstance(events_of(only_run(stage))[-1], ev.RunCancelled)
    )


def test_more_requests_than_seats_wait_and_are_all_answered(stage: Stage, hold_to):
    step = {"subtask": "Say something.", "worker": 0, "access": []}
    hold_to({"const": {"reasoning": "One is enough.", "steps": [step]}})
    with occupied(stage.vllm, SEATS - 1):
        assert eventually(lambda: stage.vllm.load().running == SEATS - 1)
        answers = stage.ask(*(f"Question {number}" for number in range(SEATS * 2)))
    assert {answer.status_code for answer in answers} == {200}
    for answer in answers:
        (accepted,) = only(stage.events(answer), ev.PlanAccepted)
        assert accepted.planner == "language_model"


@pytest.fixture
def short_queue(settings: Any) -> int:
    """Before the site starts: it reads the limit once."""
    settings.CONDUCTOR_MAX_QUEUE = 1
    return 1


@pytest.fixture
def site(short_queue: int, site: Site) -> Site:
    return site


def test_long_queue_sheds_plans_to_the_fallback_and_says_so(stage: Stage, hold_to):
    step = {"subtask": "Say something.", "worker": 1, "access": []}
    hold_to({"const": {"reasoning": "One is enough.", "steps": [step]}})
    with occupied(stage.vllm, SEATS + 3):
        assert eventually(lambda: known_queue(stage) > 1)
        (shed,) = stage.ask("A question")
    events = stage.events(shed)
    (failed,) = only(events, ev.PlanCallFailed)
    assert failed.fault == CallFault.QUEUE_FULL
    assert "requests wait at its server, more than 1" in failed.message
    assert not only(events, ev.PlanReplied)
    (accepted,) = only(events, ev.PlanAccepted)
    assert (accepted.planner, accepted.workers) == ("fallback", ("sim-delta",))
    assert isinstance(events[-1], ev.RunCompleted)
    assert eventually(lambda: known_queue(stage) == 0)
    (after,) = stage.ask("Another question")
    (planned,) = only(stage.events(after), ev.PlanAccepted)
    assert planned.planner == "language_model"


def known_queue(stage: Stage) -> int:
    """Return how many requests the site would not add to; it looks from now on."""
    endpoint = Endpoint("planner", stage.vllm.url, "conductor", KEY)

    async def admit() -> int:
        return get_executor().queues.admit(endpoint)

    return on_loop(admit())
