"""Promises that hold for every plan, every timing, every fault and every crash."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import assume, given, settings
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
    ScriptedClient,
    ScriptedPlanner,
    make_ports,
    run_virtual,
    spoken,
)
from apps.engine.usage import Price, Usage

NAMES = "abcd"
PRICE = Price(1_000_000, 2_000_000)
POOL = Pool(
    tuple(
        PoolWorker(
            name,
            PRICE,
            max_output_tokens=50,
            accepts_prefill=name in "bc",
            hedge_after_s=1.0,
        )
        for name in NAMES
    ),
    "d",
    PRICE,
    substitutes=("c", "b"),
)
TASK = Task("the question")
many = settings(max_examples=150, deadline=None)
tasks = st.sampled_from([TASK, Task("the question", is_streamed=True)])
bounds = st.builds(Limits, is_hedged=st.booleans())
NAMED_BY_ENGINE = {CallFault.CANCELLED, CallFault.PREFILL_REFUSED}
call_faults = st.sampled_from([f for f in CallFault if f not in NAMED_BY_ENGINE])


@st.composite
def plans(draw, max_steps=5):
    steps = []
    for index in range(draw(st.integers(1, max_steps))):
        access = draw(st.sets(st.integers(0, index - 1))) if index else set()
        worker = draw(st.sampled_from(NAMES))
        steps.append(PlannedStep(f"do part {index}", worker, tuple(sorted(access))))
    return Plan(tuple(steps), "because")


def paced(delays):
    return lambda call, number: delays[
        (NAMES.find(call.worker) + 3 * number) % len(delays)
    ]


@st.composite
def worlds(draw):
    """Random delays and faults, a fixed function of worker and call number.

    A fault comes at once or in the middle of an answer.
    """
    delays = draw(st.lists(st.floats(0.001, 5), min_size=7, max_size=7))
    faults = draw(
        st.dictionaries(
            st.tuples(st.sampled_from(NAMES), st.integers(0, 3)),
            st.tuples(call_faults, st.booleans()),
            max_size=4,
        )
    )

    def answer(call, number):
        text = f"{call.worker} on {str(call.messages[0]['content'])[-20:]}"
        if (call.worker, number) not in faults:
            return text
        fault, is_late = faults[call.worker, number]
        failed = CallFailed(fault, "for a test")
        return spoken(text[:5], text[5:9], end=failed) if is_late else failed

    return lambda: ScriptedClient(answer, paced(delays))


def conducted(plan, client, limits=None, history=(), task=TASK, **ports):
    made: Any = make_ports(planner=ScriptedPlanner(plan), client=client, **ports)
    run = conduct(task, POOL, made, limits or Limits(), history=history)
    return run_virtual(run), made


def events_of(ports, *kinds):
    return [e for e in ports.recorder.events if isinstance(e, kinds)]


@many
@given(plans(), worlds(), tasks, bounds)
def test_order_respects_access_and_nothing_completes_twice(plan, world, task, limits):
    _, ports = conducted(plan, world(), limits, task=task)
    ended: set[tuple[int, int]] = set()
    completed = []
    for event in ports.recorder.events:
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
@given(plans(), worlds(), tasks, bounds)
def test_every_started_call_has_one_recorded_outcome(plan, world, task, limits):
    client = world()
    _, ports = conducted(plan, client, limits, task=task)
    started = events_of(ports, ev.StepStarted)
    ended = events_of(ports, ev.StepCompleted, ev.StepAttemptFailed)
    place = [(e.round, e.step, e.attempt) for e in started]
    assert sorted(place) == sorted((e.round, e.step, e.attempt) for e in ended)
    assert len(place) == len(set(place))
    never_left = len(place) - len(client.calls)
    closed = [e for e in ended if getattr(e, "fault", "") == CallFault.CANCELLED]
    assert 0 <= never_left <= len(closed)
    assert limits.is_hedged or not closed


@many
@given(plans(), worlds(), tasks, bounds)
def test_totals_are_the_sum_of_the_parts(plan, world, task, limits):
    end, ports = conducted(plan, world(), limits, task=task)
    parts = events_of(ports, ev.StepCompleted, ev.StepAttemptFailed)
    assert end.usage == sum((p.usage for p in parts), start=Usage())
    assert end.cost_micros == sum(p.cost_micros or 0 for p in parts)


@many
@given(plans(), worlds(), tasks, bounds)
def test_a_step_makes_no_more_calls_than_it_may(plan, world, task, limits):
    _, ports = conducted(plan, world(), limits, task=task)
    made = Counter((e.round, e.step) for e in events_of(ports, ev.StepStarted))
    for event in events_of(ports, ev.StepAttemptFailed):
        made[event.round, event.step] -= event.fault in (
            CallFault.CIRCUIT_OPEN,
            CallFault.PREFILL_REFUSED,
        )
    assert all(calls <= limits.max_attempts for calls in made.values())


@many
@given(plans(), worlds(), bounds)
def test_what_was_sent_is_the_answer_or_its_beginning_is_disowned(plan, world, limits):
    task = Task("the question", is_streamed=True)
    end, ports = conducted(plan, world(), limits, task=task)
    sent = ports.progress.answer
    if end.action == "run.completed":
        assert end.answer == sent
    elif sent:
        assert end.code == "stream_interrupted"


@many
@given(
    st.permutations(NAMES),
    st.fixed_dictionaries({n: st.none() | call_faults for n in NAMES}),
    st.booleans(),
    tasks,
    bounds,
)
def test_a_right_answer_if_one_of_three_candidates_is_healthy(
    names, health, is_late, task, limits
):
    """Health: the fault that a worker always has, None for a healthy one.

    A race may cost one of the attempts.
    """
    own = {CallFault.INVALID_OUTPUT, CallFault.DIVERGED}  # no provider says so
    answers = {CallFault.CONTENT_FILTERED}  # a refusal is an answer
    assume(not (own | answers) & {*health.values()})

    def answer(call, number):
        fault = health[call.worker]
        begun = str(call.messages[-1]["content"]) if call.is_continued else ""
        text = "the right answer"[len(begun) :]
        if fault is None:
            return text
        failed = CallFailed(fault, "for a test")
        is_called = is_late and fault is not CallFault.CIRCUIT_OPEN
        return spoken(text[:5], end=failed) if is_called else failed

    first, fallback, *others = names
    pool = replace(POOL, fallback=fallback, substitutes=tuple(others))
    ports: Any = make_ports(
        planner=ScriptedPlanner(Plan((PlannedStep("x", first),))),
        client=ScriptedClient(answer, lambda call, number: 3.0),
    )
    limits = replace(limits, max_replans=0)
    end: Any = run_virtual(conduct(task, pool, ports, limits))
    awake = [n for n in names if health[n] is not CallFault.CIRCUIT_OPEN]
    sure = limits.max_attempts - limits.is_hedged
    if None in [health[n] for n in awake[:sure]]:
        assert end.answer == "the right answer"
        assert task is TASK or ports.progress.answer == end.answer


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
        step_time_s=st.floats(0.5, 8),
        is_hedged=st.booleans(),
    ),
    tasks,
)
def test_limits_are_never_crossed(plan, world, limits, task):
    client, recorder = world(), MemoryRecorder(delay_s=0)
    end, _ = conducted(plan, client, limits, task=task, recorder=recorder)
    assert client.max_in_flight <= limits.max_in_flight
    assert len(client.calls) <= limits.max_calls
    assert end.usage.total_tokens <= (limits.max_tokens or 10**9)
    assert end.cost_micros <= (limits.max_cost_micros or 10**9)
    assert end.latency_ms <= round(limits.wall_time_s * 1000)


@many
@given(plans(), worlds(), st.floats(0.5, 6), tasks, st.booleans())
def test_a_step_ends_within_its_time(plan, world, step_time_s, task, is_hedged):
    times: dict[tuple[int, int], list[float]] = {}

    class Timed(MemoryRecorder):
        async def record(self, *events):
            for event in events:
                if isinstance(event, ev.StepStarted | ev.StepCompleted | ev.StepFailed):
                    now = asyncio.get_running_loop().time()
                    times.setdefault((event.round, event.step), []).append(now)
            await super().record(*events)

    limits = Limits(step_time_s=step_time_s, is_hedged=is_hedged)
    conducted(plan, world(), limits, task=task, recorder=Timed(delay_s=0))
    assert all(at[-1] - at[0] <= step_time_s + 0.001 for at in times.values())


@many
@given(plans(), worlds(), tasks, bounds, st.data())
def test_a_run_resumed_from_any_prefix_repeats_no_completed_step(
    plan, world, task, limits, data
):
    _, ports = conducted(plan, world(), limits, task=task)
    events = ports.recorder.events
    cut = data.draw(st.integers(0, len(events)))
    prefix = tuple(decode(encode(e)) for e in events[:cut])
    end, again = conducted(plan, world(), limits, prefix, task)
    done = {(e.round, e.step) for e in prefix if isinstance(e, ev.StepCompleted)}
    redone = {(e.round, e.step) for e in events_of(again, ev.StepStarted)}
    assert not done & redone
    assert end.action in {"run.completed", "run.failed"}


@many
@given(plans(), tasks, bounds, st.lists(st.floats(0.001, 5), min_size=7), st.data())
def test_a_run_resumed_from_any_prefix_ends_in_the_same_answer(
    plan, task, limits, delays, data
):
    def client():
        return ScriptedClient(
            lambda c, n: str(c.messages[0]["content"])[-30:], paced(delays)
        )

    end, ports = conducted(plan, client(), limits, task=task)
    events = ports.recorder.events
    cut = data.draw(st.integers(0, len(events) - 1))
    end_again, again = conducted(plan, client(), limits, tuple(events[:cut]), task)
    assert end_again.answer == end.answer
    unknown = [e.unknown_calls for e in events_of(again, ev.RunResumed)]
    assert len(events[:cut]) == 0 or len(unknown) == 1
    assert end_again.has_unknown_cost == bool(unknown and unknown[0])


def test_a_run_that_has_ended_is_not_run_again():
    plan = Plan((PlannedStep("x", "a"),))
    end, ports = conducted(plan, ScriptedClient())
    client = ScriptedClient()
    again, rest = conducted(plan, client, history=tuple(ports.recorder.events))
    assert (again, rest.recorder.events, client.calls) == (end, [], [])


async def stopped_and_resumed(plan, limits, after_s):
    recorder = MemoryRecorder()
    ports = make_ports(
        planner=ScriptedPlanner(plan), recorder=recorder, stop_reason=lambda: None
    )
    task = asyncio.create_task(conduct(TASK, POOL, ports, limits))
    await asyncio.sleep(after_s)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    fresh: Any = make_ports(planner=ScriptedPlanner(plan))
    end = await conduct(TASK, POOL, fresh, limits, history=tuple(recorder.events))
    return recorder.events, fresh.recorder.events, end


@many
@given(plans(), bounds, st.floats(0, 0.6))
def test_a_stopped_process_loses_no_completed_step(plan, limits, after_s):
    before, after, end = run_virtual(stopped_and_resumed(plan, limits, after_s))
    done = {e.step for e in before if isinstance(e, ev.StepCompleted)}
    assert not done & {e.step for e in after if isinstance(e, ev.StepStarted)}
    assert end.answer
