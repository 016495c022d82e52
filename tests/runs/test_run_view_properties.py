"""What holds for the read model of every run, however it is cut and folded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engine import events as ev
from apps.engine.usage import Cost
from apps.runs.models import Run, Step
from apps.runs.records.end_facts import end_facts
from apps.runs.records.projection import (
    CHANGING,
    STEP_COLUMNS,
    run_columns,
    step_columns,
)
from apps.runs.records.run_view import RunView
from apps.runs.selectors import run_view
from tests.engine.test_properties import (
    bounds,
    conducted,
    many,
    plans,
    tasks,
    worlds,
)
from tests.factories import TeamFactory
from tests.playground import stories
from tests.runs.recording import record, told

TEXTS = ("messages", "output", "reasoning", "tool_calls")
asked_for_a_plan = [stories.created(), ev.PlanRequested(0, 1, "[]"), stories.replied()]


def folded(events: list[ev.Event], **options: Any) -> RunView:
    view = RunView(**options)
    for seq, event in enumerate(events, start=1):
        view.add(event, seq)
    return view


def facts(view: RunView) -> tuple[Any, ...]:
    """Return everything that a view holds, and what it reads of it."""
    sums = (view.usage, view.cost, view.orchestration_usage, view.orchestration_cost)
    return (view.rounds, sums, run_columns(view), view.state, view.resumes, view.end)


@st.composite
def histories(draw: st.DrawFn) -> list[ev.Event]:
    """Return the events of a run, of which another process may have taken over."""
    plan, world, limits = draw(plans()), draw(worlds()), draw(bounds)
    task = draw(tasks)
    _, ports = conducted(plan, world(), limits, task=task)
    events = list(ports.recorder.events)
    if draw(st.booleans()):
        commits = [n for n, e in enumerate(events, 1) if isinstance(e, ev.StepStarted)]
        events = events[: draw(st.sampled_from(commits))]
        _, resumed = conducted(plan, world(), limits, tuple(events), task)
        events += resumed.recorder.events
    return [*asked_for_a_plan, *events]


@many
@given(histories(), st.data())
def test_a_prefix_and_then_the_rest_make_the_view_of_all(
    events: list[ev.Event], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(events)))
    view = folded(events[:cut])
    assert facts(view) == facts(folded(events[:cut]))
    for seq, event in enumerate(events[cut:], start=cut + 1):
        view.add(event, seq)
    assert facts(view) == facts(folded(events))


@many
@given(histories())
def test_sums_of_the_calls_are_those_of_the_run(events: list[ev.Event]) -> None:
    view = folded(events)
    calls = (*view.planning_calls, *view.step_calls)
    assert sum((call.usage for call in calls[1:]), calls[0].usage) == view.usage
    assert sum(call.cost.micros for call in calls) == view.cost.micros
    parts = (*(step.cost for step in view.steps), view.orchestration_cost)
    assert sum(parts, Cost()) == view.cost
    assert view.end is not None
    of_plans = stories.replied()  # the engine was not told of it
    assert view.cost.micros == view.end.cost_micros + (of_plans.cost_micros or 0)


@many
@given(histories())
def test_a_run_that_is_over_has_no_call_and_no_step_in_flight(
    events: list[ev.Event],
) -> None:
    view = folded(events)
    calls = (*view.planning_calls, *view.step_calls)
    assert not [call for call in calls if call.state == "running"]
    over = {"completed", "failed", "skipped", "cancelled"}
    assert {step.state for step in view.steps} <= over
    assert all(step.shown_state == step.state for step in view.steps)


@many
@given(histories())
def test_a_view_without_texts_makes_the_same_rows(events: list[ev.Event]) -> None:
    whole, lean = folded(events), folded(events, keeps_texts=False)
    assert run_columns(whole) == run_columns(lean)
    assert [step_columns(s) for s in whole.steps] == [
        step_columns(s) for s in lean.steps
    ]
    calls = (*lean.planning_calls, *lean.step_calls)
    assert not [name for call in calls for name in TEXTS if getattr(call, name)]
    assert (lean.prompt, lean.params) == ("", "")


@pytest.mark.django_db
@pytest.mark.parametrize("name", stories.ALL)
def test_rows_hold_what_the_view_of_the_entries_says(name: str) -> None:
    team = TeamFactory.create()
    run = record(team, told(stories.ALL[name]))
    view = run_view(run)
    row = Run.objects.for_team(team.id).values(*CHANGING).get(id=run.id)
    derived = dict(zip(CHANGING, run_columns(view), strict=True))
    derived["plan"] = _as_json(view.plan_drawing)
    derived["findings"] = end_facts(view)["findings"]
    if not view.is_over:
        derived["plan"] = row["plan"]  # calls that only began are no news to a list
    assert row == derived
    steps = Step.objects.for_team(team.id).filter(run=run).order_by("round", "index")
    assert list(steps.values_list(*STEP_COLUMNS)) == [
        step_columns(step) for step in view.steps if step.is_over
    ]


def _as_json(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**step, "access": list(step["access"])} for step in plan]
