"""Asking for a plan until one can be used, or doing without."""

from typing import Any

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.ports import Pool, PoolWorker, Task
from apps.engine.testing import (
    ScriptedCaller,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)

POOL = Pool((PoolWorker("a"), PoolWorker("d")), "d")
ONE = make_plan(("a", ()))


def run(planner, *, fault=None, times=0, limits=None):
    """Conduct a run whose conductor fails the first `times` calls."""

    def answer(call, number):
        if call.worker == "" and number < times:
            return CallFailed(fault, "for a test")
        return f"answer of {call.worker}"

    ports: Any = make_ports(planner=planner, caller=ScriptedCaller(answer))
    end = run_virtual(conduct(Task("q"), POOL, ports, limits or Limits()))
    accepted = [e for e in ports.recorder.events if isinstance(e, ev.PlanAccepted)]
    return end, [e.planner for e in accepted], ports


def test_a_conductor_that_stumbles_is_asked_again_after_a_while():
    planner = ScriptedPlanner(ONE, asks=True)
    end, planners, _ = run(planner, fault=CallFault.SERVER_ERROR, times=2)
    assert planners == ["scripted"] and end.answer == "answer of a"
    assert end.overhead_ms > 0


def test_a_conductor_that_refuses_is_not_asked_again():
    planner = ScriptedPlanner(ONE, asks=True)
    end, planners, _ = run(planner, fault=CallFault.UNAUTHORIZED, times=1)
    assert planners == ["fallback"] and end.answer == "answer of d"
    assert len(planner.requests) == 1


def test_a_conductor_that_stays_broken_is_done_without():
    planner = ScriptedPlanner(ONE, asks=True)
    end, planners, _ = run(planner, fault=CallFault.CONNECT, times=99)
    assert planners == ["fallback"] and end.answer == "answer of d"
    assert len(planner.requests) == Limits().max_plan_attempts


def test_there_is_no_answer_to_keep_in_the_first_round():
    end, planners, ports = run(ScriptedPlanner(None))
    faults = [
        e.fault for e in ports.recorder.events if isinstance(e, ev.PlanRejectedEvent)
    ]
    assert faults == ["empty_plan"] * 3
    assert planners == ["fallback"] and end.action == "run.completed"
