"""A step ends within its time: retries, waits, rivals and substitutes included."""

from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.meter import Meter
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import Pool, PoolWorker, Task
from apps.engine.replay import replay
from apps.engine.testing import (
    MemoryRecorder,
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
    spoken,
)

POOL = Pool(
    tuple(PoolWorker(n, hedge_after_s=4.0) for n in "abc"), "b", substitutes=("c",)
)
DIRECT = Plan((PlannedStep("q", "a"),))


def bounded(answer, delay_s=100.0, *, plan=DIRECT, task=None, **limits):
    client = ScriptedClient(answer, lambda call, number: delay_s)
    ports: Any = make_ports(
        planner=ScriptedPlanner(plan),
        client=client,
        recorder=MemoryRecorder(delay_s=0),
    )
    limits = {"step_time_s": 10.0, "max_replans": 0, **limits}
    end: Any = run_virtual(conduct(task or Task("q"), POOL, ports, Limits(**limits)))
    return end, ports


def of(ports, kind):
    return [e for e in ports.recorder.events if isinstance(e, kind)]


def test_a_step_that_takes_too_long_fails_and_its_call_is_closed():
    end, ports = bounded("too late".format)
    assert (end.code, end.latency_ms) == ("worker_failed", 10_000)
    assert "10 s" in end.message
    assert ports.client.closed == 1
    assert [e.fault for e in of(ports, ev.StepAttemptFailed)] == ["cancelled"]
    assert [e.fault for e in of(ports, ev.StepFailed)] == ["total_timeout"]


def test_a_timeout_of_somebody_else_is_no_deadline():
    recorder = MemoryRecorder(fails_at=0, error=TimeoutError("the database"))
    ports: Any = make_ports(planner=ScriptedPlanner(DIRECT), recorder=recorder)
    with pytest.raises(TimeoutError, match="the database"):
        run_virtual(conduct(Task("q"), POOL, ports, Limits()))


def test_waits_and_other_workers_count():
    tired = CallFailed(CallFault.RATE_LIMITED, "later", retry_after_s=7.0)

    def answer(call, number):
        return tired if number == 0 else "in time, if there was any"

    end, ports = bounded(answer, 1.0, max_attempts=6)
    assert end.latency_ms == 8500  # half a second, the wait, the second answer
    end, ports = bounded(lambda call, number: tired, 1.0, max_attempts=6)
    assert (end.latency_ms, len(ports.client.calls)) == (10_000, 2)
    assert of(ports, ev.StepFailed)[0].fault == "total_timeout"


def test_both_calls_of_a_race_are_closed():
    end, ports = bounded("too late".format, is_hedged=True)
    assert (end.latency_ms, ports.client.closed) == (10_000, 2)
    assert replay(ports.recorder.events, Meter(Limits())).unknown_calls == 0


def test_the_time_begins_with_the_first_call_and_not_with_the_wait_for_a_turn():
    plan = make_plan(("a", ()), ("b", ()), ("c", (0, 1)))
    end, _ = bounded(lambda c, n: "fine", 8.0, plan=plan, max_parallel=1)
    assert (end.action, end.latency_ms) == ("run.completed", 24_000)


def test_a_step_out_of_time_is_planned_anew():
    client = ScriptedClient(
        lambda c, n: "fine", lambda c, n: 0.5 if c.worker == "c" else 100.0
    )
    ports: Any = make_ports(
        planner=ScriptedPlanner(make_plan(("a", ())), make_plan(("c", ()))),
        client=client,
    )
    limits = Limits(step_time_s=10.0)
    end: Any = run_virtual(conduct(Task("q"), POOL, ports, limits))
    assert (end.answer, len(of(ports, ev.PlanAccepted))) == ("fine", 2)


def test_a_live_answer_out_of_time_ends_with_an_error():
    task = Task("q", is_streamed=True)
    end, ports = bounded(lambda c, n: spoken("One", " two"), 15.0, task=task)
    assert (end.code, ports.progress.answer) == ("stream_interrupted", "One")


@pytest.mark.parametrize("step_time_s", [2.0, 4.0, 4.0001, 4.5, 5.0, 5.0001, 6.0])
def test_whenever_the_time_ends_in_a_race_the_record_is_sound(step_time_s):
    end, ports = bounded(
        lambda c, n: f"{c.worker} answers",
        2.0,
        is_hedged=True,
        step_time_s=step_time_s,
        task=Task("q", is_streamed=True),
    )
    events = ports.recorder.events
    assert replay(events, Meter(Limits())).unknown_calls == 0
    assert len(of(ports, ev.StepFailed)) + len(of(ports, ev.StepCompleted)) == 1
    assert end.latency_ms <= step_time_s * 1000 + 1
