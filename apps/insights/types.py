"""Values that cross the border of the insights app."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal, get_args

from django.utils.translation import gettext_noop as _

from apps.planners.light.exploring import EXPLORED
from apps.pools.models import TierName

Group = Literal["day", "tier", "planner", "worker", "key", "member", "family", "source"]
GROUPS: tuple[Group, ...] = get_args(Group)
PLANNER_WORDS = {
    "": _("No plan"),
    "approver": _("Edited by an approver"),
    "fallback": _("Fallback plan"),
    "given_plan": _("Made before the run"),
    "light": _("Light planner"),
    "light_cascade": _("Light planner or conductor"),
    EXPLORED: _("Light planner, exploring"),
    "language_model": _("Language model"),
    "single_worker": _("One worker, without a plan"),
    "tool_continuation": _("Without a new plan"),
}
TIER_WORDS = {str(each): str(each.label) for each in TierName} | {
    "direct": _("One worker")
}


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What insights are asked of."""

    team_id: uuid.UUID
    since: datetime
    """The beginning of a day of UTC."""
    until: datetime
    """Runs that began from then on do not count. A period ends with a day, or now."""
    with_tests: bool = False
    """True: runs of evaluations and shadow tests count as well."""

    @property
    def first_day(self) -> date:
        """Return the first day of the period."""
        return self.since.date()

    @property
    def last_day(self) -> date:
        """Return the last day, which may be in progress."""
        return (self.until - timedelta.resolution).date()

    @property
    def days(self) -> int:
        """Return how many days there are, the one in progress included."""
        return (self.last_day - self.first_day).days + 1

    def earlier(self, days: int) -> Inquiry:
        """Return the same of so many days before the period."""
        return replace(self, since=self.since - timedelta(days=days), until=self.since)


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Two percentiles of some values, to within 4.5 %."""

    median: int
    p95: int
    values: int
    """How many there are."""


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """What some queries used. Days, tiers, workers and so on are told by `key`."""

    key: str
    label: str
    runs: int
    failed: int
    prompt_tokens: int
    completion_tokens: int
    cost_micros: int
    """The known part."""
    has_unknown_cost: bool
    latency_ms: Percentiles | None
    """Of answered runs, or of a worker's answered steps. None: there is none."""
    first_token_ms: Percentiles | None
    """None: not known of any."""
    cost_each: Percentiles | None
    """In micro-dollars, of those of known cost."""
    based_runs: int
    """Answered runs of known cost and sizes; the next figures are of these."""
    based_asked: int
    based_answered: int
    based_tokens: int
    based_cost_micros: int

    @property
    def tokens(self) -> int:
        """Return input plus output tokens."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def tokens_each(self) -> int | None:
        """Return the mean tokens of a run; None: there is none."""
        return round(self.tokens / self.runs) if self.runs else None

    @property
    def mean_cost_micros(self) -> int | None:
        """Return the mean of the known cost; None: there is no run."""
        return round(self.cost_micros / self.runs) if self.runs else None

    @property
    def failed_share(self) -> float | None:
        """Return the share that failed; None: there is no run."""
        return self.failed / self.runs if self.runs else None


@dataclass(frozen=True, slots=True)
class QueryReport:
    """Queries of a period."""

    group: Group
    rows: Sequence[QueryFigures]
    """Days ascend; others come by cost, the dearest first."""
    days: Sequence[QueryFigures]
    """Whatever the group is; they ascend."""
    earlier_days: Sequence[QueryFigures]
    """Those before the period, 28 or as many as it has."""
    total: QueryFigures
    before: QueryFigures
    """Of the period of the same length before."""
    is_complete: bool
    """False: runs of some days have not been summed yet, and are missing."""


@dataclass(frozen=True, slots=True)
class FaultFigures:
    """One fault in a period."""

    stage: str
    """plan, step, loop (repeated work) or run."""
    fault: str
    worker: str
    """Empty for the conductor and for whole runs."""
    count: int
    before: int
    """In the period of the same length before."""
    runs: int
    """Runs that had it."""
    failed: int
    """Of these, runs that failed."""
    cost_micros: int
    """Spent in vain: the known part."""
    rescues: Mapping[str, int]
    """How often each rescue followed."""
    examples: Sequence[str]
    """Ids of the latest runs that had it."""
    by_day: Mapping[date, int]


@dataclass(frozen=True, slots=True)
class FaultReport:
    """Faults and loops of a period."""

    faults: Sequence[FaultFigures]
    """The most frequent first."""
    loops: Sequence[FaultFigures]
    unseen: Sequence[str]
    """Names of the faults that did not happen."""
    runs: int
    """All runs of the period."""
    is_complete: bool


@dataclass(frozen=True, slots=True)
class ShapeFigures:
    """Plans of one shape."""

    shape: str
    words: str
    """Steps of each depth, for example `2 → 1`."""
    steps: int
    access: Sequence[Sequence[int]]
    runs: int
    completed: int
    failed: int
    tokens: int
    cost_micros: int
    has_unknown_cost: bool
    latency_ms: Percentiles | None
    examples: Sequence[str]
    liked: int
    disliked: int
    passed: int
    """Verdicts of reviewers."""
    not_passed: int


@dataclass(frozen=True, slots=True)
class ShapeReport:
    """Shapes of plans of a period."""

    rows: Sequence[ShapeFigures]
    """The most frequent first."""
    runs: int
    is_complete: bool
