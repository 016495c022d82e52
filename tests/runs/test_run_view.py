"""What the recorded events of a run tell."""

import pytest

from apps.engine.events import PlanKept, PlanRequested, RunResumed
from apps.engine.text import strip_thinking, thinking_in
from apps.engine.usage import Cost, Usage
from apps.playground.message_view import shown_calls
from apps.playground.question import question_of
from apps.runs.records.round_view import CONTINUATION, REPAIR, RIVAL
from apps.runs.records.run_view import fold
from tests.playground import stories


def states(recorded):
    return [step.state for step in fold(recorded).steps]


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("planning", "planning"),
        ("parallel", "running"),
        ("finished", "completed"),
        ("failed", "failed"),
        ("cancelled", "cancelled"),
        ("rejected", "running"),
    ],
)
def test_run_has_the_state_its_events_say(name, state):
    assert fold(stories.ALL[name]()).state == state


def test_run_that_was_only_accepted_is_queued():
    assert fold(stories.planning()[:1]).state == "queued"


def test_steps_that_read_others_wait():
    assert states(stories.parallel()) == ["running", "running", "waiting"]


def test_finished_steps_keep_text_and_figures():
    step = fold(stories.finished()).steps[0]
    assert step.text == "- MVCC\n- Roles"
    assert (step.usage.total_tokens, step.cost) == (1100, Cost(5400))


def test_answer_is_that_of_the_run():
    story = fold(stories.finished())
    assert story.answer == stories.ANSWER
    assert story.final_step is story.steps[2]


def test_failed_step_makes_later_ones_skipped():
    recorded = stories.failed()
    assert states(recorded) == ["completed", "failed", "skipped", "skipped"]


def test_failed_run_keeps_its_best_answer_and_its_reason():
    story = fold(stories.failed())
    assert story.error is not None and story.error.code == "worker_failed"
    assert story.answer == "- MVCC\n- Roles"


def test_cancelled_run_stops_its_steps():
    recorded = stories.cancelled()
    assert states(recorded) == ["cancelled"] * 3
    assert fold(recorded).steps[0].calls[0].state == "stopped"


def test_call_closed_with_its_run_is_no_failure():
    recording = stories.Recording()
    recording.entries = stories.parallel()
    recording.at(900, stories.attempt_failed(0, "claude-sonnet-4", fault="cancelled"))
    step = fold(recording.entries).steps[0]
    assert step.calls[0].state == "stopped"
    assert step.failed_calls == []


def test_every_attempt_is_told():
    step = fold(stories.rescued()).steps[0]
    assert [call.state for call in step.calls] == ["failed", "failed", "completed"]
    assert [call.fault for call in step.failed_calls] == [
        "rate_limited",
        "server_error",
    ]


def test_fallback_worker_is_named_as_the_one_who_worked():
    step = fold(stories.rescued()).steps[0]
    assert (step.worker, step.planned_worker) == ("qwen3-32b", "gpt-5")
    assert step.was_replaced


def test_rejected_plan_keeps_what_the_conductor_wrote():
    (call,) = fold(stories.rejected()).rounds[0].rejected
    assert call.fault == "unknown_worker"
    assert call.output.startswith("model_id")


def test_unneeded_step_is_skipped_from_the_start():
    assert states(stories.chained())[1] == "skipped"


def test_totals_of_a_running_run_are_the_sum_of_its_parts():
    story = fold(stories.finished()[:-1])
    assert story.total_usage == Usage(1240 + 3 * 620, 210 + 3 * 480)
    assert story.total_cost == Cost(412 + 3 * 5400)


def test_unknown_price_makes_the_sum_a_lower_bound():
    story = fold(stories.finished(unknown=True)[:-1])
    assert story.total_cost == Cost(412 + 2 * 5400, has_unknown=True)


def test_conductor_is_part_of_the_totals():
    story = fold(stories.finished())
    assert story.planning_cost == Cost(412)
    assert story.orchestration_usage == Usage(1240, 210)


def test_second_round_begins_another_plan():
    recording = stories.Recording()
    recording.entries = stories.finished()[:-1]
    recording.at(7950, PlanRequested(1, 1, "[]"))
    assert fold(recording.entries).state == "planning"
    recording.at(8000, stories.replied(round_=1), PlanKept(1))
    assert [r.state for r in fold(recording.entries).rounds] == ["planned", "kept"]


def test_calls_in_flight_at_a_crash_are_unknown():
    recording = stories.Recording()
    recording.entries = stories.parallel()
    recording.at(9000, RunResumed(2))
    story = fold(recording.entries)
    assert story.resumes == 1
    assert [s.calls[0].state for s in story.steps[:2]] == ["unknown", "unknown"]


def test_version_of_a_card_changes_only_with_its_own_events():
    recorded = stories.finished()
    before, after = fold(recorded[:7]), fold(recorded[:8])
    assert before.steps[0].version != after.steps[0].version or (
        before.steps[1].version != after.steps[1].version
    )
    assert before.steps[2].version == after.steps[2].version


def test_erased_texts_leave_the_shape_of_the_plan():
    recording = stories.Recording().at(0, stories.created(""))
    plan = stories.accepted((), (0,))
    erased = type(plan)(0, "llm", plan.workers, plan.access, (), (), "")
    story = fold(recording.at(5, erased).entries)
    assert [step.subtask for step in story.steps] == ["", ""]


@pytest.mark.parametrize(
    ("text", "thoughts", "visible"),
    [
        ("Hi", "", "Hi"),
        ("<think>hm</think>Hi", "hm", "Hi"),
        ("hm</think>Hi", "hm", "Hi"),
        ("A<think>x</think>B<think>y</think>C", "x\n\ny", "ABC"),
    ],
)
def test_thinking_is_split_from_the_text(text, thoughts, visible):
    assert (thinking_in(text), strip_thinking(text).strip()) == (thoughts, visible)


@pytest.mark.parametrize(("quicker", "winner"), [(1, "slow"), (2, "quick")])
def test_of_two_rivals_the_one_that_answered_is_named(quicker, winner):
    step = fold(stories.raced(quicker=quicker)).steps[0]
    assert (step.worker, step.state) == (winner, "completed")
    assert [call.worker for call in step.beaten_calls] == [
        "quick" if winner == "slow" else "slow"
    ]
    assert step.failed_calls == []
    assert step.calls[1].reason == RIVAL


def test_step_runs_on_while_one_of_two_rivals_does():
    recorded = stories.raced(quicker=1)
    racing, alone = fold(recorded[:4]).steps[0], fold(recorded[:5]).steps[0]
    assert (racing.state, racing.live_attempt) == ("running", 1)
    assert (alone.state, alone.live_attempt) == ("running", 1)


def test_rival_that_is_closed_after_the_answer_changes_nothing():
    recorded = stories.raced()
    late = [*recorded[:4], recorded[5], recorded[4]]
    assert fold(late).steps[0].state == "completed"


def test_repair_and_continuation_are_told_apart_from_retries():
    notes = [
        [call.reason for call in fold(recorded).steps[0].calls]
        for recorded in (stories.put_right(), stories.went_on(), stories.rescued())
    ]
    assert notes == [["", REPAIR], ["", CONTINUATION], ["", "", ""]]


def test_answer_that_calls_tools_names_them():
    story = fold(stories.called_tools())
    (call,) = shown_calls(story.tool_calls)
    assert (call.name, call.arguments) == ("look_up", '{"term": "<b>MVCC</b>"}')
    assert story.steps[0].tool_calls == story.tool_calls
    question = question_of(story.params)
    assert (question.tools, question.delivery) == (("look_up",), "verified")


def test_images_are_named_by_type_and_size_or_address():
    assert question_of(fold(stories.called_tools()).params).images == (
        "image/png, 2.9\xa0KB",
        stories.FOREIGN,
    )
