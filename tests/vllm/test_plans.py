"""Plans of a real vLLM, from the API through planner and engine to the ledger."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command

from apps.engine import events as ev
from apps.engine.errors import CallFault, PlanFault
from apps.engine.text import strip_thinking
from apps.llm.types import Timeouts
from apps.pools.services import conductor_look
from tests.vllm.conftest import Stage, body, only
from tests.vllm.server import ADAPTER

PLAN: dict[str, Any] = {
    "reasoning": "Two look, one writes.",
    "steps": [
        {"subtask": "Look here.", "worker": 0, "access": []},
        {"subtask": "Look there.", "worker": 2, "access": []},
        {"subtask": "Write it down.", "worker": 1, "access": [0, 1]},
    ],
}
TRIES = 3


def test_exact_plan_is_done_and_on_record(stage: Stage, hold_to):
    hold_to({"const": PLAN})
    (answer,) = stage.ask("What is there?")
    assert answer.status_code == 200, answer.text
    events = stage.events(answer)
    (accepted,) = only(events, ev.PlanAccepted)
    assert accepted.planner == "language_model"
    assert accepted.workers == ("sim-delta", "tiny", "sim-birch")
    assert accepted.access == ((), (), (0, 1))
    assert accepted.subtasks == tuple(step["subtask"] for step in PLAN["steps"])
    assert accepted.reasoning == PLAN["reasoning"]
    (replied,) = only(events, ev.PlanReplied)
    assert (replied.finish_reason, replied.model) == ("stop", "conductor")
    assert replied.usage.prompt_tokens > 500 and not replied.usage.is_estimated
    done = {event.step: event for event in only(events, ev.StepCompleted)}
    assert sorted(done) == [0, 1, 2]
    assert answer.json()["choices"][0]["message"]["content"] == done[2].text
    assert isinstance(events[-1], ev.RunCompleted)
    said = io.StringIO()
    call_command("audit_verify", stdout=said)
    assert "1 chain holds" in said.getvalue()


def _is_mended(events: list[ev.Event]) -> bool:
    return 0 < len(only(events, ev.PlanRejectedEvent)) < TRIES


def _faults(runs: list[list[ev.Event]]) -> set[str]:
    return {e.fault for events in runs for e in only(events, ev.PlanRejectedEvent)}


def test_sampled_plans_are_checked_and_asked_for_again(stage: Stage):
    runs: list[list[ev.Event]] = []
    for batch in range(5):  # plans are sampled without a seed: most often one does
        answers = stage.ask(*(f"Question {batch}-{number}?" for number in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        runs += [stage.events(answer) for answer in answers]
        if PlanFault.FORWARD_REFERENCE in _faults(runs) and any(map(_is_mended, runs)):
            break
    faults = _faults(runs)
    # What no schema can say is what the parser finds.
    assert PlanFault.FORWARD_REFERENCE in faults
    assert faults <= {
        PlanFault.FORWARD_REFERENCE,
        PlanFault.EMPTY_SUBTASK,
        PlanFault.TRUNCATED,
    }
    assert any(map(_is_mended, runs))
    for events in runs:
        rejected = len(only(events, ev.PlanRejectedEvent))
        (accepted,) = only(events, ev.PlanAccepted)
        assert rejected <= TRIES
        assert (accepted.planner == "fallback") == (rejected == TRIES)
        assert isinstance(events[-1], ev.RunCompleted)


def test_plan_that_is_cut_off_is_no_plan(stage: Stage):
    stage.set_conductor(max_output_tokens=16)
    (answer,) = stage.ask("What is there?")
    assert answer.status_code == 200
    events = stage.events(answer)
    assert {e.finish_reason for e in only(events, ev.PlanReplied)} == {"length"}
    rejected = [event.fault for event in only(events, ev.PlanRejectedEvent)]
    assert rejected == [PlanFault.TRUNCATED] * TRIES
    (accepted,) = only(events, ev.PlanAccepted)
    assert (accepted.planner, accepted.workers) == ("fallback", ("sim-delta",))


@pytest.mark.parametrize("worker", ["tiny", "sim-birch"])
def test_answer_is_streamed(stage: Stage, hold_to, worker: str):
    number = {"tiny": 2, "sim-birch": 1}[worker]
    step = {"subtask": "Say something.", "worker": number, "access": "all"}
    hold_to({"const": {"reasoning": "One is enough.", "steps": [step]}})
    (answer,) = stage.ask("What is there?", stream=True)
    *lines, last = (
        line.removeprefix("data: ")
        for line in answer.text.split("\n")  # a model may say other ends of lines
        if line.startswith("data: ")
    )
    assert last == "[DONE]"
    choices = [choice for line in lines for choice in json.loads(line)["choices"]]
    said = "".join(choice["delta"].get("content") or "" for choice in choices)
    (done,) = only(stage.events(answer), ev.StepCompleted)
    assert done.step == 0
    # The model says anything, white space before its first word included.
    assert said == strip_thinking(done.text) != ""


def test_prompts_of_one_pool_share_what_comes_first(stage: Stage, hold_to):
    step = {"subtask": "Say something.", "worker": 0, "access": []}
    hold_to({"const": {"reasoning": "One is enough.", "steps": [step]}})
    stage.ask("The first question")
    before = stage.vllm.load()
    (answer,) = stage.ask("Something else entirely, and longer than the first one was?")
    after = stage.vllm.load()
    assert None not in (before.prefix_hits, after.prefix_hits)
    (replied,) = only(stage.events(answer), ev.PlanReplied)
    hits = (after.prefix_hits or 0) - (before.prefix_hits or 0)
    assert hits > 0.8 * replied.usage.prompt_tokens


def test_asked_without_a_schema_it_says_anything_and_that_is_no_plan(stage: Stage):
    stage.set_conductor(mode="lists")
    (answer,) = stage.ask("What is there?")
    events = stage.events(answer)
    faults = {event.fault for event in only(events, ev.PlanRejectedEvent)}
    assert faults and faults <= {PlanFault.UNPARSEABLE, PlanFault.TRUNCATED}
    assert isinstance(events[-1], ev.RunCompleted)


def test_direct_call_of_a_worker_on_it_answers(stage: Stage):
    fields = body("Hi", model="worker/tiny")
    (answer,) = stage.ask("Hi", **{**fields, "temperature": 1})
    assert answer.status_code == 200, answer.text


def test_adapter_is_another_version_of_the_conductor(stage: Stage, hold_to):
    hold_to({"const": PLAN})
    stage.set_conductor(model=ADAPTER)
    (answer,) = stage.ask("What is there?")
    (replied,) = only(stage.events(answer), ev.PlanReplied)
    assert replied.model == ADAPTER
    asked = {"temperature": 0, "max_tokens": 16}
    said = {
        stage.vllm.chat(model=name, **asked)["message"]["content"]
        for name in ("conductor", ADAPTER)
    }
    assert len(said) == 2  # other weights, other words


def test_page_of_the_conductor_shows_its_server(stage: Stage, monkeypatch):
    team = stage.site.cast.team
    monkeypatch.setattr("apps.pools.services.server_status.LOOK_LIMITS", Timeouts())
    looked = async_to_sync(conductor_look)
    look = looked(team_id=team.id, conductor_id=stage.conductor.id)
    assert look.is_reachable and look.serves_model
    assert look.load is not None
    assert (look.load.running, look.load.waiting) == (0, 0)
    assert look.load.cache_use is not None
    assert look.load.prefix_queries is not None
    stage.set_conductor(model="another")
    look = looked(team_id=team.id, conductor_id=stage.conductor.id)
    assert look.is_reachable and look.serves_model is False


def test_server_asks_for_its_key(stage: Stage):
    stage.set_conductor(credential_id=None)
    (answer,) = stage.ask("What is there?")
    events = stage.events(answer)
    assert only(events, ev.PlanCallFailed)[0].fault == CallFault.UNAUTHORIZED
    assert only(events, ev.PlanAccepted)[0].planner == "fallback"
