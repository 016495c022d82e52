"""A cascade keeps the cheap worker's answer or asks the strong one."""

from __future__ import annotations

import pytest

from apps.engine import events as ev
from apps.engine.codec import decode, encode
from apps.engine.conduct import conduct
from apps.engine.limits import Limits
from apps.engine.ports import Call, Pool, PoolWorker, Task
from apps.engine.testing import ScriptedClient, make_ports, run_virtual
from apps.planners.fixed import ANEW, CascadePlanner, planner_read, planner_values

TASK = Task("What is 6 times 7?")
POOL = Pool((PoolWorker("cheap"), PoolWorker("strong")), fallback="cheap")
LIMITS = Limits(max_replans=0, max_rounds=CascadePlanner.max_rounds)


def conducted(least: int, last: str, history: tuple[ev.Event, ...] = ()):
    """Run a cascade whose cheap worker says 42 twice, and then `last`."""

    def answer(call: Call, number: int) -> str:
        if call.worker == "strong":
            return "Answer: 42, and I am sure"
        is_last = ANEW in str(call.messages[0]["content"])
        return f"Answer: {last if is_last else '42'}"

    ports = make_ports(
        planner=CascadePlanner("cheap", 3, "strong", least),
        client=ScriptedClient(answer),
    )
    return run_virtual(conduct(TASK, POOL, ports, LIMITS, history=history)), ports


@pytest.mark.parametrize(
    ("least", "last", "calls"),
    [
        (2, "42.", ["cheap"] * 3),
        (2, "41", ["cheap"] * 3 + ["strong"]),
        (0, "41", ["cheap"] * 3),
        (3, "42", ["cheap"] * 3 + ["strong"]),
    ],
)
def test_the_strong_worker_is_asked_if_the_cheap_one_differs(least, last, calls):
    end, ports = conducted(least, last)
    assert [call.worker for call in ports.client.calls] == calls
    is_asked = "strong" in calls
    assert end.answer == (
        "Answer: 42, and I am sure" if is_asked else f"Answer: {last}"
    )


def test_the_strong_worker_gets_the_prompt_alone():
    _, ports = conducted(2, "41")
    assert [m["content"] for m in ports.client.calls[-1].messages] == [TASK.prompt]


@pytest.mark.parametrize("last", ["42", "41"])
def test_it_decides_the_same_wherever_it_broke_off(last):
    whole, ports = conducted(2, last)
    events = ports.recorder.events
    for cut in range(len(events)):
        prefix = tuple(decode(encode(event)) for event in events[:cut])
        end, again = conducted(2, last, prefix)
        assert end.answer == whole.answer
        done = {(e.round, e.step) for e in prefix if isinstance(e, ev.StepCompleted)}
        started = [e for e in again.recorder.events if isinstance(e, ev.StepStarted)]
        assert not done & {(e.round, e.step) for e in started}


def test_it_is_read_from_the_record_as_it_was():
    planner = CascadePlanner("cheap", 3, "strong", 2)
    assert planner_read(planner_values(planner)) == planner
