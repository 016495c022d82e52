"""Brings the light planners in use up to date with requests graded since their fits.

Evaluations count in the next fit: they are made for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max
from django.utils import timezone

from apps.core.ids import first_id
from apps.evaluation.models import RunOutcome
from apps.planners.light.adaptation import (
    Ability,
    Adaptation,
    AdaptationSettings,
    Cell,
    GradedObservation,
)
from apps.planners.light.stored_counts import counts_to_bytes
from apps.pools.models import BrokenPromise, PlannerCounts, PlannerVersion, Pool
from apps.pools.selectors import fitted_model
from apps.pools.services import planner_counts_replace
from apps.training.adaptation.observing import Observed, observed_runs
from apps.training.models import TrainingSettings


def planners_adapt(now: datetime | None = None) -> Iterator[int]:
    """Adapt each planner in use that something is new for.

    Yields how many graded runs count since its fit.
    """
    pools = Pool.objects.across_teams().exclude(planner_version=None)
    for pool in pools.select_related("planner_version").order_by("id"):
        version = pool.planner_version
        if version is None or version.is_site_default:
            continue
        version.pool = pool
        source = _source(version)
        if source != _known_source(version):
            yield _adapt(version, source, now or timezone.now())


def _adapt(version: PlannerVersion, source: str, now: datetime) -> int:
    observed = observed_runs(version)
    model = fitted_model(version)
    adaptation = Adaptation(
        model,
        _settings(version.team_id),
        fit_age_days=_days(version.created_at, now),
        unwatched=_unwatched(version, model.workers),
    )
    for each in observed:
        if each.row.kind is not None:
            adaptation.observe(_observation(each, each.row.kind, now))
    broken = [
        BrokenPromise(
            team_id=version.team_id,
            version=version,
            worker=model.workers[promise.cell.worker],
            ability=promise.cell.ability,
            kind=promise.cell.kind,
            run_id=UUID(promise.run_id),
            seen=promise.seen,
            promised=promise.promised,
            observed=promise.observed,
        )
        for promise in adaptation.broken
    ]
    planner_counts_replace(
        version=version,
        source=source,
        runs=len(observed),
        arrays=counts_to_bytes(adaptation.current()) if observed else b"",
        broken=broken,
    )
    return len(observed)


def _observation(observed: Observed, kind: int, now: datetime) -> GradedObservation:
    run = observed.run
    return GradedObservation(
        str(observed.row.run_id),
        kind,
        run,
        _days(observed.row.answered_at, now),
        {step.worker: step.fingerprint for step in run.steps if step.fingerprint},
    )


def _unwatched(version: PlannerVersion, workers: tuple[str, ...]) -> dict[Cell, str]:
    """Return the promises that are not watched up to the run of their dismissal."""
    rows = version.broken_promises.exclude(dismissed_at=None).order_by("dismissed_at")
    return {
        Cell(Ability(row.ability), workers.index(row.worker), row.kind): str(
            first_id(row.dismissed_at)
        )
        for row in rows
        if row.dismissed_at is not None
    }


def _settings(team_id: UUID) -> AdaptationSettings:
    settings = TrainingSettings.objects.for_team(team_id).first()
    if settings is None:
        return AdaptationSettings()
    return AdaptationSettings(half_life_answers=float(settings.half_life_answers))


def _days(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds() / 86_400)


def _known_source(version: PlannerVersion) -> str:
    rows = PlannerCounts.objects.for_team(version.team_id).filter(version=version)
    return rows.values_list("source", flat=True).first() or ""


def _source(version: PlannerVersion) -> str:
    """Return what says whether anything is new, without reading a graded run.

    Rows of judgements are made anew when somebody judges again.
    """
    rows = RunOutcome.objects.for_team(version.team_id).filter(
        run__pool_name=version.pool.name, run_id__gte=first_id(version.created_at)
    )
    news = rows.aggregate(count=Count("id"), newest=Max("id"))
    settings = TrainingSettings.objects.for_team(version.team_id).first()
    changed = settings and settings.updated_at.timestamp()
    return f"{news['count']} {news['newest']} {changed}"
