"""Reports the shapes of plans: how often, how well, at what cost."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator

from apps.core.ids import first_id
from apps.governance.models import RunFeedback
from apps.governance.reviews.reads import review_items
from apps.insights.periods import PeriodSources, period_of
from apps.insights.query_report import percentiles
from apps.insights.stored import shape_rows
from apps.insights.sums import ShapeSlot, ShapeSums
from apps.insights.types import Inquiry, ShapeFigures, ShapeReport
from apps.runs.models import NOT_BY_CALLERS, Run
from apps.runs.selectors import shape_of

JUDGED = 2_000
"""The newest ratings, and the newest verdicts, that are looked at."""
PASS = "pass"  # nosec B105


def shape_report(asked: Inquiry) -> ShapeReport:
    """Return the shapes of the plans of a team's runs of a period.

    Ratings and verdicts are those given by now: they come after the runs.
    """
    period = period_of(asked)
    found: dict[str, ShapeSums] = {}
    for slot, sums in _all(asked, period):
        if slot.by_callers or asked.with_tests:
            found.setdefault(slot.shape, ShapeSums()).merge(sums)
    opinions = _opinions(asked)
    rows = [_figures(key, sums, opinions[key]) for key, sums in found.items()]
    return ShapeReport(
        rows=sorted(rows, key=lambda row: (-row.runs, row.words, row.shape)),
        runs=sum(row.runs for row in rows),
        is_complete=period.is_complete,
    )


def _all(
    asked: Inquiry, period: PeriodSources
) -> Iterator[tuple[ShapeSlot, ShapeSums]]:
    yield from shape_rows(asked.team_id, list(period.spans))
    for collected in period.rest.values():
        yield from collected.shapes.items()


def _figures(key: str, sums: ShapeSums, opinions: Counter[str]) -> ShapeFigures:
    shape = shape_of(sums.access)
    return ShapeFigures(
        shape=key,
        words=shape.words,
        steps=shape.steps,
        access=sums.access,
        runs=sums.runs,
        completed=sums.completed,
        failed=sums.failed,
        tokens=sums.tokens,
        cost_micros=sums.cost_micros,
        has_unknown_cost=bool(sums.unknown_costs),
        latency_ms=percentiles(sums.latencies),
        examples=sums.examples,
        liked=opinions["up"],
        disliked=opinions["down"],
        passed=opinions["passed"],
        not_passed=opinions["not passed"],
    )


def _opinions(asked: Inquiry) -> dict[str, Counter[str]]:
    """Return how often runs of each shape were rated, and judged by reviewers."""
    given = [*_ratings(asked), *_verdicts(asked)]
    runs = Run.objects.for_team(asked.team_id).filter(
        id__in={run_id for run_id, _ in given},
        created_at__gte=asked.since,
        created_at__lt=asked.until,
    )
    if not asked.with_tests:
        runs = runs.exclude(source__in=NOT_BY_CALLERS)
    shapes = {
        id: shape_of([step.get("access", ()) for step in plan]).key
        for id, plan in runs.values_list("id", "plan")
    }
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for run_id, opinion in given:
        if run_id in shapes:
            found[shapes[run_id]][opinion] += 1
    return found


def _ratings(asked: Inquiry) -> Iterator[tuple[uuid.UUID, str]]:
    rows = RunFeedback.objects.for_team(asked.team_id).filter(
        run_id__gte=first_id(asked.since), run_id__lt=first_id(asked.until)
    )
    rows = rows.exclude(rating="")
    yield from rows.order_by("-updated_at").values_list("run_id", "rating")[:JUDGED]


def _verdicts(asked: Inquiry) -> Iterator[tuple[uuid.UUID, str]]:
    rows = review_items(asked.team_id, state="reviewed").filter(
        run_id__gte=first_id(asked.since), run_id__lt=first_id(asked.until)
    )
    given = rows.order_by("-run_id").values_list("run_id", "reviews__verdict")
    for run_id, verdict in given[:JUDGED]:
        if verdict:
            yield run_id, "passed" if verdict == PASS else "not passed"
