"""What an A/B test found so far: both arms side by side, and how they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from apps.evaluation.ab.models import ABTest
from apps.evaluation.ab.selectors import runs_of
from apps.evaluation.opinions import OpinionCounts, opinions_counted, opinions_of
from apps.evaluation.reports.statistics import (
    Interval,
    median_and_p95,
    share,
    unpaired_difference,
)
from apps.governance.models import Verdict
from apps.runs.models import RunState


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm of a test."""

    runs: int
    keys: int
    """That had runs."""
    open: int
    """Runs in progress."""
    cancelled: int
    """By callers; they count in no share."""
    failed: int
    failures: Interval | None
    """Share of the completed and the failed runs. None: there is none."""
    cost_micros: int
    """The known part, of the completed and the failed runs, like the tokens."""
    has_unknown_cost: bool
    tokens: int
    latency_ms: tuple[int, int]
    """Median and 95th percentile of the completed runs."""
    opinions: OpinionCounts
    rated_good: Interval | None
    """Share of the ratings. None: there is none."""
    passed: Interval | None
    """Share of the reviewed runs. None: there is none."""

    @property
    def ended(self) -> int:
        """Return the runs that completed or failed."""
        return self.runs - self.open - self.cancelled

    @property
    def completed(self) -> int:
        """Return the runs that completed; without one there is no latency."""
        return self.ended - self.failed


@dataclass(frozen=True, slots=True)
class ABReport:
    """The figures of a test, and what arm b has more than arm a."""

    a: ArmFigures
    b: ArmFigures
    failures: Interval | None
    """Difference of the shares of failures. None: an arm has none, like the next."""
    rated_good: Interval | None
    passed: Interval | None


class _Row(NamedTuple):
    id: UUID
    arm: str
    api_key_id: UUID | None
    state: str
    cost_micros: int
    has_unknown_cost: bool
    prompt_tokens: int
    completion_tokens: int
    latency_ms: int | None


def ab_report(test: ABTest) -> ABReport:
    """Return what a test has found so far."""
    found: Any = runs_of(test).values_list(
        "id",
        "ab_arm",
        "api_key_id",
        "state",
        "cost_micros",
        "has_unknown_cost",
        "prompt_tokens",
        "completion_tokens",
        "latency_ms",
    )
    rows = [_Row(*each) for each in found]
    a, b = (
        _figures(test.team_id, [row for row in rows if row.arm == arm])
        for arm in ("a", "b")
    )
    return ABReport(
        a,
        b,
        unpaired_difference(b.failed, b.ended, a.failed, a.ended),
        unpaired_difference(
            b.opinions.up,
            b.opinions.up + b.opinions.down,
            a.opinions.up,
            a.opinions.up + a.opinions.down,
        ),
        unpaired_difference(
            b.opinions.verdicts[Verdict.PASS],
            b.opinions.reviewed,
            a.opinions.verdicts[Verdict.PASS],
            a.opinions.reviewed,
        ),
    )


def _figures(team_id: UUID, rows: Sequence[_Row]) -> ArmFigures:
    completed = [row for row in rows if row.state == RunState.COMPLETED]
    failed = [row for row in rows if row.state == RunState.FAILED]
    ended = [*completed, *failed]
    run_ids = [row.id for row in rows]
    opinions = opinions_counted(opinions_of(team_id, run_ids), run_ids)
    return ArmFigures(
        runs=len(rows),
        keys=len({row.api_key_id for row in rows}),
        open=sum(row.state == RunState.RUNNING for row in rows),
        cancelled=sum(row.state == RunState.CANCELLED for row in rows),
        failed=len(failed),
        failures=share(len(failed), len(ended)),
        cost_micros=sum(row.cost_micros for row in ended),
        has_unknown_cost=any(row.has_unknown_cost for row in ended),
        tokens=sum(row.prompt_tokens + row.completion_tokens for row in ended),
        latency_ms=median_and_p95([row.latency_ms or 0 for row in completed]),
        opinions=opinions,
        rated_good=share(opinions.up, opinions.up + opinions.down),
        passed=share(opinions.verdicts[Verdict.PASS], opinions.reviewed),
    )
