"""An answer in a wrong form is put right once, or the run fails by name."""

from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import CallParams, Pool, PoolWorker, Task
from apps.engine.testing import (
    ScriptedClient,
    ScriptedPlanner,
    calling,
    make_plan,
    make_ports,
    run_virtual,
)

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
POOL = Pool(tuple(PoolWorker(n) for n in "abc"), "b", substitutes=("c",))
DIRECT = Plan((PlannedStep("q", "a"),))
GOOD, BAD = '{"answer": 42}', '{"answer": "many"}'
DOWN = CallFailed(CallFault.SERVER_ERROR, "down")


def formed(*answers, plan=DIRECT, params=None, **limits):
    """Run with the given answers, one per call, whoever is asked."""
    given = iter(answers)
    params = params or CallParams(response_format=FORMAT)
    task = Task("q", params, is_streamed=True)
    ports: Any = make_ports(
        planner=ScriptedPlanner(plan),
        client=ScriptedClient(lambda call, number: next(given)),
    )
    end: Any = run_virtual(conduct(task, POOL, ports, Limits(**limits)))
    return end, ports


def of(ports, kind):
    return [e for e in ports.recorder.events if isinstance(e, kind)]


def test_a_right_answer_passes_at_once():
    end, ports = formed(GOOD)
    assert (end.answer, len(ports.client.calls)) == (GOOD, 1)


def test_the_same_worker_puts_its_answer_right():
    end, ports = formed(BAD, f"<think>oh</think>{GOOD}")
    assert end.answer == GOOD
    first, second = ports.client.calls
    assert first.worker == second.worker == "a"
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[-2] == {"role": "assistant", "content": BAD}
    assert "/answer" in str(second.messages[-1]["content"])
    [failed] = of(ports, ev.StepAttemptFailed)
    assert (failed.fault, failed.attempt) == ("invalid_output", 1)


def test_what_was_wrong_is_recorded_without_the_answers_words():
    _, ports = formed(BAD, GOOD)
    assert "many" not in of(ports, ev.StepAttemptFailed)[0].message


@pytest.mark.parametrize("wrong", [BAD, "It is 42.", "[]"])
def test_twice_wrong_fails_the_run_by_name_and_is_not_planned_anew(wrong):
    end, ports = formed(BAD, wrong)
    assert (end.action, end.code) == ("run.failed", "invalid_structured_output")
    assert len(ports.client.calls) == 2
    assert len(of(ports, ev.PlanAccepted)) == 1


def test_nothing_of_a_wrong_answer_goes_out():
    _, ports = formed(BAD, GOOD)
    assert ports.progress.answer == ""


def test_a_repair_that_fails_goes_to_the_next_worker_with_the_question_alone():
    end, ports = formed(BAD, CallFailed(CallFault.UNAUTHORIZED, "no"), GOOD)
    assert [c.worker for c in ports.client.calls] == ["a", "a", "b"]
    assert ports.client.calls[2].messages == ports.client.calls[0].messages
    assert end.answer == GOOD


def test_a_repair_stays_within_the_attempts_of_the_step():
    end, ports = formed(DOWN, DOWN, BAD)
    assert (end.code, len(ports.client.calls)) == ("invalid_structured_output", 3)


def test_the_wait_after_a_fault_is_none_after_a_wrong_form():
    end, _ = formed(BAD, GOOD, retry_base_s=50.0)
    assert end.latency_ms < 1000


def test_only_the_last_step_has_a_form():
    end, ports = formed("words", GOOD, plan=make_plan(("a", ()), ("b", (0,))))
    assert (end.answer, len(ports.client.calls)) == (GOOD, 2)


def test_a_call_of_a_tool_needs_no_form():
    params = CallParams(response_format=FORMAT, tools=(TOOL,))
    end, ports = formed(calling(("look_up", "{}")), params=params)
    assert (end.finish_reason, len(ports.client.calls)) == ("tool_calls", 1)


@pytest.mark.parametrize(
    "fenced",
    [
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```\n",
        f"\n ```JSON\r\n{GOOD}\r\n```",
        f"```json {GOOD}```",
        f"<think>hm ```</think>```json\n{GOOD}\n```",
    ],
)
def test_D13_json_between_fences_is_delivered_without_them_and_not_paid_twice(fenced):
    end, ports = formed(fenced)
    assert (end.answer, len(ports.client.calls)) == (GOOD, 1)
    [step] = of(ports, ev.StepCompleted)
    assert step.text == fenced


@pytest.mark.parametrize(
    "text", [f"```json\n{BAD}\n```", f"```python\n{GOOD}\n```", f"```json\n{GOOD}"]
)
def test_what_is_wrong_between_fences_is_put_right(text):
    end, ports = formed(text, GOOD)
    assert (end.answer, len(ports.client.calls)) == (GOOD, 2)


def test_fences_of_an_answer_without_a_form_stay():
    text = f"```json\n{GOOD}\n```"
    end, _ = formed(text, params=CallParams())
    assert end.answer == text


def test_a_json_object_is_any_object():
    params = CallParams(response_format={"type": "json_object"})
    end, ports = formed("[1]", '{"x": 1}', params=params)
    assert (end.answer, len(ports.client.calls)) == ('{"x": 1}', 2)


def test_a_resumed_run_remembers_that_an_answer_was_wrong():
    end, ports = formed(BAD, BAD)
    events = ports.recorder.events
    cut = next(i for i, e in enumerate(events) if isinstance(e, ev.StepFailed))
    fresh: Any = make_ports(planner=ScriptedPlanner(DIRECT))
    task = Task("q", CallParams(response_format=FORMAT))
    again: Any = run_virtual(
        conduct(task, POOL, fresh, Limits(), history=tuple(events[:cut]))
    )
    assert (again.code, fresh.client.calls) == (end.code, [])
