"""The vector of the prompt, which a planner may have made before its plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.events import PolicyDecided
from apps.engine.gate import OpenGate
from apps.engine.limits import Limits
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import Call, CallEnd, Delta, Pool, PoolWorker, Task
from apps.engine.testing import (
    ScriptedAnswer,
    ScriptedClient,
    make_ports,
    run_virtual,
)
from apps.engine.usage import Price, Usage
from apps.engine.vectors.prompt_vectors import PromptVector, embedded_text

VECTOR = b"\0\0\x80?" * 2
POOL = Pool(
    (PoolWorker("a", Price(1, 1)),),
    "a",
    embedder=PoolWorker("e", Price(1_000_000, 0)),
)


@dataclass
class VectorPlanner:
    """Has the vector made, twice, and plans one step."""

    name: str = "vector"
    found: list[PromptVector] = field(default_factory=list)

    async def plan(self, request, ask) -> Plan:
        self.found += [await request.vector(), await request.vector()]
        return Plan((PlannedStep(request.task.prompt, "a"),))


def answer(call: Call, number: int) -> Any:
    if call.worker != "e":
        return "done"
    end = CallEnd(usage=Usage(7), vectors=(VECTOR,))
    return ScriptedAnswer((Delta("1 embedding"),), end)


def planned(pool=POOL, *, answer=answer, prompt="What is 2 + 2?", limits=None, **given):
    """Return what the planner got, the end of the run and what was recorded."""
    planner, client = VectorPlanner(), ScriptedClient(answer)
    client.delay_s = given.pop("delay_s", client.delay_s)
    ports: Any = make_ports(planner=planner, client=client, **given)
    end = run_virtual(conduct(Task(prompt), pool, ports, limits or Limits()))
    return planner.found, end, ports.recorder.events, client


def test_the_vector_is_made_once_on_record_and_counted():
    found, end, events, client = planned()
    assert found == [PromptVector(VECTOR)] * 2
    assert [call.worker for call in client.calls] == ["e", "a"]
    assert client.calls[0].messages == ({"role": "user", "content": "What is 2 + 2?"},)
    requested, replied = events[:2]
    assert isinstance(requested, ev.PlanRequested) and requested.embedder == "e"
    assert isinstance(replied, ev.PlanReplied)
    assert (replied.usage.prompt_tokens, replied.cost_micros) == (7, 7)
    assert end.cost_micros >= 7


@pytest.mark.parametrize("fault", [CallFault.SERVER_ERROR, CallFault.UNAUTHORIZED])
def test_a_failure_costs_no_run_its_plan(fault):
    def failing(call: Call, number: int) -> Any:
        return CallFailed(fault, "broken") if call.worker == "e" else "done"

    found, end, events, client = planned(answer=failing)
    assert found == [PromptVector(missing=f"'e' failed ({fault})")] * 2
    assert end.answer == "done"
    (accepted,) = [e for e in events if isinstance(e, ev.PlanAccepted)]
    assert accepted.planner == "vector"
    (failed,) = [e for e in events if isinstance(e, ev.PlanCallFailed)]
    assert failed.fault == fault
    assert sum(call.worker == "e" for call in client.calls) == 1


def test_a_plan_waits_two_seconds_for_it():
    def delay_s(call: Call, number: int) -> float:
        return 600.0 if call.worker == "e" else 0.1

    found, end, events, client = planned(delay_s=delay_s)
    assert found[0].missing == "'e' failed (total_timeout)"
    assert 2_000 <= end.latency_ms < 3_000
    assert client.closed == 1
    (failed,) = [e for e in events if isinstance(e, ev.PlanCallFailed)]
    assert failed.message == "no vector within 2 s"


def test_a_cancelled_run_does_not_go_on_without_it():
    def delay_s(call: Call, number: int) -> float:
        return 600.0

    found, end, _, _ = planned(delay_s=delay_s, limits=Limits(wall_time_s=1.0))
    assert found == []
    assert end.code == "limit_wall_time"


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(max_calls=1), "the run has no call to spare"),
        (Limits(max_cost_micros=10**9), "a cost limit is set"),
    ],
)
def test_a_limit_that_forbids_it_is_no_end_of_the_run(limits, why):
    pool = replace(POOL, embedder=PoolWorker("e"))  # without a price
    found, end, _, client = planned(pool, limits=limits)
    assert found[0].missing.startswith(why)
    assert end.answer == "done"
    assert [call.worker for call in client.calls] == ["a"]


class Forbids(OpenGate):
    """Refuses the embedding worker before anything leaves."""

    async def check_run(self) -> PolicyDecided:
        rules = ("team: EU only",)
        return PolicyDecided(
            "run", None, None, "restricted", {"team": 1}, rules, (), ("e",), {}, "EU"
        )


def test_a_worker_that_the_policy_forbids_is_not_called():
    found, end, _, client = planned(gate=Forbids())
    assert found[0].missing == "'e' may not be used: EU"
    assert end.answer == "done"
    assert [call.worker for call in client.calls] == ["a"]


def test_without_a_worker_there_is_no_vector():
    found, _, _, _ = planned(replace(POOL, embedder=None))
    assert found[0].missing == "no worker that this run may use makes such vectors"


def test_a_worker_that_makes_none_is_done_without():
    found, end, _, _ = planned(answer=lambda call, number: "text")
    assert found[0].missing == "'e' made no vector"
    assert end.answer == "text"


def test_a_run_that_goes_on_counts_the_call_that_was_lost():
    planner = VectorPlanner()
    ports: Any = make_ports(planner=planner, client=ScriptedClient(answer))
    history: list[ev.Event] = [
        ev.RunCreated("q", "ultra", "p", 1, "vector", False, {}),
        ev.PlanRequested(0, 1, "[]", "e"),
        ev.PlanCallFailed(0, 1, "connect", "", Usage(), None, 1),
        ev.PlanRequested(0, 2, "[]", "e"),
    ]
    end = run_virtual(conduct(Task("q"), POOL, ports, Limits(), history=history))
    assert end.has_unknown_cost
    assert planner.found[0].values == VECTOR
    requested = [e for e in ports.recorder.events if isinstance(e, ev.PlanRequested)]
    assert [each.attempt for each in requested] == [3]


def test_failures_of_vectors_leave_the_conductor_all_of_its_attempts():
    """Three failed plans are the limit; three failed vectors are none of them."""
    ports: Any = make_ports(planner=VectorPlanner(), client=ScriptedClient(answer))
    history: list[ev.Event] = [ev.RunCreated("q", "ultra", "p", 1, "vector", False, {})]
    for attempt in (1, 2, 3):
        history += [
            ev.PlanRequested(0, attempt, "[]", "e"),
            ev.PlanCallFailed(0, attempt, "connect", "", Usage(), None, 1),
        ]
    run_virtual(conduct(Task("q"), POOL, ports, Limits(), history=history))
    (accepted,) = [e for e in ports.recorder.events if isinstance(e, ev.PlanAccepted)]
    assert accepted.planner == "vector"


@pytest.mark.parametrize(
    ("prompt", "context", "sent"),
    [
        ("short", None, "short"),
        ("short", 512, "short"),
        ("a" * 3_000 + "b" * 3_000, None, "a" * 2_000 + " " + "b" * 2_000),
        ("a" * 3_000 + "b" * 3_000, 108, "a" * 150 + " " + "b" * 150),
        ("語" * 900, 108, "語" * 50 + " " + "語" * 50),
    ],
)
def test_of_a_long_prompt_its_beginning_and_end_are_sent(prompt, context, sent):
    assert embedded_text(prompt, context) == sent
