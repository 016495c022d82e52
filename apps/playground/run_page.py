"""What `_run_body.html` needs, put together: story, drawings, time line.

The same value feeds the first page and every live update, so both look the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.playground import graph, timeline
from apps.playground.run_story import RoundStory, RunStory, StepStory
from apps.playground.run_view_builder import tell
from apps.runs.types import RecordedEvent


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """A step with its place in the drawing."""

    step: StepStory
    node: graph.Node


@dataclass(frozen=True, slots=True)
class DrawnRound:
    """A round with its drawing."""

    round: RoundStory
    layout: graph.Layout
    nodes: tuple[DrawnStep, ...]

    @property
    def skipped(self) -> frozenset[int]:
        """Return the steps that are not run; lines to them are ghosted as well."""
        return frozenset(s.index for s in self.round.steps if s.state == "skipped")


@dataclass(frozen=True, slots=True)
class RunBody:
    """Everything the partials of a run read."""

    run_id: uuid.UUID
    story: RunStory
    rounds: tuple[DrawnRound, ...]
    timeline: timeline.Timeline

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
    story = tell(recorded)
    return RunBody(
        run_id=run_id,
        story=story,
        rounds=tuple(_drawn(round_) for round_ in story.rounds),
        timeline=timeline.lay_out(story, now),
    )


def _drawn(round_: RoundStory) -> DrawnRound:
    layout = graph.lay_out([step.access for step in round_.steps])
    pairs = zip(round_.steps, layout.nodes, strict=True)
    return DrawnRound(round_, layout, tuple(DrawnStep(s, n) for s, n in pairs))


def _overlaps(bar: timeline.TimelineBar, bars: Sequence[timeline.TimelineBar]) -> int:
    """Return how many calls were in flight when `bar` started, itself included."""
    return sum(b.start_ms <= bar.start_ms < b.start_ms + b.duration_ms for b in bars)
