"""Every fault a model can have, at every place in a run, streamed or not.

All of them are asked at once, because most of the time is waiting.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import pytest

from apps.engine import events as ev
from apps.pools.models import Worker
from apps.runs.models import Run, RunState
from apps.runs.records.run_view import RunView
from apps.runs.selectors import run_events
from apps.simulator.faults import faults
from tests.runs.asking import planned
from tests.runs.clients import Said, ask_all, request

FAULTS = sorted(name for name in faults() if name.startswith("fault-"))
BREAK_OFF = {"fault-cut", "fault-cut-quiet", "fault-error-event", "fault-idle"}
"""They speak before they fail: what went out of a last step cannot be taken back."""
ANSWERS_ALL_THE_SAME = {
    "fault-429-once",
    "fault-500-once",
    "fault-filtered",  # the refusal is the answer, unless the pool asks others
    "fault-length",
    "fault-no-usage",
    "fault-other-model",
}
ENDS_OF_CALLS = (
    ev.StepCompleted,
    ev.StepAttemptFailed,
    ev.PlanReplied,
    ev.PlanCallFailed,
)
FALLBACK = "sim-delta"
PLACES = {"first": (2, 1, 1), "middle": (1, 2, 1), "last": (1, 1, 2)}


def events_of(said: Said) -> list[ev.Event]:
    run = Run.objects.across_teams().get(id=said.run_id)
    return [recorded.event for recorded in run_events(run)]


@pytest.fixture
def hurried(stage):
    """The site with every faulty model, each with the least patience there is."""
    for name in FAULTS:
        stage.site.add_worker(name)
    Worker.objects.across_teams().update(
        connect_timeout_s=1, first_byte_timeout_s=1, idle_timeout_s=1, total_timeout_s=5
    )
    return stage.site


def wrong_with(said: Said) -> str:
    """Return what breaks a promise that holds for every run, however it ends."""
    if any(word in said.text for word in ("Traceback", 'File "', "cdk_")):
        return "the answer shows the server's inside"
    run = Run.objects.across_teams().get(id=said.run_id)
    view, events = RunView(), events_of(said)
    for event in events:
        view.add(event)
    end = view.end
    if end is None:
        return "the run has not ended"
    starts = sum(isinstance(e, ev.StepStarted | ev.PlanRequested) for e in events)
    ends = sum(isinstance(e, ENDS_OF_CALLS) for e in events)
    if starts != ends:
        return f"{starts} calls began and {ends} ended"
    row = (run.prompt_tokens, run.completion_tokens, run.cost_micros)
    sums = (view.usage.prompt_tokens, view.usage.completion_tokens)
    told = (end.usage.prompt_tokens, end.usage.completion_tokens)
    if not row == (*sums, view.cost.micros) == (*told, end.cost_micros):
        return f"row {row}, ledger {sums} {view.cost}, end {told}"
    if isinstance(end, ev.RunCompleted) and said.error is None:
        usage = said.usage
        if (usage["prompt_tokens"], usage["completion_tokens"]) != told:
            return f"the client was told {usage}, the ledger {told}"
        told_texts = said.answer.strip(), said.refusal
        if told_texts != (end.answer.strip(), end.refusal):
            return "the client got another answer than the ledger"
        return ""
    if isinstance(end, ev.RunCompleted) or said.error is None:
        return f"ledger: {end.action}, client: {said.error}"
    return "" if set(said.error) == {"message", "type", "param", "code"} else "shape"


def report(answers: Sequence[Said]) -> dict[str, str]:
    return {said.name: wrong for said in answers if (wrong := wrong_with(said))}


@pytest.mark.slow
def test_every_fault_as_a_direct_call_ends_in_an_answer_or_a_named_error(hurried):
    answers = ask_all(
        hurried,
        [
            (
                f"{name}, stream={is_streamed}",
                name,
                request(f"worker/{name}", "What is 2 + 2?", is_streamed=is_streamed),
            )
            for name in FAULTS
            for is_streamed in (False, True)
        ],
    )
    assert report(answers) == {}
    right = {said.fault for said in answers if said.error is None}
    assert right == ANSWERS_ALL_THE_SAME
    codes = {said.error["code"] for said in answers if said.error}
    assert codes == {"worker_failed", "context_length_exceeded", "stream_interrupted"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accepts_prefill", "delivery", "broken_off"),
    [(False, "live", BREAK_OFF), (True, "live", set()), (False, "verified", set())],
)
def test_every_fault_at_every_place_of_a_plan_is_made_good(
    hurried, accepts_prefill, delivery, broken_off
):
    """So is a streamed answer if the next worker goes on from what was sent."""
    Worker.objects.across_teams().update(accepts_prefill=accepts_prefill)
    questions = []
    for number, name in enumerate(FAULTS, start=2):
        for place, workers in PLACES.items():
            plan = planned([number if w == 2 else w for w in workers])
            questions += [
                (
                    f"{name}, {place}, stream={is_streamed}",
                    name,
                    {
                        **request(
                            "conductor-ultra",
                            f"{plan} {place}",
                            is_streamed=is_streamed,
                        ),
                        "conductor": {"delivery": delivery},
                    },
                )
                for is_streamed in ((False, True) if place == "last" else (True,))
            ]
    answers = ask_all(hurried, questions)
    assert report(answers) == {}
    failed = {said.name: said.error["code"] for said in answers if said.error}
    assert failed == {
        f"{name}, last, stream=True": "stream_interrupted" for name in broken_off
    }


def test_attempts_of_a_step_are_three_at_most_and_one_after_a_final_fault(hurried):
    final = {"fault-401", "fault-400", "fault-context-length", "fault-stall"}
    answers = ask_all(
        hurried,
        [
            (name, name, request(f"worker/{name}", "Try.", is_streamed=False))
            for name in ("fault-500", "fault-429", *sorted(final))
        ],
    )
    attempts = {
        said.name: sum(isinstance(e, ev.StepStarted) for e in events_of(said))
        for said in answers
    }
    assert attempts == {"fault-500": 3, "fault-429": 3} | dict.fromkeys(final, 1)


@pytest.mark.parametrize(
    ("conductor", "fault"),
    [
        ("sim-conductor-prose", "unparseable"),
        ("sim-conductor-forward", "forward_reference"),
        ("sim-conductor-unknown", "unknown_worker"),
        ("sim-conductor-long", "too_many_steps"),
    ],
)
def test_conductor_that_never_learns_is_replaced_by_the_fallback(
    site, conductor, fault
):
    site.set_conductor(conductor)
    (said,) = ask_all(
        site,
        [("x", "", request("conductor-ultra", "What is 2 + 2?", is_streamed=True))],
    )
    events = events_of(said)
    rejected = [e for e in events if isinstance(e, ev.PlanRejectedEvent)]
    (accepted,) = (e for e in events if isinstance(e, ev.PlanAccepted))
    assert [e.fault for e in rejected] == [fault] * 3
    assert (accepted.planner, accepted.workers) == ("fallback", (FALLBACK,))
    assert wrong_with(said) == "" and said.error is None


def test_conductor_is_asked_again_with_the_reason(site):
    site.set_conductor("sim-conductor-once-bad")
    (said,) = ask_all(
        site,
        [("x", "", request("conductor-ultra", "What is 2 + 2?", is_streamed=False))],
    )
    events = events_of(said)
    (rejected,) = (e for e in events if isinstance(e, ev.PlanRejectedEvent))
    asked = [
        orjson.loads(e.messages) for e in events if isinstance(e, ev.PlanRequested)
    ]
    assert rejected.reason in asked[1][-1]["content"] + asked[1][1]["content"]
    assert Run.objects.across_teams().get().planner != "fallback"
    assert wrong_with(said) == ""


def test_conductor_whose_line_is_cut_is_replaced_by_the_fallback(site):
    site.set_conductor("sim-conductor-cut")
    (said,) = ask_all(
        site,
        [("x", "", request("conductor-ultra", "What is 2 + 2?", is_streamed=True))],
    )
    events = events_of(said)
    failed = [e.fault for e in events if isinstance(e, ev.PlanCallFailed)]
    run = Run.objects.across_teams().get()
    assert failed == ["incomplete"] * 3
    assert (run.planner, run.state) == ("fallback", RunState.COMPLETED)
    assert wrong_with(said) == ""
