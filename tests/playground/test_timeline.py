"""The calls of a run over time."""

from datetime import timedelta

from django.template.loader import render_to_string

from apps.playground.run_page import compose
from apps.playground.timeline import lay_out
from apps.runs.records.run_view import RunView, fold
from tests.playground import stories

SECOND = timedelta(seconds=1)


def test_bars_stand_where_the_calls_were():
    story = fold(stories.finished())
    conductor, first, *_ = lay_out(story, stories.START).bars
    assert (conductor.start_ms, conductor.duration_ms) == (12, 840)
    assert (first.start_ms, first.duration_ms) == (866, 3830)


def test_running_call_reaches_to_now():
    story = fold(stories.parallel())
    line = lay_out(story, stories.START + 2 * SECOND)
    running = [bar for bar in line.bars if bar.state == "running"]
    assert all(bar.start + bar.width == 100 for bar in running)


def test_every_attempt_has_a_bar():
    line = lay_out(fold(stories.rescued()), stories.START)
    assert [bar.state for bar in line.bars].count("failed") == 2


def test_bars_never_leave_the_line():
    for make in stories.ALL.values():
        line = lay_out(fold(make()), stories.START + 3 * SECOND)
        assert all(b.start >= 0 and b.start + b.width <= 100.01 for b in line.bars)


def test_story_without_events_has_no_bars():
    assert lay_out(RunView(), stories.START).bars == ()


def test_parallel_calls_are_counted(run_id=stories.RUN_ID):
    assert compose(run_id, stories.finished(), stories.START).parallel == 2
    assert compose(run_id, stories.rescued(), stories.START).parallel == 1


def test_the_time_that_people_took_to_approve_is_not_in_the_line():
    line = lay_out(fold(stories.approved()), stories.START)
    assert (line.span_ms, line.waited_ms) == (1870, 180_000)
    (conductor, step) = line.bars
    assert (conductor.start_ms, step.start_ms) == (12, 860)


def test_the_line_stands_still_while_people_decide():
    line = lay_out(fold(stories.held()), stories.START + 60 * SECOND)
    assert line.span_ms == 860


def test_a_run_says_how_long_it_waited_for_approval_beside_its_time():
    body = compose(stories.RUN_ID, stories.approved(), stories.START)
    metrics = render_to_string("playground/_metrics.html", {"body": body})
    assert "<dt>Time</dt><dd>1.9 s</dd>" in metrics
    assert "waited 3 min for approval" in metrics
