"""A plan that needs an approval waits: on record, off the clock, across restarts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.gate import ApprovalOutcome
from apps.engine.limits import Limits
from apps.engine.plan import Plan
from apps.engine.planning import MAX_APPROVAL_REQUESTS
from apps.engine.ports import PoolWorker
from apps.engine.testing import (
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)
from tests.engine.test_gate import (
    CHEAP,
    POOL,
    TASK,
    ScriptedGate,
    called,
    decided,
    of,
)

PLAN = make_plan(("a", ()), ("b", (0,)))
UNTIL = "2026-11-23T12:00:00+00:00"
APPROVED = ApprovalOutcome("approved", ("Alice",))


def needed(number: int = 0, plan: Plan = PLAN) -> ev.PolicyDecided:
    return decided("plan", round=0, approvals_needed=1, approval_expires_at=UNTIL)


class WaitingGate(ScriptedGate):
    """Lets people decide after a while."""

    def __init__(self, outcome: ApprovalOutcome, wait_s: float = 0.0, **decisions: Any):
        super().__init__(**{"plan": needed, **decisions})
        self._outcome, self._wait_s = outcome, wait_s
        self.waited_for: list[ev.ApprovalRequested] = []

    async def await_approval(self, request: ev.ApprovalRequested) -> ApprovalOutcome:
        self.waited_for.append(request)
        await asyncio.sleep(self._wait_s)
        return self._outcome


def run(gate: Any, *plans: Plan, limits: Limits | None = None, **given: Any) -> Any:
    ports: Any = make_ports(
        planner=ScriptedPlanner(*(plans or (PLAN,))),
        client=ScriptedClient(lambda call, number: f"answer of {call.worker}"),
        gate=gate,
    )
    end = run_virtual(conduct(TASK, POOL, ports, limits or Limits(), **given))
    return end, ports


def test_an_approved_plan_is_accepted_with_its_approval_in_one_commit():
    gate = WaitingGate(APPROVED)
    end, ports = run(gate)
    assert (end.answer, called(ports)) == ("answer of b", ["a", "b"])
    (request,), (settled,) = (
        of(ports, ev.ApprovalRequested),
        of(ports, ev.ApprovalSettled),
    )
    assert request == gate.waited_for[0]
    assert (request.plan_digest, request.workers) == (PLAN.digest, ("a", "b"))
    assert (settled.outcome, settled.approvers) == ("approved", ("Alice",))
    actions = [event.action for event in ports.recorder.events]
    place = actions.index("approval.settled")
    assert actions[place + 1] == "plan.accepted"


def test_the_wait_counts_neither_as_time_of_the_run_nor_as_overhead():
    end, _ = run(WaitingGate(APPROVED, wait_s=90_000), limits=Limits(wall_time_s=60))
    assert end.action == "run.completed"
    assert end.latency_ms < 1_000
    assert end.overhead_ms < 1_000


def test_the_clock_goes_on_after_the_wait():
    gate = WaitingGate(APPROVED, wait_s=90_000)
    ports: Any = make_ports(
        planner=ScriptedPlanner(PLAN),
        client=ScriptedClient(delay_s=lambda call, number: 40.0),
        gate=gate,
    )
    end = run_virtual(conduct(TASK, POOL, ports, Limits(wall_time_s=60)))
    assert isinstance(end, ev.RunFailed)
    assert end.code == "limit_wall_time"


@pytest.mark.parametrize(
    ("outcome", "code", "words"),
    [
        (
            ApprovalOutcome("refused", ("Alice",), reason="Not with these data."),
            "approval_refused",
            "refused by Alice: Not with these data.",
        ),
        (ApprovalOutcome("expired"), "approval_expired", "nobody approved"),
    ],
)
def test_without_an_approval_no_worker_is_called(outcome, code, words):
    end, ports = run(WaitingGate(outcome))
    assert (end.code, called(ports)) == (code, [])
    assert words in end.message
    assert not of(ports, ev.PlanAccepted)


def test_an_edited_plan_is_the_one_that_runs():
    edited = make_plan(("c", ()))
    end, ports = run(WaitingGate(replace(APPROVED, plan=edited)))
    (accepted,), (settled,) = of(ports, ev.PlanAccepted), of(ports, ev.ApprovalSettled)
    assert (accepted.planner, accepted.workers) == ("approver", ("c",))
    assert (settled.is_edited, settled.plan_digest) == (True, edited.digest)
    assert (end.answer, called(ports)) == ("answer of c", ["c"])


def test_an_edited_plan_keeps_all_other_rules():
    """A worker that the policy refuses is refused to approvers too."""
    edited = make_plan(("a", ()))
    outcomes = iter([replace(APPROVED, plan=edited), APPROVED])

    class Twice(WaitingGate):
        async def await_approval(self, request):
            self._outcome = next(outcomes)
            return await super().await_approval(request)

    def refuse_a(number, plan):
        return replace(needed(), refused_workers=("a",))

    end, ports = run(Twice(APPROVED, plan=refuse_a), make_plan(("c", ())))
    (rejected,) = of(ports, ev.PlanRejectedEvent)
    assert rejected.fault in ("policy_denied", "unknown_worker")
    assert (end.answer, called(ports)) == ("answer of c", ["c"])


BROKEN = replace(APPROVED, plan=make_plan(("z", ())))
"""Approved, but with a worker that is not in the pool."""
DIRECT_ONLY = Limits(max_plan_attempts=0)
"""The conductor makes no plan, so the fallback worker's is what people see."""


def test_people_are_asked_about_fallback_plans_a_few_times_only():
    gate = WaitingGate(BROKEN)
    end, ports = run(gate, limits=DIRECT_ONLY)
    assert len(gate.waited_for) == MAX_APPROVAL_REQUESTS
    assert (end.code, called(ports)) == ("policy_denied", [])
    assert "people were asked about" in end.message
    rejected = of(ports, ev.PlanRejectedEvent)
    assert len(rejected) == MAX_APPROVAL_REQUESTS
    assert {each.fault for each in rejected} == {"unknown_worker"}


def test_a_fallback_plan_that_people_mend_in_time_runs():
    class Mended(WaitingGate):
        async def await_approval(self, request):
            await super().await_approval(request)
            is_last = len(self.waited_for) == MAX_APPROVAL_REQUESTS
            return APPROVED if is_last else BROKEN

    end, ports = run(Mended(APPROVED), limits=DIRECT_ONLY)
    assert (end.answer, called(ports)) == ("answer of b", ["b"])


def test_a_restart_does_not_begin_to_count_anew():
    gate = WaitingGate(BROKEN)
    _, ports = run(gate, limits=DIRECT_ONLY)
    events = ports.recorder.events
    waits = [n for n, event in enumerate(events) if event == gate.waited_for[-1]]
    again = WaitingGate(BROKEN)
    end, _ = run(again, limits=DIRECT_ONLY, history=events[: waits[-1] + 1])
    assert (end.code, len(again.waited_for)) == ("policy_denied", 1)


def test_refused_workers_do_not_count_as_plans_that_people_saw():
    names = "abcdefgh"
    pool = replace(POOL, workers=tuple(PoolWorker(n, CHEAP) for n in names))

    def refuse_all_but_h(number, plan):
        worker = plan.steps[0].worker
        return decided("plan", () if worker == "h" else (worker,), round=0)

    gate = ScriptedGate(plan=refuse_all_but_h)
    ports: Any = make_ports(
        planner=ScriptedPlanner(), client=ScriptedClient(lambda c, n: "42"), gate=gate
    )
    end = run_virtual(conduct(TASK, pool, ports, DIRECT_ONLY))
    assert isinstance(end, ev.RunCompleted)
    assert (end.answer, called(ports)) == ("42", ["h"])


def test_after_a_restart_the_same_plan_waits_and_the_conductor_is_not_asked_again():
    waiting = WaitingGate(APPROVED, wait_s=1e9)

    async def interrupted(ports: Any) -> None:
        task = asyncio.create_task(conduct(TASK, POOL, ports, Limits()))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    ports: Any = make_ports(
        planner=ScriptedPlanner(PLAN), gate=waiting, stop_reason=lambda: None
    )
    run_virtual(interrupted(ports))
    history = list(ports.recorder.events)
    assert history[-1].action == "approval.requested"

    gate = WaitingGate(APPROVED)
    end, resumed = run(gate, make_plan(("c", ())), history=history)
    assert resumed.planner.requests == []
    assert gate.waited_for == [history[-1]]
    assert (end.answer, called(resumed)) == ("answer of b", ["a", "b"])


def test_a_settled_approval_is_not_waited_for_again():
    _, ports = run(WaitingGate(APPROVED))
    events = ports.recorder.events
    place = [event.action for event in events].index("plan.accepted")
    gate = WaitingGate(APPROVED)
    end, _ = run(gate, history=events[: place + 1])
    assert gate.waited_for == []
    assert end.answer == "answer of b"


def test_a_new_plan_needs_a_new_approval():
    """The approval of one plan says nothing about the next one."""

    class Changing(WaitingGate):
        async def await_approval(self, request):
            await super().await_approval(request)
            is_first = len(self.waited_for) == 1
            return (
                replace(APPROVED, plan=make_plan(("z", ()))) if is_first else APPROVED
            )

    gate = Changing(APPROVED)
    end, _ = run(gate, PLAN, make_plan(("c", ())))
    assert [request.workers for request in gate.waited_for] == [("a", "b"), ("c",)]
    assert end.answer == "answer of c"


def test_the_digest_is_of_the_steps_alone():
    assert PLAN.digest == replace(PLAN, reasoning="because").digest
    for other in (
        make_plan(("b", ()), ("b", (0,))),
        make_plan(("a", ()), ("b", ())),
        make_plan(("a", ())),
    ):
        assert other.digest != PLAN.digest
