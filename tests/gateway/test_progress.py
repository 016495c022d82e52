"""Lines that tell how far a run is."""

from __future__ import annotations

from dataclasses import replace

from apps.engine.events import PlanKept, StepAttemptFailed
from apps.engine.usage import Usage
from apps.gateway.reasoning_progress import ProgressLines
from apps.gateway.step_events import step_event
from tests.gateway.fakes import plan, step_completed, step_started


def test_plan_names_its_workers() -> None:
    assert ProgressLines().line(plan()) == "Plan: 2 steps (scout, writer)\n"


def test_later_plan_names_its_round() -> None:
    later = replace(plan(), round=1, workers=("writer",), subtasks=("Check",))
    assert ProgressLines().line(later) == "Plan of round 2: 1 step (writer)\n"


def test_step_tells_place_subtask_and_worker() -> None:
    lines = ProgressLines()
    lines.line(plan())
    assert lines.line(step_started(1, "writer")) == "[2/2] Write it down → writer\n"
    again = lines.line(step_started(1, "spare", attempt=2))
    assert again == "[2/2] Write it down → spare (attempt 2)\n"


def test_end_of_a_step_tells_seconds() -> None:
    lines = ProgressLines()
    lines.line(plan())
    assert lines.line(step_completed(0, "scout")) == "[1/2] scout: done in 3.2 s\n"


def test_failed_attempt_tells_the_fault() -> None:
    event = StepAttemptFailed(0, 1, 1, "writer", "connect", "secret", Usage(), None, 1)
    assert ProgressLines().line(event) == "[2] writer: failed, connect\n"


def test_call_that_we_closed_was_stopped() -> None:
    event = StepAttemptFailed(0, 1, 1, "writer", "cancelled", "", Usage(), None, 1)
    assert ProgressLines().line(event) == "[2] writer: stopped\n"


def test_named_event_of_a_failure_tells_the_fault_alone() -> None:
    event = StepAttemptFailed(0, 1, 1, "writer", "connect", "secret", Usage(), None, 1)
    told = step_event(event)
    assert told.startswith("event: step.attempt_failed\ndata: {")
    assert '"fault":"connect"' in told and "secret" not in told


def test_long_subtask_is_cut_to_one_line() -> None:
    lines = ProgressLines()
    lines.line(replace(plan(), subtasks=("Find\nall " + "words " * 50, "x")))
    line = lines.line(step_started(0, "scout"))
    assert line.startswith("[1/2] Find all words words")
    assert (line.count("\n"), "… → scout" in line) == (1, True)


def test_other_events_make_no_line() -> None:
    assert ProgressLines().line(PlanKept(1)) == ""
