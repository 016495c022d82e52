"""What the newest evaluation and the newest shadow test measured of tiers and workers.

Both run the same tasks or prompts with both sides, so unlike the baseline these figures
are no estimate.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Count, F, Q, Sum

from apps.evaluation.models import (
    GRADED,
    Evaluation,
    EvaluationOutcome,
    ResultState,
)
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.shadow.report import shadow_report
from apps.evaluation.shadow.selectors import shadow_list
from apps.evaluation.shadow.settings import ShadowSettings

LOOKED_AT = 10
"""Evaluations, and shadow tests, that are looked at: the newest."""


@dataclass(frozen=True, slots=True)
class MeasuredSide:
    """One of two things that were compared."""

    name: str
    cost_micros: float
    """Of one task or run."""
    tokens: float
    right: float | None
    """Share of the tasks that it had right. None: nobody looked."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Two sides on the same tasks or prompts."""

    id: uuid.UUID
    name: str
    """Of the suite or the shadow test."""
    pairs: int
    """Tasks, or pairs of runs."""
    first: MeasuredSide
    """A tier."""
    second: MeasuredSide
    """What it is compared with: the best single worker, or a candidate."""
    has_unknown_cost: bool

    @property
    def cost_ratio(self) -> float | None:
        """Return how many times the cost of the second one the first one is."""
        other = self.second.cost_micros
        return self.first.cost_micros / other if other else None

    @property
    def token_ratio(self) -> float | None:
        """Return the same of the tokens."""
        return self.first.tokens / self.second.tokens if self.second.tokens else None


def measured_by_evaluation(team_id: uuid.UUID) -> Measured | None:
    """Return a tier beside the best worker of the newest evaluation that has both."""
    done = evaluation_list(team_id).filter(outcome=EvaluationOutcome.COMPLETED)
    for evaluation in done[:LOOKED_AT]:
        settings = EvaluationSettings.model_validate(evaluation.settings)
        kinds = [system.kind for system in settings.systems]
        if "tier" in kinds and "worker" in kinds:
            return _of_evaluation(evaluation, settings)
    return None


def measured_by_shadow_test(team_id: uuid.UUID) -> Measured | None:
    """Return both sides of the newest shadow test that has compared answers."""
    for test in shadow_list(team_id)[:LOOKED_AT]:
        report = shadow_report(test)
        pairs = report.compared
        if not pairs:
            continue
        settings = ShadowSettings.model_validate(test.settings)
        tier, candidate = report.original, report.candidate
        return Measured(
            test.id,
            test.name,
            pairs,
            MeasuredSide(
                f"{settings.pool}/{settings.tier}",
                tier.cost_micros / pairs,
                tier.tokens / pairs,
                None,
            ),
            MeasuredSide(
                settings.candidate.label,
                candidate.cost_micros / pairs,
                candidate.tokens / pairs,
                None,
            ),
            report.has_unknown_cost,
        )
    return None


def _of_evaluation(
    evaluation: Evaluation, settings: EvaluationSettings
) -> Measured | None:
    """Return its first tier beside its best worker; of equal ones the cheapest."""
    rows = results_of(evaluation).filter(state__in=GRADED).values("system")
    sums = rows.annotate(
        ended=Count("id"),
        right=Count("id", filter=Q(state=ResultState.RIGHT)),
        cost=Sum(F("cost_micros")),
        used=Sum(F("tokens")),
        unknown=Count("id", filter=Q(has_unknown_cost=True)),
    )
    found = {row["system"]: row for row in sums}
    sides = {
        place: MeasuredSide(
            settings.systems[place].label,
            row["cost"] / row["ended"],
            row["used"] / row["ended"],
            row["right"] / row["ended"],
        )
        for place, row in found.items()
    }
    tiers = [p for p in sorted(sides) if settings.systems[p].kind == "tier"]
    workers = [p for p in sides if settings.systems[p].kind == "worker"]
    if not tiers or not workers:
        return None
    best = max(workers, key=lambda p: (sides[p].right or 0, -sides[p].cost_micros))
    first = tiers[0]
    return Measured(
        evaluation.id,
        evaluation.version.suite.name,
        found[first]["ended"],
        sides[first],
        sides[best],
        bool(found[first]["unknown"] or found[best]["unknown"]),
    )
