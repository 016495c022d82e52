"""A real vLLM that is left or overrun in the middle of its work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import Client

from apps.engine import events as ev
from apps.engine.errors import CallFault
from apps.llm.types import Endpoint, Timeouts
from apps.runs.execution import conductor_load
from apps.runs.execution.executor import get_executor
from tests.conftest import Site
from tests.runs.starting import on_loop
from tests.vllm.asking import (
    ENDLESS,
    ENDLESS_PLAN,
    asking,
    events_of,
    is_freed,
    is_planning,
    newest_run,
    occupied,
)
from tests.vllm.conftest import Stage, eventually, only
from tests.vllm.server import ENDLESS_TOKENS, KEY, PATIENCE_S, SEATS

TRIES = 5


def test_stopped_run_frees_the_server_while_it_plans(stage: Stage, hold_to):
    hold_to(ENDLESS_PLAN)
    stage.set_conductor(max_output_tokens=ENDLESS_TOKENS, context_tokens=None)
    for _ in range(TRIES):
        before = stage.vllm.finished()
        events = events_of_stopped_run(stage)
        assert isinstance(events[-1], ev.RunCancelled)
        # The server itself ends an endless plan now and then; the last one was left.
        if stage.vllm.finished() == before + len(only(events, ev.PlanReplied)):
            return
    pytest.fail("each plan ended before its run was stopped")


def events_of_stopped_run(stage: Stage) -> list[ev.Event]:
    """Stop a run while it plans. Return its events once the server is free."""
    with asking(stage) as client:
        assert eventually(lambda: is_planning(stage))
        browser = Client()
        browser.force_login(stage.site.cast.bob)
        stopped = browser.post(
            f"/runs/{newest_run(stage).id}/cancel/",
            headers={"accept": "application/json"},
        )
        assert stopped.json() == {"is_stopped": True}
        assert is_freed(stage)
        assert "stopped by Bob" in client.answer()
    return events_of(newest_run(stage))


def test_client_that_leaves_frees_the_server_while_it_answers(stage: Stage):
    worker = stage.site.cast.team.workers.get(name="tiny")
    worker.max_output_tokens = ENDLESS_TOKENS
    worker.save()
    wanted = {
        "type": "json_schema",
        "json_schema": {"name": "text", "schema": ENDLESS},
    }
    fields = {"model": "worker/tiny", "response_format": wanted}
    for _ in range(TRIES):
        before = stage.vllm.finished()
        is_left = leaves_in_the_middle(stage, max_tokens=ENDLESS_TOKENS, **fields)
        # Now and then the server itself ends an endless answer; the site asks again.
        if is_left and stage.vllm.finished() == before:
            break
    else:
        pytest.fail("each answer ended before its client left")
    assert eventually(
        lambda: isinstance(events_of(newest_run(stage))[-1], ev.RunCancelled)
    )


def leaves_in_the_middle(stage: Stage, **fields: Any) -> bool:
    """Leave an answer, wait until the server is free, say if it was not yet whole.

    An answer in a form goes out when it is whole: nothing comes meanwhile.
    """
    with asking(stage, **fields) as client:
        assert eventually(lambda: client.is_answered() or is_planning(stage))
        is_left = client.leave()
    assert is_freed(stage)
    return is_left


def test_more_requests_than_seats_wait_and_are_all_answered(stage: Stage, hold_to):
    step = {"subtask": "Say something.", "worker": 0, "access": []}
    hold_to({"const": {"reasoning": "One is enough.", "steps": [step]}})
    questions = [f"Question {number}" for number in range(SEATS * 2)]
    with ThreadPoolExecutor(1) as clients:
        with occupied(stage.vllm, SEATS):
            asked = clients.submit(stage.ask, *questions)
            assert eventually(lambda: stage.vllm.load().waiting == len(questions))
        answers = asked.result(PATIENCE_S)
    assert {answer.status_code for answer in answers} == {200}
    for answer in answers:
        (accepted,) = only(stage.events(answer), ev.PlanAccepted)
        assert accepted.planner == "language_model"


@pytest.fixture
def short_queue(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the site starts: it reads the limit once.

    What it has read of the server holds until it reads again, however slowly it does.
    """
    settings.CONDUCTOR_MAX_QUEUE = 1
    monkeypatch.setattr(conductor_load, "READ_LIMITS", Timeouts(total_s=PATIENCE_S))
    monkeypatch.setattr(conductor_load, "FRESH_S", PATIENCE_S)
    monkeypatch.setattr(conductor_load, "IDLE_S", PATIENCE_S)


@pytest.fixture
def site(short_queue: None, site: Site) -> Site:
    return site


def test_long_queue_sheds_plans_to_the_fallback_and_says_so(stage: Stage, hold_to):
    step = {"subtask": "Say something.", "worker": 1, "access": []}
    hold_to({"const": {"reasoning": "One is enough.", "steps": [step]}})
    with occupied(stage.vllm, SEATS + 2):
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
