"""Steps whose answers come from an earlier run: recorded, read, not called."""

from __future__ import annotations

from dataclasses import replace

from apps.engine import events as ev
from apps.engine.ports import ReusedAnswer
from tests.engine.test_conduct import DIAMOND, TASK, actions, of, run

FIRST = ReusedAnswer(0, "a", "forty-two", "run-1")
BOTH = (FIRST, ReusedAnswer(1, "b", "6 times 7", "run-1", is_edited=True))


def test_reused_steps_are_recorded_and_not_called():
    end, ports = run(DIAMOND, replace(TASK, reused=BOTH))
    assert end.answer == "c says 0"
    assert [call.worker for call in ports.client.calls] == ["c"]
    found = of(ports, ev.StepReused)
    assert [(e.step, e.worker, e.run_id, e.is_edited) for e in found] == [
        (0, "a", "run-1", False),
        (1, "b", "run-1", True),
    ]
    sent = ports.client.calls[0].messages[0]["content"]
    assert "forty-two" in sent
    assert "6 times 7" in sent


def test_a_reused_last_step_is_the_answer_and_nothing_is_paid():
    last = ReusedAnswer(2, "c", "It is 42.", "run-1", is_edited=True)
    end, ports = run(DIAMOND, replace(TASK, reused=(*BOTH, last)))
    assert (end.answer, end.cost_micros) == ("It is 42.", 0)
    assert ports.client.calls == []


def test_a_resumed_run_knows_what_was_reused():
    _, first = run(DIAMOND, replace(TASK, reused=(FIRST,)))
    accepted = actions(first).index("step.reused") + 1
    history = first.recorder.events[:accepted]
    end, again = run(DIAMOND, replace(TASK, reused=(FIRST,)), history=history)
    assert end.answer
    assert {call.worker for call in again.client.calls} == {"b", "c"}
    assert "step.reused" not in actions(again)
