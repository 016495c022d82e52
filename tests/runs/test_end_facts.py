"""What a run's row notes at its end: first token, sizes, faults and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from apps.engine import events as ev
from apps.engine.usage import Usage
from apps.runs.records.end_facts import EndFacts, end_facts
from apps.runs.records.run_view import RunView
from tests.playground import stories
from tests.runs.recording import told

Told = tuple[str, str, str, str]


def facts_of(events: Sequence[ev.Event], *, keeps_texts: bool = False) -> EndFacts:
    view = RunView(keeps_texts=keeps_texts)
    for event in events:
        view.add(event)
    return end_facts(view)


def found(events: Sequence[ev.Event]) -> list[Told]:
    return [
        (each["stage"], each["fault"], each["worker"], each["rescue"])
        for each in facts_of(events)["findings"] or []
    ]


def plan(*subtasks: str, round_: int, workers: tuple[str, ...]) -> ev.PlanAccepted:
    access = tuple(tuple(range(i)) for i in range(len(subtasks)))
    return ev.PlanAccepted(round_, "llm", workers, access, (), subtasks, "")


def answered(step: int, worker: str, text: str, round_: int = 0) -> list[ev.Event]:
    return [
        stories.started(step, worker, round_=round_),
        replace(stories.completed(step, worker, text, round_=round_), cost_micros=70),
    ]


# --- faults --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        (stories.finished, []),
        (
            stories.rescued,
            [
                ("step", "rate_limited", "gpt-5", "substitute"),
                ("step", "server_error", "gpt-5", "substitute"),
            ],
        ),
        (
            stories.failed,
            [
                ("step", "rate_limited", "gpt-5", "none"),
                ("step", "connect", "gpt-5", "none"),
            ],
        ),
        (
            stories.planned_again,
            [
                ("step", "connect", "gpt-5", "replan"),
                ("loop", "repeated_subtask", "gemini-2.5-pro", "none"),
            ],
        ),
        (stories.went_on, [("step", "incomplete", "gpt-5", "substitute")]),
        (stories.raced, []),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_faults_are_told_with_what_rescued_them(story, expected):
    assert found(told(story)) == expected


def test_rejected_plan_is_rescued_by_the_next_one():
    events = [*told(stories.rejected), stories.run_completed()]
    assert [(each[0], each[3]) for each in found(events)] == [("plan", "retry")]


def test_call_that_is_lost_with_its_process_is_interrupted():
    begun = told(stories.finished)
    at = next(i for i, e in enumerate(begun) if isinstance(e, ev.StepStarted)) + 1
    start = begun[at - 1]
    assert isinstance(start, ev.StepStarted)
    again = replace(start, attempt=2)
    rest = [
        replace(each, attempt=2)
        if isinstance(each, ev.StepCompleted) and each.step == start.step
        else each
        for each in begun[at:]
    ]
    events = [*begun[:at], ev.RunResumed(1), again, *rest]
    assert ("step", "interrupted", start.worker, "retry") in found(events)


def test_run_that_goes_on_has_no_facts_yet():
    assert set(facts_of(told(stories.planning)).values()) == {None}


# --- sizes and first token -----------------------------------------------------------


def test_first_token_is_counted_back_from_the_end():
    facts = facts_of(
        [
            stories.created("Why?" * 10),
            plan("Say", round_=0, workers=("a",)),
            stories.started(0, "a"),
            replace(
                stories.completed(0, "a", "Yes."), latency_ms=600, first_token_ms=100
            ),
            replace(stories.run_completed("Yes."), latency_ms=1_000),
        ]
    )
    assert facts["first_token_ms"] == 500
    assert facts["asked_tokens"] == 10


def test_answer_that_came_in_one_piece_has_no_first_token():
    done = replace(stories.completed(0, "a", "Yes."), first_token_ms=None)
    events: list[ev.Event] = [
        stories.created(),
        plan("Say", round_=0, workers=("a",)),
        stories.started(0, "a"),
        replace(done, usage=Usage(10, 3)),
        stories.run_completed("Yes."),
    ]
    facts = facts_of(events)
    assert facts["first_token_ms"] is None
    assert facts["answer_tokens"] == 3


# --- loops ---------------------------------------------------------------------------


def two_rounds(
    first: ev.PlanAccepted, texts: tuple[str, str], second: ev.PlanAccepted
) -> list[ev.Event]:
    return [
        stories.created(),
        first,
        *answered(0, first.workers[0], texts[0]),
        second,
        *answered(0, second.workers[0], texts[1], round_=1),
        stories.run_completed(texts[1]),
    ]


def test_plan_equal_to_the_one_before_is_a_loop():
    first = plan("Count", round_=0, workers=("a",))
    events = two_rounds(first, ("1", "2"), replace(first, round=1))
    assert found(events) == [("loop", "unchanged_plan", "", "none")]
    assert (facts_of(events)["findings"] or [])[0]["cost"] == 70


def test_subtask_of_an_earlier_round_is_a_loop():
    events = two_rounds(
        plan("Count", round_=0, workers=("a",)),
        ("1", "2"),
        plan(" Count\n", round_=1, workers=("b",)),
    )
    assert found(events) == [("loop", "repeated_subtask", "b", "none")]


def test_answer_of_an_earlier_round_is_a_loop():
    events = two_rounds(
        plan("Count", round_=0, workers=("a",)),
        ("One.", "One."),
        plan("Check", round_=1, workers=("b",)),
    )
    assert found(events) == [("loop", "repeated_answer", "b", "none")]


def test_other_words_are_no_loop():
    events = two_rounds(
        plan("Count", round_=0, workers=("a",)),
        ("One.", "Two."),
        plan("Check", round_=1, workers=("b",)),
    )
    assert found(events) == []


def test_one_subtask_for_two_workers_is_a_comparison():
    events = [
        stories.created(),
        plan("Count", "Count", round_=0, workers=("a", "b")),
        *answered(0, "a", "1"),
        *answered(1, "b", "1"),
        stories.run_completed("1"),
    ]
    assert found(events) == []


def test_worker_that_is_asked_the_same_twice_in_one_plan_is_in_a_loop():
    events = [
        stories.created(),
        plan("Count", "Count", round_=0, workers=("a", "a")),
        *answered(0, "a", "1"),
        *answered(1, "a", "2"),
        stories.run_completed("2"),
    ]
    assert found(events) == [("loop", "repeated_subtask", "a", "none")]


def test_erased_texts_are_no_loops():
    first = plan("", round_=0, workers=("a",))
    events = two_rounds(first, ("", ""), replace(first, round=1))
    assert found(events) == []
