"""Lays the calls of a run out over time, so that what ran in parallel shows.

Positions are in per cent of the run's length: the drawing scales to any width.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext

from apps.runs.records.round_view import CallView
from apps.runs.records.run_view import RunView

MIN_SPAN_MS = 100
MIN_BAR_PERCENT = 0.6
"""So that a very short call can still be seen."""
STEPS_MS = (
    20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000,
    120_000, 300_000, 600_000, 1_800_000, 3_600_000,
)  # fmt: skip
MAX_TICKS = 5


@dataclass(frozen=True, slots=True)
class TimelineBar:
    """One call as a bar."""

    label: str
    anchor: str
    """Id of the card that shows the call."""
    kind: str
    """conductor or step."""
    state: str
    start: float
    width: float
    first_token: float | None
    """Where the first token came, in per cent of the run's length."""
    first_ms: int | None
    """When the first token came, from the start of the run."""
    start_ms: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on the time axis."""

    at: float
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """All bars of a run, in the order they started."""

    bars: tuple[TimelineBar, ...]
    ticks: tuple[Tick, ...]
    span_ms: int
    waited_ms: int = 0
    """How long the run waited for people: no part of the line."""


def lay_out(story: RunView, now: datetime) -> Timeline:
    """Return the time line; calls that still run reach to `now`."""
    if story.created_at is None:
        return Timeline((), (), MIN_SPAN_MS)
    end = story.last_at if story.is_over and story.last_at else now
    waited_ms = story.waited_ms(end)
    # Entries of older versions count the time in which people decided as well.
    recorded_ms = 0 if waited_ms else story.latency_ms or 0
    span = max(recorded_ms, _at_work(story, end), MIN_SPAN_MS)
    bars = [
        _bar(story, span, call, end, label, anchor)
        for call, label, anchor in _calls(story)
    ]
    bars.sort(key=lambda bar: bar.start_ms)
    return Timeline(tuple(bars), _ticks(span), span, waited_ms)


def _calls(story: RunView) -> list[tuple[CallView, str, str]]:
    rows = [
        (call, gettext("Conductor"), f"plan-{round_.index}")
        for round_ in story.rounds
        for call in round_.calls
    ]
    rows += [
        (
            call,
            gettext("Vector {worker}").format(worker=call.worker),
            f"plan-{round_.index}",
        )
        for round_ in story.rounds
        for call in round_.vector_calls
    ]
    rows += [
        (call, f"{step.number} {call.worker}", f"step-{step.key}")
        for step in story.steps
        for call in step.calls
    ]
    return rows


def _bar(
    story: RunView, span: int, call: CallView, end: datetime, label: str, anchor: str
) -> TimelineBar:
    start_ms = _at_work(story, call.started_at)
    length = call.latency_ms
    if length is None:
        length = max(_between(call.started_at, end), 0)
    start = min(100 * start_ms / span, 100 - MIN_BAR_PERCENT)
    first = call.first_token_ms
    return TimelineBar(
        label=label,
        anchor=anchor,
        kind="step" if call.worker else "conductor",
        state="rejected" if call.state == "completed" and call.fault else call.state,
        start=round(start, 2),
        width=round(min(max(100 * length / span, MIN_BAR_PERCENT), 100 - start), 2),
        first_token=None if first is None else round(start + 100 * first / span, 2),
        first_ms=None if first is None else start_ms + first,
        start_ms=start_ms,
        duration_ms=length,
    )


def _ticks(span: int) -> tuple[Tick, ...]:
    step = next((s for s in STEPS_MS if span / s <= MAX_TICKS), STEPS_MS[-1])
    marks = range(0, span + 1, step)
    return tuple(Tick(round(100 * mark / span, 2), mark) for mark in marks)


def _at_work(story: RunView, moment: datetime) -> int:
    """Return the run's time until then, without the time that people took to decide."""
    return _between(story.created_at or moment, moment) - story.waited_ms(moment)


def _between(start: datetime, end: datetime) -> int:
    return (end - start) // timedelta(milliseconds=1)
