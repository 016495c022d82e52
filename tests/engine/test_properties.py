"""Promises that hold for every plan, every timing, every fault and every crash."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.engine import events as ev
from apps.engine.codec import decode, encode
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import Pool, PoolWorker, Task
from apps.engine.testing import (
    MemoryRecorder,
    ScriptedCaller,
    ScriptedPlanner,
    make_ports,
    run_virtual,
)
from apps.engine.usage import Price, Usage

NAMES = "abcd"
PRICE = Price(1_000_000, 2_000_000)
POOL = Pool(
    tuple(PoolWorker(n, PRICE, max_output_tokens=50) for n in NAMES), "d", PRICE
)
TASK = Task("the question")
many = settings(max_examples=150, deadline=None)


@st.composite
def plans(draw, max_steps=5):
    steps = []
    for index in range(draw(st.integers(1, max_steps))):
        access = draw(st.sets(st.integers(0, index - 1))) if index else set()
        worker = draw(st.sampled_from(NAMES))
        steps.append(PlannedStep(f"do part {index}", worker, tuple(sorted(access))))
    return Plan(tuple(steps), "because")


@st.composite
def worlds(draw):
    """Random delays and faults, a fixed function of worker and call number."""
    delays = draw(st.lists(st.floats(0.001, 5), min_size=7, max_size=7))
    faults = draw(
        st.dictionaries(
            st.tuples(st.sampled_from(NAMES), st.integers(0, 3)),
            st.sampled_from([f for f in CallFault if f is not CallFault.CANCELLED]),
            max_size=4,
        )
    )

    def answer(call, number):
        fault = faults.get((call.worker, number))
        if fault is not None:
            return CallFailed(fault, "for a test")
        return f"{call.worker} on {call.messages[0]['content'][-20:]}"

    def delay_s(call, number):
        return delays[(NAMES.find(call.worker) + 3 * number) % len(delays)]

    return lambda: ScriptedCaller(answer, delay_s)


def conducted(plan, caller, limits=None, history=(), **ports):
    made: Any = make_ports(planner=ScriptedPlanner(plan), caller=caller, **ports)
    run = conduct(TASK, POOL, made, limits or Limits(), history=history)
    return run_virtual(run), made.recorder.events


@many
@given(plans(), worlds())
def test_order_respects_access_and_nothing_completes_twice(plan, world):
    _, events = conducted(plan, world())
    ended: set[tuple[int, int]] = set()
    completed = []
    for event in events:
        if isinstance(event, ev.StepStarted):
            access = plan.steps[event.step].access
            assert {(event.round, i) for i in access} <= ended
            assert (event.round, event.step) not in ended
        if isinstance(event, ev.StepCompleted | ev.StepFailed | ev.StepSkipped):
            ended.add((event.round, event.step))
        if isinstance(event, ev.StepCompleted):
            completed.append((event.round, event.step))
    assert len(completed) == len(set(completed))


@many
@given(plans(), worlds())
def test_every_started_call_has_one_recorded_outcome(plan, world):
    caller = world()
    _, events = conducted(plan, caller)
    started = [e for e in events if isinstance(e, ev.StepStarted)]
    ended = [
        e for e in events if isinstance(e, ev.StepCompleted | ev.StepAttemptFailed)
    ]
    place = [(e.round, e.step, e.attempt) for e in started]
    assert sorted(place) == sorted((e.round, e.step, e.attempt) for e in ended)
    assert len(place) == len(set(place)) == len(caller.calls)


@many
@given(plans(), worlds())
def test_totals_are_the_sum_of_the_parts(plan, world):
    end, events = conducted(plan, world())
    parts = [
        e for e in events if isinstance(e, ev.StepCompleted | ev.StepAttemptFailed)
    ]
    assert end.usage == sum((p.usage for p in parts), start=Usage())
    assert end.cost_micros == sum(p.cost_micros or 0 for p in parts)


@many
@given(
    plans(),
    worlds(),
    st.builds(
        Limits,
        max_parallel=st.integers(1, 3),
        max_calls=st.integers(1, 6),
        max_attempts=st.integers(1, 4),
        max_tokens=st.none() | st.integers(1, 600),
        max_cost_micros=st.none() | st.integers(1, 1000),
        wall_time_s=st.floats(0.5, 8),
        max_replans=st.integers(0, 1),
        retry_base_s=st.just(0.1),
    ),
)
def test_limits_are_never_crossed(plan, world, limits):
    caller = world()
    end, _ = conducted(plan, caller, limits, recorder=MemoryRecorder(delay_s=0))
    assert caller.max_in_flight <= limits.max_parallel
    assert len(caller.calls) <= limits.max_calls
    assert end.usage.total_tokens <= (limits.max_tokens or 10**9)
    assert end.cost_micros <= (limits.max_cost_micros or 10**9)
    assert end.latency_ms <= round(limits.wall_time_s * 1000)


@many
@given(plans(), worlds(), st.data())
def test_a_run_resumed_from_any_prefix_repeats_no_completed_step(plan, world, data):
    _, events = conducted(plan, world())
    cut = data.draw(st.integers(0, len(events)))
    prefix = tuple(decode(encode(e)) for e in events[:cut])
    end, rest = conducted(plan, world(), history=prefix)
    done = {(e.round, e.step) for e in prefix if isinstance(e, ev.StepCompleted)}
    redone = {(e.round, e.step) for e in rest if isinstance(e, ev.StepStarted)}
    assert not done & redone
    assert end.action in {"run.completed", "run.failed"}


@many
@given(plans(), st.data())
def test_a_run_resumed_from_any_prefix_ends_in_the_same_answer(plan, data):
    caller = ScriptedCaller(lambda c, n: str(c.messages[0]["content"])[-30:])
    end, events = conducted(plan, caller)
    cut = data.draw(st.integers(0, len(events) - 1))
    again = ScriptedCaller(lambda c, n: str(c.messages[0]["content"])[-30:])
    end_again, rest = conducted(plan, again, history=tuple(events[:cut]))
    assert end_again.answer == end.answer
    unknown = [e.unknown_calls for e in rest if isinstance(e, ev.RunResumed)]
    assert len(events[:cut]) == 0 or len(unknown) == 1
    assert end_again.has_unknown_cost == bool(unknown and unknown[0])


def test_a_run_that_has_ended_is_not_run_again():
    plan = Plan((PlannedStep("x", "a"),))
    end, events = conducted(plan, ScriptedCaller())
    caller = ScriptedCaller()
    again, rest = conducted(plan, caller, history=tuple(events))
    assert (again, rest, caller.calls) == (end, [], [])


async def stopped_and_resumed(plan, after_s):
    recorder = MemoryRecorder()
    ports = make_ports(
        planner=ScriptedPlanner(plan), recorder=recorder, stop_reason=lambda: None
    )
    task = asyncio.create_task(conduct(TASK, POOL, ports, Limits()))
    await asyncio.sleep(after_s)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    fresh: Any = make_ports(planner=ScriptedPlanner(plan))
    end = await conduct(TASK, POOL, fresh, Limits(), history=tuple(recorder.events))
    return recorder.events, fresh.recorder.events, end


@many
@given(plans(), st.floats(0, 0.6))
def test_a_stopped_process_loses_no_completed_step(plan, after_s):
    before, after, end = run_virtual(stopped_and_resumed(plan, after_s))
    done = {e.step for e in before if isinstance(e, ev.StepCompleted)}
    assert not done & {e.step for e in after if isinstance(e, ev.StepStarted)}
    assert end.answer
