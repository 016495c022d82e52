"""Plans that leave the rest to a worker: only if marked, allowed, and checked again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.codec import decode, encode
from apps.engine.conduct import conduct
from apps.engine.gate import ApprovalOutcome
from apps.engine.limits import Limits
from apps.engine.plan import Plan
from apps.engine.ports import CONDUCTOR, Call, Pool, Task
from apps.engine.testing import (
    MemoryRecorder,
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)
from apps.planners.worker_planning import WorkerPlanning
from tests.engine.test_approval import UNTIL, WaitingGate
from tests.engine.test_gate import POOL, ScriptedGate, called, decided, of

TASK = Task("What is it?")
STREAMED = replace(TASK, is_streamed=True)
LIMITS = Limits(max_rounds=2, max_delegations=1, max_replans=1)
HANDED = replace(make_plan(("a", ()), ("b", (0,))), plans_rest=True)
OWN = make_plan(("b", ()))
REST = 'model_id = [0, 2]\nsubtasks = ["Try", "Check it"]\naccess_list = [[], [0]]'
"""Models of the pool: a, b, c."""
ONE = 'model_id = [2]\nsubtasks = ["Say it"]\naccess_list = [[]]'
BAD = 'model_id = [9]\nsubtasks = ["Say it"]\naccess_list = [[]]'


def is_planning(call: Call) -> bool:
    return "You conduct a group" in str(call.messages[0]["content"])


def client(*plans: str) -> ScriptedClient:
    """Answer each request for a plan with the next of these, the last one repeated."""
    asked: list[Call] = []

    def answer(call: Call, number: int) -> str:
        if not is_planning(call):
            return f"{call.worker} answers"
        asked.append(call)
        return plans[min(len(asked), len(plans)) - 1]

    return ScriptedClient(answer)


def run(*texts: str, **given: Any) -> Any:
    history = given.pop("history", ())
    task, limits = given.pop("task", TASK), given.pop("limits", LIMITS)
    pool = given.pop("pool", POOL)
    fakes = {
        "planner": ScriptedPlanner(HANDED, OWN, None),
        "client": client(*texts),
        "rest_planner": WorkerPlanning(),
    }
    ports: Any = make_ports(**{**fakes, **given})
    end = run_virtual(conduct(task, pool, ports, limits, history=history))
    return end, ports


def accepted(ports: Any) -> list[tuple[str, str, bool]]:
    plans = of(ports, ev.PlanAccepted)
    return [(each.planner, each.planned_by, each.plans_rest) for each in plans]


def test_the_plan_of_a_worker_is_run_as_the_next_round():
    end, ports = run(REST)
    assert end.answer == "c answers"
    assert called(ports) == ["a", "b", "a", "c"]
    assert accepted(ports) == [("scripted", "", True), ("delegated", "b", False)]
    rest = of(ports, ev.PlanAccepted)[1]
    assert (rest.workers, rest.subtasks) == (("a", "c"), ("Try", "Check it"))
    assert len(ports.planner.requests) == 1


def test_the_worker_is_asked_in_the_conductors_words_with_what_it_may_read():
    _, ports = run(REST)
    asked = ports.client.calls[1]
    assert (asked.worker, asked.params.response_format) == ("b", None)
    rules, prompt = (str(message["content"]) for message in asked.messages)
    assert "from one to 4 steps" in rules  # both plans together: five, and who plans
    assert "A model was asked: subtask 0" in prompt
    assert "<response>\na answers\n</response>" in prompt
    assert "You plan what is left to do: subtask 1" in prompt
    assert "planner 2" not in rules


def test_off_as_it_is_a_plan_that_leaves_the_rest_is_refused():
    end, ports = run(REST, limits=replace(LIMITS, max_delegations=0))
    (refused,) = of(ports, ev.PlanRejectedEvent)
    assert refused.fault == "delegation"
    assert not any(request.may_delegate for request in ports.planner.requests)
    assert (set(called(ports)), end.answer) == ({"b"}, "b answers")


@pytest.mark.parametrize(
    "changed", [{"limits": replace(LIMITS, max_rounds=1)}, {"rest_planner": None}]
)
def test_it_takes_a_round_and_somebody_who_asks(changed):
    _, ports = run(REST, **changed)
    assert [each.fault for each in of(ports, ev.PlanRejectedEvent)] == ["delegation"]


def test_an_answer_that_looks_like_a_plan_is_an_answer():
    plain = ScriptedClient(lambda call, number: REST)
    end, ports = run(client=plain, planner=ScriptedPlanner(OWN, None))
    assert end.answer == REST
    assert called(ports) == ["b"]


def test_a_worker_cannot_hand_over_in_turn():
    text = 'model_id = ["planner 2"]\nsubtasks = ["Plan"]\naccess_list = [[]]'
    end, ports = run(text, REST)
    assert end.answer == "c answers"
    (failed,) = of(ports, ev.StepAttemptFailed)
    assert failed.fault == "invalid_output"


def test_the_planner_cannot_hand_over_twice():
    limits = replace(LIMITS, max_rounds=4)
    end, ports = run(ONE, planner=ScriptedPlanner(HANDED, HANDED), limits=limits)
    assert [request.may_delegate for request in ports.planner.requests][1:] == (
        [False] * (len(ports.planner.requests) - 1)
    )
    assert {each.fault for each in of(ports, ev.PlanRejectedEvent)} == {"delegation"}
    assert end.answer == "c answers"


def test_a_plan_with_a_fault_goes_back_to_its_worker_once():
    end, ports = run(BAD, ONE)
    assert (called(ports), end.answer) == (["a", "b", "b", "c"], "c answers")
    repair = ports.client.calls[2].messages[-1]["content"]
    assert "Write the complete plan again" in repair
    assert of(ports, ev.PlanRejectedEvent) == []


def test_without_a_plan_of_the_worker_the_planner_plans_again():
    end, ports = run("I would rather not.")
    (failed,) = of(ports, ev.StepFailed)
    assert (failed.step, failed.fault) == (1, "invalid_output")
    assert accepted(ports)[1:] == [("scripted", "", False)]
    assert end.answer == "b answers"


def test_a_plan_with_too_many_steps_in_all_is_refused():
    limits = replace(LIMITS, max_steps=2)
    _, ports = run(REST, ONE, limits=limits)
    (failed,) = of(ports, ev.StepAttemptFailed)
    assert "at most 1" in failed.message


def test_limits_of_the_run_bind_the_plan_of_a_worker():
    end, _ = run(REST, limits=replace(LIMITS, max_calls=3))
    assert end.code == "limit_calls"


def test_what_went_wrong_last_is_no_plan():
    failing = client(ONE)
    answer = failing.answer

    def only_plans(call: Call, number: int) -> Any:
        return answer(call, number) if is_planning(call) or call.worker == "a" else ""

    failing.answer = only_plans
    end, _ = run(client=failing, limits=replace(LIMITS, max_replans=0))
    assert (end.action, end.answer) == ("run.failed", "a answers")


def test_the_plan_never_goes_out_and_the_answer_does():
    end, ports = run(REST, task=STREAMED)
    assert ports.progress.answer == end.answer == "c answers"
    planned = [piece for piece in ports.progress.pieces if piece.step == 1]
    assert "".join(piece.text for piece in planned if piece.round == 0) == REST


def test_the_answer_and_the_plan_in_it_are_durable_together():
    _, ports = run(REST)
    actions = [event.action for event in ports.recorder.events]
    place = actions.index("plan.accepted", 2)
    assert actions[place - 1] == "step.completed"


# --- policies and people --------------------------------------------------------------


def test_policies_bind_the_plan_of_a_worker():
    def refuse(number: int, plan: Plan) -> ev.PolicyDecided | None:
        if number == 0:
            return None
        return decided("plan", round=1, refused_workers=("c",), reason="Not c.")

    planner = ScriptedPlanner(HANDED, OWN)
    _, ports = run(REST, gate=ScriptedGate(plan=refuse), planner=planner)
    (refused,) = of(ports, ev.PlanRejectedEvent)
    assert (refused.round, refused.fault) == (1, "policy_denied")
    assert "c" not in called(ports)
    assert accepted(ports)[1:] == [("scripted", "", False)]
    assert ports.planner.requests[-1].rejections[0].output == REST


def gone(*names: str) -> ScriptedGate:
    """Take workers out once the one that plans the rest is about to be called."""

    def refuse(number: int, index: int) -> ev.PolicyDecided | None:
        if index != 1:
            return None
        return decided("step", round=0, step=1, refused_workers=names, reason="Not so.")

    return ScriptedGate(step=refuse)


def test_the_numbers_of_a_plan_are_those_of_its_prompt():
    end, ports = run(ONE, gate=gone("a"))
    listed = str(ports.client.calls[1].messages[1]["content"])
    assert listed.count("\nModel ") == 3
    assert accepted(ports)[1:] == [("delegated", "b", False)]
    assert of(ports, ev.PlanAccepted)[1].workers == ("c",)
    assert end.answer == "c answers"


def test_a_worker_that_has_gone_meanwhile_is_refused_by_its_name():
    _, ports = run(ONE, gate=gone("c"), planner=ScriptedPlanner(HANDED, OWN))
    (refused,) = of(ports, ev.PlanRejectedEvent)
    assert refused.fault == "policy_denied"
    assert refused.reason == "step 0: worker 'c' may not be used: Not so."
    assert accepted(ports)[1:] == [("scripted", "", False)]
    assert "c" not in called(ports)


def held(number: int, plan: Plan) -> ev.PolicyDecided | None:
    if number == 0:
        return None
    return decided("plan", round=number, approvals_needed=1, approval_expires_at=UNTIL)


def test_people_approve_the_plan_of_a_worker_before_it_is_run():
    gate = WaitingGate(ApprovalOutcome("approved", ("Alice",)), plan=held)
    end, ports = run(REST, gate=gate)
    (request,) = of(ports, ev.ApprovalRequested)
    assert (request.planner, request.planned_by) == ("delegated", "b")
    assert request.subtasks == ("Try", "Check it")
    assert accepted(ports)[1] == ("delegated", "b", False)
    assert end.answer == "c answers"


def test_a_refusal_ends_the_run_before_a_step_of_it():
    outcome = ApprovalOutcome("refused", ("Alice",), reason="No.")
    end, ports = run(REST, gate=WaitingGate(outcome, plan=held))
    assert (end.code, called(ports)) == ("approval_refused", ["a", "b"])


def test_who_approves_a_plan_approves_that_it_leaves_the_rest():
    assert HANDED.digest != replace(HANDED, plans_rest=False).digest


# --- after a crash --------------------------------------------------------------------


def resumed(events: list[Any], **given: Any) -> Any:
    history = [decode(encode(event)) for event in events]
    return run(REST, history=history, **given)


def test_a_run_goes_on_from_wherever_it_stopped():
    whole, first = run(REST)
    events = first.recorder.events
    for place in range(1, len(events)):
        end, ports = resumed(events[:place])
        assert end.answer == whole.answer
        before = {(e.round, e.step) for e in events[:place] if is_completed(e)}
        again = {(e.round, e.step) for e in ports.recorder.events if is_completed(e)}
        assert not before & again
        plans = [e for e in events[:place] + ports.recorder.events if is_plan(e)]
        assert [each.planned_by for each in plans] == ["", "b"]


def place_of(events: list[Any], kind: type) -> int:
    return next(n for n, event in enumerate(events) if isinstance(event, kind))


def is_completed(event: Any) -> bool:
    return isinstance(event, ev.StepCompleted)


def is_plan(event: Any) -> bool:
    return isinstance(event, ev.PlanAccepted)


def test_between_the_answer_and_its_plan_nobody_is_asked_again():
    _, first = run(REST)
    events = first.recorder.events
    place = [n for n, event in enumerate(events) if is_completed(event)][1] + 1
    end, ports = resumed(events[:place])
    assert called(ports) == ["a", "c"]
    assert (ports.planner.requests, end.answer) == ([], "c answers")


def after_the_answer(pool: Pool) -> Any:
    """Resume a run between a worker's answer and its plan, with another pool."""
    _, first = run(ONE)
    events = first.recorder.events
    place = [n for n, event in enumerate(events) if is_completed(event)][1] + 1
    return resumed(events[:place], pool=pool, planner=ScriptedPlanner(HANDED, OWN))


def test_a_plan_that_is_read_again_keeps_its_numbers():
    fewer = replace(POOL, workers=POOL.workers[1:])
    end, ports = after_the_answer(fewer)
    assert of(ports, ev.PlanAccepted)[0].workers == ("c",)
    assert end.answer == "c answers"


def test_a_plan_that_is_read_again_with_a_worker_gone_is_refused():
    fewer = replace(POOL, workers=POOL.workers[:2], substitutes=())
    end, ports = after_the_answer(fewer)
    (refused,) = of(ports, ev.PlanRejectedEvent)
    assert refused.fault == "unknown_worker"
    assert "names worker 'c', which is not in the pool" in refused.reason
    assert (called(ports), end.answer) == (["b"], "b answers")


def test_a_plan_that_waits_for_people_waits_on():
    gate = WaitingGate(ApprovalOutcome("approved", ("Alice",)), plan=held)
    _, first = run(REST, gate=gate)
    events = first.recorder.events
    place = place_of(events, ev.ApprovalRequested)
    again = WaitingGate(ApprovalOutcome("approved", ("Alice",)), plan=held)
    end, ports = resumed(events[: place + 1], gate=again)
    assert again.waited_for[0].plan_digest == gate.waited_for[0].plan_digest
    assert (called(ports), end.answer) == (["a", "c"], "c answers")
    assert accepted(ports) == [("delegated", "b", False)]


def test_a_plan_that_was_refused_stays_refused():
    def refuse(number: int, plan: Plan) -> ev.PolicyDecided | None:
        if number == 0:
            return None
        return decided("plan", round=1, refused_workers=("c",), reason="Not c.")

    _, first = run(REST, gate=ScriptedGate(plan=refuse))
    events = first.recorder.events
    place = place_of(events, ev.PlanRejectedEvent)
    planner = ScriptedPlanner(HANDED, OWN)
    end, ports = resumed(events[: place + 1], planner=planner)
    assert planner.requests[0].rejections[0].output == REST
    assert (called(ports), end.answer) == (["b"], "b answers")


def test_the_conductor_is_called_for_none_of_it():
    _, ports = run(REST)
    assert CONDUCTOR not in called(ports)
    assert isinstance(ports.recorder, MemoryRecorder)
