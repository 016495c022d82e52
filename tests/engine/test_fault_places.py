"""Every fault at every place of a run ends well or by name, and is settled once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import TRANSIENT_FAULTS, CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.plan import Plan
from apps.engine.ports import CONDUCTOR, Call, CallEnd, Delta, Pool, PoolWorker, Task
from apps.engine.testing import (
    ScriptedAnswer,
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)
from apps.engine.usage import Price, Usage

FAULTS = tuple(
    fault
    for fault in CallFault
    if fault not in (CallFault.CANCELLED, CallFault.INVALID_OUTPUT, CallFault.DIVERGED)
)
"""Those that a provider can cause; the others are the engine's own."""
RIGHT = "the right answer"


@dataclass(frozen=True)
class Place:
    """Where in a run the fault is."""

    title: str
    plan: Plan
    worker: str = "a"
    """Who has the fault, at every call."""
    is_sent: bool = False
    """True: half of the answer has gone out by then."""
    next_says: str = RIGHT
    prefill: str = ""


def _chain(faulty: int) -> Plan:
    names = ["c", "c", "c"]
    names[faulty] = "a"
    return make_plan(*((n, range(i)) for i, n in enumerate(names)))


LIVE = make_plan(("a", ()))
PLACES = (
    Place("first step", _chain(0)),
    Place("middle step", _chain(1)),
    Place("last step", _chain(2)),
    Place("being sent, the next goes on", LIVE, is_sent=True, prefill="b"),
    Place("being sent, the next repeats", LIVE, is_sent=True),
    Place("being sent, the next differs", LIVE, is_sent=True, next_says="No."),
    Place("conductor", make_plan(("c", ())), CONDUCTOR),
)


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    end: ev.RunCompleted | ev.RunFailed
    calls: tuple[str, ...]
    """Who was called at the place of the fault, in order."""
    sent: str
    events: tuple[ev.Event, ...]


def outcome(place: Place, fault: CallFault) -> Outcome:
    """Run a question whose worker, or conductor, has `fault` at every call."""
    pool = Pool(
        tuple(
            PoolWorker(n, Price(1, 1), accepts_prefill=n in place.prefill)
            for n in "abc"
        ),
        fallback="b",
        conductor_price=Price(1, 1),
    )
    client = ScriptedClient(_answers(place, fault))
    planner = ScriptedPlanner(place.plan, asks=place.worker == CONDUCTOR)
    ports: Any = make_ports(planner=planner, client=client)
    task = Task("q", is_streamed=place.is_sent)
    end: Any = run_virtual(conduct(task, pool, ports, Limits(max_replans=0)))
    events = tuple(ports.recorder.events)
    return Outcome(end, _called(place, events), ports.progress.answer, events)


def _answers(place: Place, fault: CallFault) -> Callable[[Call, int], ScriptedAnswer]:
    half = Delta(RIGHT[: len(RIGHT) // 2])

    def answer(call: Call, number: int) -> ScriptedAnswer:
        if call.worker == place.worker:
            failed = CallFailed(fault, f"{fault} for a test")
            return ScriptedAnswer((half,) if place.is_sent else (), failed)
        begun = str(call.messages[-1]["content"]) if call.is_continued else ""
        return ScriptedAnswer((Delta(place.next_says[len(begun) :]),), CallEnd())

    return answer


def _called(place: Place, events: tuple[ev.Event, ...]) -> tuple[str, ...]:
    workers = [step.worker for step in place.plan.steps]
    faulty = workers.index("a") if "a" in workers else 0
    names = []
    for event in events:
        if isinstance(event, ev.PlanRequested) and place.worker == CONDUCTOR:
            names.append(CONDUCTOR)
        if isinstance(event, ev.StepStarted) and event.step == faulty:
            names.append(event.worker)
    return tuple(names)


CODES = {"stream_interrupted"}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_ends_well_or_by_name_and_is_settled_once(place, fault):
    found = outcome(place, fault)
    check_end(found, place, fault)
    check_repetitions(found, place, fault)
    check_settlement(found)


def check_end(found: Outcome, place: Place, fault: CallFault) -> None:
    """The run ends with the right answer, or with an error that has a name."""
    if isinstance(found.end, ev.RunCompleted) and found.end.finish_reason != "stop":
        assert fault is CallFault.CONTENT_FILTERED  # a refusal is an answer
        assert RIGHT.startswith(found.end.answer)
        assert found.sent == found.end.answer
    elif isinstance(found.end, ev.RunCompleted):
        assert found.end.answer == RIGHT
        assert found.sent in ("", RIGHT)
    else:
        assert found.end.code in CODES
        assert place.next_says != RIGHT
    assert len(found.calls) <= 4  # three attempts, and one call of the fallback plan


def check_repetitions(found: Outcome, place: Place, fault: CallFault) -> None:
    """Only a call whose fault may pass is made again."""
    again = found.calls.count(place.worker)
    may_repeat = TRANSIENT_FAULTS | {CallFault.PREFILL_REFUSED}
    assert again == 1 or fault in may_repeat
    assert again <= 2 or fault in TRANSIENT_FAULTS


def check_settlement(found: Outcome) -> None:
    """Every call ends once, and the run's sums are those of its calls."""
    started = (ev.StepStarted, ev.PlanRequested)
    ended = (
        ev.StepCompleted,
        ev.StepAttemptFailed,
        ev.PlanReplied,
        ev.PlanCallFailed,
    )
    parts = [e for e in found.events if isinstance(e, ended)]
    assert len(parts) == sum(isinstance(e, started) for e in found.events)
    assert found.end.usage == sum((p.usage for p in parts), start=Usage())
    assert found.end.cost_micros == sum(p.cost_micros or 0 for p in parts)
