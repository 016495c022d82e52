"""A worker that refuses the content: the refusal is the answer, or another is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.attempts import UNEXPLAINED
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.meter import Meter
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import CallEnd, CallParams, Delta, Pool, PoolWorker, Task
from apps.engine.replay import replay
from apps.engine.testing import (
    ScriptedAnswer,
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
    spoken,
)

POOL = Pool(tuple(PoolWorker(n) for n in "abc"), "b", substitutes=("c",))
ASKING_ON = replace(POOL, retries_refusals=True)
DIRECT = Plan((PlannedStep("q", "a"),))
FILTERED = CallEnd(finish_reason="content_filter")
BLOCKED = CallFailed(CallFault.CONTENT_FILTERED, "the prompt was blocked")
EXPLAINED = CallFailed(
    CallFault.CONTENT_FILTERED, "'a' answered 400: …", said="Unsafe prompt."
)
REFUSALS: dict[str, ScriptedAnswer] = {
    "an end without a word": ScriptedAnswer((), FILTERED),
    "an end after a part": spoken("I was about", " to", end=FILTERED),
    "an error": ScriptedAnswer((), BLOCKED),
    "an error after a part": spoken("I was about", " to", end=BLOCKED),
}
BOTH = pytest.mark.parametrize("is_live", [True, False])
EACH = pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)


def refused(refusal, pool, *, plan=DIRECT, is_live=False, params=None):
    """Run a question that worker a refuses; everybody else answers it."""
    client = ScriptedClient(
        lambda call, _: refusal if call.worker == "a" else f"{call.worker} answers"
    )
    ports: Any = make_ports(planner=ScriptedPlanner(plan), client=client)
    task = Task("q", params or CallParams(), is_streamed=is_live)
    end: Any = run_virtual(conduct(task, pool, ports, Limits()))
    return end, ports


def called(ports):
    return [call.worker for call in ports.client.calls]


def faults(ports):
    failed = (e for e in ports.recorder.events if isinstance(e, ev.StepAttemptFailed))
    return [event.fault for event in failed]


@BOTH
@EACH
def test_D8_by_default_the_refusal_is_the_answer_and_nobody_else_is_asked(
    refusal, is_live
):
    end, ports = refused(refusal, POOL, is_live=is_live)
    assert (end.action, end.finish_reason) == ("run.completed", "content_filter")
    assert end.answer == "".join(delta.text for delta in refusal.deltas)
    assert called(ports) == ["a"]
    if is_live:
        assert ports.progress.answer == end.answer


@BOTH
@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (ScriptedAnswer((), replace(FILTERED, refusal="I can't.")), "I can't."),
        (spoken("A", end=replace(FILTERED, refusal="It is unsafe.")), "It is unsafe."),
        (ScriptedAnswer((), FILTERED), UNEXPLAINED),
        (spoken("A", end=FILTERED), UNEXPLAINED),
        (ScriptedAnswer((), BLOCKED), "the prompt was blocked"),
        (ScriptedAnswer((), EXPLAINED), "Unsafe prompt."),
        (spoken("A", end=EXPLAINED), "Unsafe prompt."),
        (spoken("A", end=BLOCKED), UNEXPLAINED),
    ],
)
def test_C8_the_end_says_why_in_the_words_of_the_provider(refusal, words, is_live):
    end, ports = refused(refusal, POOL, is_live=is_live)
    assert end.finish_reason == "content_filter"
    assert end.refusal == words
    assert end.said == ("A" if refusal.deltas else words)
    if is_live:
        assert ports.progress.answer == end.answer


def test_C8_an_answer_that_is_whole_has_no_refusal():
    end, _ = refused(spoken("A"), POOL)
    assert (end.said, end.refusal) == ("A", "")


@BOTH
def test_C8_words_of_a_refusal_do_not_keep_another_worker_from_answering(is_live):
    declined = ScriptedAnswer((Delta(),), replace(FILTERED, refusal="I can't."))
    end, ports = refused(declined, ASKING_ON, is_live=is_live)
    assert (end.answer, end.refusal) == ("b answers", "")
    [failed] = [e for e in ports.recorder.events if isinstance(e, ev.StepAttemptFailed)]
    assert (failed.fault, failed.message) == ("content_filtered", "I can't.")


@EACH
def test_D8_another_worker_is_asked_where_the_pool_says_so(refusal):
    end, ports = refused(refusal, ASKING_ON)
    assert (end.answer, end.finish_reason) == ("b answers", "stop")
    assert called(ports) == ["a", "b"]
    assert faults(ports) == ["content_filtered"]


@BOTH
def test_D8_the_refusal_of_a_whole_answer_is_on_record_with_its_reason(is_live):
    _, ports = refused(ScriptedAnswer((), BLOCKED), POOL, is_live=is_live)
    [failed] = [e for e in ports.recorder.events if isinstance(e, ev.StepFailed)]
    assert (failed.fault, failed.message) == (
        "content_filtered",
        "the prompt was blocked",
    )


def test_what_was_sent_before_the_refusal_stays_the_answer_whatever_the_pool_says():
    end, ports = refused(REFUSALS["an error after a part"], ASKING_ON, is_live=True)
    assert end.answer == ports.progress.answer == "I was about to"
    assert end.finish_reason == "content_filter"


def test_a_refusal_needs_no_form_and_is_not_paid_twice():
    params = CallParams(response_format={"type": "json_object"})
    end, ports = refused(REFUSALS["an end after a part"], POOL, params=params)
    assert (end.answer, end.finish_reason) == ("I was about to", "content_filter")
    assert called(ports) == ["a"]


@EACH
def test_a_step_that_is_refused_is_not_given_to_others_and_the_rest_goes_on(refusal):
    plan = make_plan(("a", ()), ("b", (0,)))
    end, ports = refused(refusal, POOL, plan=plan)
    assert (end.answer, called(ports)) == ("b answers", ["a", "b"])
    shown = str(ports.client.calls[1].messages[0]["content"])
    assert "(no response: " in shown or "I was about to" in shown


def test_a_refusal_by_all_fails_the_run_by_name_where_others_are_asked():
    pool = replace(ASKING_ON, workers=(PoolWorker("a"),), fallback="a", substitutes=())
    end, _ = refused(REFUSALS["an error"], pool)
    assert (end.action, end.code) == ("run.failed", "content_filtered")
    assert end.is_lasting


@EACH
def test_a_run_with_a_refusal_reads_back_from_its_record(refusal):
    _, ports = refused(refusal, POOL)
    events = ports.recorder.events
    assert replay(events[:-1], Meter(Limits())).unknown_calls == 0
