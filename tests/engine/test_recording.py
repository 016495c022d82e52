"""What is recorded when the ledger fails, when a run is stopped, and how soon."""

import asyncio
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.journal import Journal
from apps.engine.limits import Limits
from apps.engine.meter import Meter
from apps.engine.ports import Pool, PoolWorker, Task
from apps.engine.replay import replay
from apps.engine.testing import (
    MemoryProgress,
    MemoryRecorder,
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)
from apps.engine.usage import Price

PRICE = Price(1_000_000, 2_000_000)
POOL = Pool(tuple(PoolWorker(n, PRICE, max_output_tokens=100) for n in "abcd"), "d")
WIDE = make_plan(("a", ()), ("b", ()), ("c", ()), ("d", (0, 1, 2)))


class Refusing(MemoryRecorder):
    """Refuses the commit that holds a given event, once."""

    def __init__(self, refused, **values):
        super().__init__(**values)
        self.refused = refused

    async def record(self, *events):
        if self.refused and any(isinstance(e, self.refused) for e in events):
            self.refused = None
            await asyncio.sleep(0.001)
            raise OSError("the ledger is overloaded")
        await super().record(*events)


def paced(**seconds):
    return ScriptedClient(delay_s=lambda call, number: seconds.get(call.worker, 0.1))


def test_a_completion_that_could_not_be_recorded_ends_the_run():
    ports: Any = make_ports(
        planner=ScriptedPlanner(WIDE),
        recorder=Refusing(ev.StepCompleted),
        client=paced(a=0.1, b=0.5, c=2.0),
    )
    with pytest.raises(OSError, match="overloaded"):
        run_virtual(conduct(Task("q"), POOL, ports, Limits()))
    assert not any(isinstance(e, ev.RunCompleted) for e in ports.recorder.events)


async def stopped(ports, limits, after_s):
    run = asyncio.create_task(conduct(Task("q"), POOL, ports, limits))
    await asyncio.sleep(after_s)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


@pytest.mark.parametrize("after_ms", range(100, 131, 2))
def test_a_run_stopped_at_any_moment_of_a_slow_commit_has_a_sound_record(after_ms):
    plan = make_plan(("a", ()), ("b", ()), ("c", (0,)))
    ports: Any = make_ports(
        planner=ScriptedPlanner(plan),
        recorder=MemoryRecorder(delay_s=0.02),
        client=paced(a=0.06, b=0.07),
        stop_reason=lambda: "user",
    )
    run_virtual(stopped(ports, Limits(max_calls=2), after_ms / 1000))
    state = replay(ports.recorder.events, Meter(Limits()))
    assert state.end is not None
    assert state.unknown_calls == 0


def test_a_stopped_call_costs_what_it_had_read():
    ports: Any = make_ports(
        planner=ScriptedPlanner(make_plan(("a", ()))),
        client=paced(a=100),
        stop_reason=lambda: "user",
    )
    run_virtual(stopped(ports, Limits(), 10))
    end = ports.recorder.events[-1]
    assert end.cost_micros > 0
    assert end.usage.is_estimated


def test_a_failed_step_is_on_record_while_its_sibling_runs():
    def answer(call, number):
        if call.worker in "ad":
            return CallFailed(CallFault.UNAUTHORIZED, "no")
        return "fine"

    plan = make_plan(("a", ()), ("b", ()), ("c", (0, 1)))
    ports: Any = make_ports(
        planner=ScriptedPlanner(plan),
        client=ScriptedClient(
            answer, lambda call, number: 300 if call.worker == "b" else 0
        ),
        stop_reason=lambda: None,
    )
    run_virtual(stopped(ports, Limits(), 5))
    assert any(isinstance(e, ev.StepFailed) for e in ports.recorder.events)


def test_what_is_posted_while_the_ledger_writes_is_written_soon_after():
    recorder = MemoryRecorder(delay_s=1)

    async def main():
        journal = Journal(recorder, MemoryProgress())
        journal.post(ev.StepSkipped(0, 0, "first"))
        await asyncio.sleep(0.5)
        journal.post(ev.StepSkipped(0, 1, "second"))
        await asyncio.sleep(2)

    run_virtual(main())
    assert [e.step for e in recorder.events if isinstance(e, ev.StepSkipped)] == [0, 1]


def test_nothing_is_recorded_after_what_could_not_be():
    recorder = Refusing(ev.StepSkipped)

    async def main():
        journal = Journal(recorder, MemoryProgress())
        first = journal.commit(ev.StepSkipped(0, 0, "first"))
        second = journal.commit(ev.StepSkipped(0, 1, "second"))
        return await asyncio.gather(first, second, return_exceptions=True)

    failures = run_virtual(main())
    assert [type(failure) for failure in failures] == [OSError, OSError]
    assert recorder.events == []


def test_commits_of_one_moment_share_the_second_write():
    recorder = MemoryRecorder(delay_s=1)
    steps = range(5)

    async def main():
        journal = Journal(recorder, MemoryProgress())
        events = [ev.StepSkipped(0, step, "why") for step in steps]
        await asyncio.gather(*(journal.commit(each) for each in events))

    run_virtual(main())
    skipped = [e.step for e in recorder.events if isinstance(e, ev.StepSkipped)]
    assert skipped == list(steps)
    assert recorder.commits == 2


def test_a_broken_stream_is_not_replaced_by_an_older_answer():
    class Cut(ScriptedClient):
        async def stream(self, call):
            async for item in super().stream(call):
                yield item
                if call.worker == "b":
                    raise CallFailed(CallFault.INCOMPLETE, "cut")

    planner = ScriptedPlanner(make_plan(("a", ())), make_plan(("b", ())))
    ports: Any = make_ports(planner=planner, client=Cut())
    task = Task("q", is_streamed=True)
    end: Any = run_virtual(conduct(task, POOL, ports, Limits(max_rounds=2)))
    assert (end.action, end.code) == ("run.failed", "stream_interrupted")


def test_a_limit_in_a_later_round_leaves_the_answer_as_the_best_so_far():
    second = make_plan(("b", ()), ("c", (0,)))
    planner = ScriptedPlanner(make_plan(("a", ())), second)
    ports: Any = make_ports(planner=planner)
    limits = Limits(max_rounds=2, max_calls=2)
    end: Any = run_virtual(conduct(Task("q"), POOL, ports, limits))
    assert (end.code, end.answer) == ("limit_calls", "a says 0")


def test_overhead_is_the_time_in_which_no_model_was_waited_for():
    ports: Any = make_ports(
        planner=ScriptedPlanner(make_plan(("a", ()))),
        recorder=MemoryRecorder(delay_s=1),
    )
    end: Any = run_virtual(conduct(Task("q"), POOL, ports, Limits()))
    assert (end.latency_ms, end.overhead_ms) == (1100, 1000)


def test_a_step_that_waits_for_its_turn_is_not_begun_after_a_failure():
    def answer(call, number):
        failed = call.worker == "d"  # the fallback itself: nobody takes over
        return CallFailed(CallFault.UNAUTHORIZED, "no") if failed else "fine"

    wide = make_plan(("d", ()), ("b", ()), ("c", ()), ("b", (0, 1, 2)))
    planner = ScriptedPlanner(wide, make_plan(("b", ())))
    ports: Any = make_ports(planner=planner, client=ScriptedClient(answer))
    end: Any = run_virtual(conduct(Task("q"), POOL, ports, Limits(max_parallel=1)))
    in_first = [
        e.step
        for e in ports.recorder.events
        if isinstance(e, ev.StepStarted) and e.round == 0
    ]
    assert set(in_first) == {0}
    assert end.answer == "fine"
