"""Brings a light planner up to date with the requests graded since its fit.

Evaluations count in the next fit: they are made for it.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from apps.core.ids import first_id
from apps.planners.light.live.adaptation import (
    Ability,
    Adaptation,
    AdaptationSettings,
    Cell,
    GradedObservation,
)
from apps.planners.light.live.stored_counts import counts_to_bytes
from apps.pools.models import BrokenPromise, PlannerVersion
from apps.pools.selectors import fitted_model
from apps.pools.services import planner_counts_replace
from apps.training.adaptation.observing import Observed, observed_runs
from apps.training.models import TrainingSettings


def planner_adapt(version: PlannerVersion, source: str, now: datetime) -> int:
    """Put in force what a version knows by now; return how many graded runs count."""
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
