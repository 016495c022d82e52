"""A worker that stays silent for longer than it nearly ever does gets a rival."""

import asyncio
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.hedging import Race
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
from apps.engine.usage import Price, Usage

PRICE = Price(1_000_000, 2_000_000)
POOL = Pool(
    tuple(PoolWorker(n, PRICE, hedge_after_s=2.0) for n in "abc"),
    fallback="b",
    substitutes=("c",),
)
DIRECT = Plan((PlannedStep("q", "a"),))
SLOW, QUICK = 100.0, 1.0


def hedged(answer=None, *, plan=DIRECT, task=None, pool=POOL, pace=None, **limits):
    pace = {"a": SLOW, "b": QUICK, "c": QUICK, **(pace or {})}
    client = ScriptedClient(
        answer or (lambda call, number: f"{call.worker} answers"),
        lambda call, number: pace[call.worker],
    )
    ports: Any = make_ports(
        planner=ScriptedPlanner(plan),
        client=client,
        recorder=MemoryRecorder(delay_s=0),
    )
    limits = {"is_hedged": True, "max_replans": 0, **limits}
    end: Any = run_virtual(
        conduct(task or Task("q", is_streamed=True), pool, ports, Limits(**limits))
    )
    return end, ports


def of(ports, kind):
    return [e for e in ports.recorder.events if isinstance(e, kind)]


def failing(fault, *workers):
    def answer(call, number):
        if call.worker in workers:
            return CallFailed(fault, "for a test")
        return f"{call.worker} answers"

    return answer


def test_the_first_to_bring_an_item_goes_on_and_the_other_is_closed():
    end, ports = hedged()
    assert end.answer == ports.progress.answer == "b answers"
    assert end.latency_ms == 3000  # two of patience, one for the rival
    assert ports.client.closed == 1
    [lost] = of(ports, ev.StepAttemptFailed)
    assert (lost.worker, lost.attempt, lost.fault) == ("a", 1, "cancelled")
    [won] = of(ports, ev.StepCompleted)
    assert (won.worker, won.attempt) == ("b", 2)


def test_who_begins_in_time_gets_no_rival():
    _, ports = hedged(pace={"a": 3.9})
    assert [c.worker for c in ports.client.calls] == ["a"]


def test_a_slow_one_that_begins_before_its_rival_wins():
    end, ports = hedged(pace={"a": 5.0, "b": 9.0})
    assert end.answer == ports.progress.answer == "a answers"
    assert [e.worker for e in of(ports, ev.StepAttemptFailed)] == ["b"]
    assert end.latency_ms == 5000


def test_both_calls_are_paid_for():
    end, ports = hedged()
    parts = [
        e
        for e in ports.recorder.events
        if isinstance(e, ev.StepCompleted | ev.StepAttemptFailed)
    ]
    assert all(part.usage.prompt_tokens for part in parts)
    assert end.usage == sum((p.usage for p in parts), start=Usage())
    assert end.cost_micros == sum(p.cost_micros or 0 for p in parts)


@pytest.mark.parametrize(
    ("pool", "limits"),
    [
        (POOL, {"is_hedged": False}),
        (POOL, {"max_attempts": 1}),
        (Pool(tuple(PoolWorker(n) for n in "abc"), fallback="b"), {}),
        (Pool((PoolWorker("a", hedge_after_s=2.0),), fallback="a"), {}),
    ],
    ids=["not wanted", "no attempt left", "pace unknown", "nobody else"],
)
def test_without_need_or_means_there_is_no_rival(pool, limits):
    end, ports = hedged(pool=pool, **limits)
    assert (end.answer, len(ports.client.calls)) == ("a answers", 1)


def test_no_room_for_a_rival_leaves_the_first_alone():
    end, ports = hedged(max_calls=1)
    assert (end.action, end.answer) == ("run.completed", "a answers")
    assert len(ports.client.calls) == 1


def test_a_rival_need_not_wait_for_the_call_it_overtakes():
    end, ports = hedged(max_parallel=1)
    assert end.answer == "b answers"
    assert len(ports.client.calls) == 2


def test_a_rival_that_fails_leaves_the_first_at_work():
    end, ports = hedged(failing(CallFault.UNAUTHORIZED, "b"))
    assert (end.answer, end.latency_ms) == ("a answers", 100_000)
    assert [e.fault for e in of(ports, ev.StepAttemptFailed)] == ["unauthorized"]


def test_a_first_one_that_fails_leaves_the_rival_at_work():
    pace = {"a": 6.0, "b": 50.0}
    end, ports = hedged(failing(CallFault.SERVER_ERROR, "a"), pace=pace)
    assert end.answer == "b answers"
    assert [c.worker for c in ports.client.calls] == ["a", "b"]


def test_when_both_fail_the_next_one_is_asked():
    pace = {"a": 6.0, "b": 6.0}
    end, ports = hedged(failing(CallFault.SERVER_ERROR, "a", "b"), pace=pace)
    assert end.answer == "c answers"
    assert [c.worker for c in ports.client.calls] == ["a", "b", "c"]


def test_a_first_one_that_fails_at_once_is_no_race():
    end, ports = hedged(failing(CallFault.UNAUTHORIZED, "a"), pace={"a": 1.0})
    assert (end.answer, len(ports.client.calls)) == ("b answers", 2)


def test_a_winner_that_is_cut_is_rescued():
    cut = CallFailed(CallFault.UNAUTHORIZED, "cut")

    def answer(call, number):
        return spoken("yes", end=cut) if call.worker == "b" else "yes, truly"

    end, ports = hedged(answer)
    assert end.answer == ports.progress.answer == "yes, truly"
    assert len(ports.client.calls) == 3


def test_attempts_and_rivals_together_stay_within_the_attempts_of_a_step():
    every = CallFailed(CallFault.SERVER_ERROR, "down")
    slow = {"a": 9.0, "b": 9.0, "c": 9.0}
    end, ports = hedged(lambda call, number: every, pace=slow)
    assert (end.code, len(ports.client.calls)) == ("worker_failed", 3)


def test_steps_in_the_middle_have_rivals_too():
    plan = make_plan(("a", ()), ("c", (0,)))
    end, ports = hedged(plan=plan, task=Task("q", is_watched=False))
    assert end.answer == "c answers"
    assert end.latency_ms == 4000
    assert all(call.is_streamed for call in ports.client.calls)


async def stopped(ports, after_s):
    run = asyncio.create_task(
        conduct(Task("q"), POOL, ports, Limits(is_hedged=True, max_replans=0))
    )
    await asyncio.sleep(after_s)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    return run


@pytest.mark.parametrize("after_s", [1.0, 2.0, 2.0015, 2.003, 2.5, 3.001, 3.4])
def test_a_run_stopped_in_a_race_closes_both_and_says_so(after_s):
    pace = {"a": SLOW, "b": 2.0}
    client = ScriptedClient(delay_s=lambda call, number: pace[call.worker])
    ports: Any = make_ports(
        planner=ScriptedPlanner(DIRECT), client=client, stop_reason=lambda: "user"
    )
    run = run_virtual(stopped(ports, after_s))
    assert run.cancelled()
    assert client.in_flight == 0
    state = replay(ports.recorder.events, Meter(Limits()))
    assert isinstance(state.end, ev.RunCancelled)
    assert state.unknown_calls == 0


def test_a_ledger_that_fails_in_a_race_ends_the_run():
    ports: Any = make_ports(
        planner=ScriptedPlanner(DIRECT),
        client=ScriptedClient(delay_s=lambda call, number: SLOW),
        recorder=MemoryRecorder(fails_at=1),
    )

    async def timed():
        loop = asyncio.get_running_loop()
        with pytest.raises(OSError, match="disk full"):
            await conduct(Task("q"), POOL, ports, Limits(is_hedged=True))
        return loop.time()

    assert run_virtual(timed()) < 3
    assert ports.client.in_flight == 0


def test_a_rival_that_a_limit_refuses_does_not_end_the_run():
    pace = {"a": 6.0, "b": 1.0}
    end, ports = hedged(failing(CallFault.UNAUTHORIZED, "a"), pace=pace, max_tokens=900)
    assert end.answer == "b answers"
    assert end.latency_ms == 4000  # nobody until the first one has failed
    assert len(ports.client.calls) == 2


class SlowToClose(ScriptedClient):
    """Takes its time when a call is left."""

    async def stream(self, call):
        try:
            async for item in super().stream(call):
                yield item
        except asyncio.CancelledError:
            await asyncio.sleep(30)
            raise


def test_an_answer_that_is_there_counts_while_the_other_call_is_still_closed():
    client = SlowToClose(delay_s=lambda c, n: SLOW if c.worker == "a" else QUICK)
    ports: Any = make_ports(planner=ScriptedPlanner(DIRECT), client=client)
    limits = Limits(is_hedged=True, step_time_s=10.0)
    end: Any = run_virtual(conduct(Task("q"), POOL, ports, limits))
    assert end.answer == "b says 0"
    assert not of(ports, ev.StepFailed)


# --- the race itself -------------------------------------------------------------


def test_who_brings_something_after_being_closed_is_refused():
    refused: list[CallFault] = []

    async def main():
        async def stubborn():
            race.called()
            try:
                await asyncio.sleep(50)
            except asyncio.CancelledError:
                try:
                    race.lead()
                except CallFailed as exc:
                    refused.append(exc.fault)

        async def rival():
            race.lead()

        race = Race(1.0, rival)
        await race.run(stubborn())

    run_virtual(main())
    assert refused == [CallFault.CANCELLED]


def test_patience_that_ends_with_the_first_call_starts_no_rival():
    asked = []

    async def main():
        async def first():
            race.called()

        async def rival():
            asked.append("rival")

        race = Race(0.0, rival)
        await race.run(first())
        await asyncio.sleep(1)

    run_virtual(main())
    assert asked == []
