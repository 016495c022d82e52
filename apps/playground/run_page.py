"""The context of `_run_body.html`: the run, its drawings, the time line.

The same value feeds the first page and every live update, so both look the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import orjson

from apps.core import plan_layout
from apps.governance.approvals.pending import approval_in_teams, approvers_of
from apps.playground import timeline
from apps.playground.question import Question, question_of
from apps.pools.models import Worker
from apps.pools.selectors import output_prices, worker_list
from apps.runs.models import Run
from apps.runs.records.round_view import RoundView, StepView
from apps.runs.records.run_view import RunView, fold
from apps.runs.selectors import usual_times
from apps.runs.types import RecordedEvent

APPROVERS_SHOWN = 5
"""Names of people who may approve a plan."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What the numbers of a live run are estimated from."""

    usual_ms: int | None
    """How long half of the latest runs of its model took at most."""
    prices: str
    """JSON: micro-dollars for a million tokens that a worker writes, by its name."""


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """A step with its place in the drawing."""

    step: StepView
    node: plan_layout.Node


@dataclass(frozen=True, slots=True)
class DrawnRound:
    """A round with its drawing."""

    round: RoundView
    layout: plan_layout.Layout
    nodes: tuple[DrawnStep, ...]

    @property
    def skipped(self) -> frozenset[int]:
        """Return the steps that are not run; lines to them are ghosted as well."""
        return frozenset(s.index for s in self.round.steps if s.state == "skipped")


@dataclass(frozen=True, slots=True)
class HeldPlan:
    """A plan that waits for people, and for whom."""

    approvers: tuple[str, ...]
    """Names of those who may approve it, the first few."""
    more: int
    """How many others may."""
    needed: int
    """Approvals that it takes."""
    until: datetime


@dataclass(frozen=True, slots=True)
class RunBody:
    """Everything the partials of a run read."""

    run_id: uuid.UUID
    story: RunView
    question: Question
    rounds: tuple[DrawnRound, ...]
    timeline: timeline.Timeline
    held: HeldPlan | None = None
    """None: no plan waits for people, or the page does not say for whom."""

    @property
    def states(self) -> tuple[str, ...]:
        """Return the states that the steps of its drawings are in, each once."""
        shown = (step.shown_state for step in self.story.steps)
        return tuple(dict.fromkeys(shown))

    @property
    def writing(self) -> str:
        """Return the calls in flight by round, step and attempt, as the pages' script
        names them: `0-:1` is the conductor's, `0-2:1` one of step 3.
        """
        rounds, steps = self.story.rounds, self.story.steps
        calls = [(f"{r.key}-", c) for r in rounds for c in (*r.calls, *r.vector_calls)]
        calls += [(step.key, call) for step in steps for call in step.calls]
        flying = [(key, call) for key, call in calls if call.state == "running"]
        return " ".join(f"{key}:{call.number}" for key, call in flying)

    @property
    def clock_began_at(self) -> datetime | None:
        """Return from when its time counts on; None: it stands still.

        That is its beginning, later by what it has waited for people.
        """
        story = self.story
        if story.created_at is None or story.is_over or story.waits_for:
            return None
        return story.created_at + timedelta(milliseconds=self.timeline.waited_ms)

    @property
    def busy_ms(self) -> int:
        """Return the time of all calls added up, of those in flight up to now."""
        return sum(bar.duration_ms for bar in self.timeline.bars)

    @property
    def parallel(self) -> int:
        """Return the most calls that were in flight at the same moment."""
        bars = self.timeline.bars
        return max((_overlaps(bar, bars) for bar in bars), default=0)


def compose(
    run_id: uuid.UUID, recorded: Sequence[RecordedEvent], now: datetime
) -> RunBody:
    """Return the body of a run's page as of `now`."""
    story = fold(recorded)
    return RunBody(
        run_id=run_id,
        story=story,
        question=question_of(story.params),
        rounds=tuple(_drawn(round_) for round_ in story.rounds),
        timeline=timeline.lay_out(story, now),
    )


def with_approvers(team_id: uuid.UUID, body: RunBody) -> RunBody:
    """Return the body with who may approve the plan that waits, if one does."""
    waiting = body.story.open_approval
    approval = approval_in_teams([team_id], body.run_id) if waiting else None
    if waiting is None or approval is None:
        return body
    names = [person.get_full_name() for person in approvers_of(approval)]
    held = HeldPlan(
        tuple(names[:APPROVERS_SHOWN]),
        max(0, len(names) - APPROVERS_SHOWN),
        waiting.request.approvals_needed,
        approval.expires_at,
    )
    return replace(body, held=held)


def pace_of(run: Run | None) -> Pace | None:
    """Return what a live run may take; None once it is over."""
    if run is None or run.is_over:
        return None
    usual_ms, _ = usual_times(run.team_id, run.model) or (None, None)
    return Pace(usual_ms, orjson.dumps(output_prices(run.team_id)).decode())


def failed_worker(team_id: uuid.UUID, body: RunBody | None) -> Worker | None:
    """Return the worker with which a run failed, if the team still has it."""
    if body is None or body.story.state != "failed":
        return None
    failed = [step.worker for step in body.story.steps if step.state == "failed"]
    return worker_list(team_id).filter(name__in=failed[-1:]).first()


def _drawn(round_: RoundView) -> DrawnRound:
    layout = plan_layout.lay_out([step.access for step in round_.steps])
    pairs = zip(round_.steps, layout.nodes, strict=True)
    return DrawnRound(round_, layout, tuple(DrawnStep(s, n) for s, n in pairs))


def _overlaps(bar: timeline.TimelineBar, bars: Sequence[timeline.TimelineBar]) -> int:
    """Return how many calls were in flight when `bar` started, itself included."""
    return sum(b.start_ms <= bar.start_ms < b.start_ms + b.duration_ms for b in bars)
