"""Trainings and versions of light planners as the pages of learning show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from apps.audit.models import JobState
from apps.console.evaluations.conductor_rows import PoolConductors, pool_conductors
from apps.console.evaluations.evaluation_rows import EvaluationRow, evaluation_rows
from apps.evaluation.selectors import evaluation_list
from apps.pools.models import PlannerVersion, Pool, TierPlanner
from apps.pools.selectors import planner_versions, pool_list
from apps.training.models import Training
from apps.training.selectors import (
    Newcomer,
    calibrated_profiles,
    newcomers,
    training_cost,
    training_list,
)
from apps.training.trainings.models import Stage, TrainingOutcome
from apps.training.trainings.settings import TrainingPlan

LEFT, RIGHT, TOP, BOTTOM = 24, 296, 16, 112
"""Of the picture of a curve: no runs, all runs, success 1 and 0."""
SHOWN = 5
"""Trainings of a pool on the page of learning."""
EVALUATED = {
    Stage.EXPLORE: "exploration_id",
    Stage.NEAR_BEST: "near_best_id",
    Stage.GATE: "gate_id",
}


@dataclass(frozen=True, slots=True)
class StageLine:
    """A stage of a training, and how far it is."""

    label: str
    state: str
    """waiting, running, completed or skipped."""
    evaluation: EvaluationRow | None
    """What it runs. None: it runs nothing, or not yet."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A fit on some of the runs."""

    runs: int
    log_loss: float | None
    expected: float
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """A training as lists and its page show it."""

    training: Training
    is_open: bool
    words: str
    """What it does, or how it ended."""
    state: str
    """For a badge."""
    cost_micros: int
    stages: tuple[StageLine, ...]
    curve: tuple[CurvePoint, ...]
    """Of the last fit."""
    gate: Mapping[str, Any] | None

    @property
    def line(self) -> str:
        """Return the points of a polyline along the curve."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.curve)


@dataclass(frozen=True, slots=True)
class PoolPlanners:
    """The light planner of a pool: its versions and trainings."""

    pool: Pool
    versions: tuple[PlannerVersion, ...]
    trainings: tuple[TrainingRow, ...]
    tiers: tuple[str, ...]
    """Names of the tiers that plan with it."""
    conductors: PoolConductors
    newcomers: tuple[Newcomer, ...]
    """Workers that it does not know."""
    calibrated: tuple[str, ...]
    """Workers that the site's default would know."""

    @property
    def in_use(self) -> int | None:
        """Return the number of the version in use."""
        version = self.pool.planner_version
        return None if version is None else version.number

    @property
    def is_site_default(self) -> bool:
        """Say whether the version in use is the site's default."""
        version = self.pool.planner_version
        return version is not None and version.is_site_default

    @property
    def has_own(self) -> bool:
        """Say whether a version was fitted on runs of the pool."""
        return any(not version.is_site_default for version in self.versions)


def pool_planners(team_id: UUID) -> dict[str, PoolPlanners]:
    """Return the light planners of a team by their pools."""
    pools = pool_list(team_id).select_related("planner_version")
    return {pool.name: _planners(pool) for pool in pools}


def light_tiers(pool: Pool) -> list[str]:
    """Return the tiers of a pool that plan with its light planner."""
    return [t.name for t in pool.tiers.all() if TierPlanner(t.planner).is_light]


def _planners(pool: Pool) -> PoolPlanners:
    trainings = training_list(pool.team_id).filter(pool=pool)[:SHOWN]
    return PoolPlanners(
        pool,
        tuple(planner_versions(pool)),
        tuple(training_row(each) for each in trainings),
        tuple(light_tiers(pool)),
        pool_conductors(pool.team_id, pool),
        tuple(newcomers(pool)),
        tuple(calibrated_profiles(pool)),
    )


def training_row(training: Training) -> TrainingRow:
    """Return a training with its stages and what came of it."""
    is_open = training.state != JobState.DONE
    return TrainingRow(
        training=training,
        is_open=is_open,
        words=_words(training, is_open),
        state=_state(training, is_open),
        cost_micros=training_cost(training),
        stages=_stages(training, is_open),
        curve=_curve(training.curve),
        gate=_gate(training),
    )


def _words(training: Training, is_open: bool) -> str:
    if not is_open:
        return _(TrainingOutcome(training.outcome).label)
    if training.is_cancelled:
        return _("Being cancelled")
    return _label(Stage(training.stage), TrainingPlan.model_validate(training.settings))


def _label(stage: Stage, plan: TrainingPlan) -> str:
    """Return what a stage does; that of a newcomer or of profiles does it its way."""
    if plan.newcomer and stage is Stage.EXPLORE:
        return _("Probing {worker}").format(worker=plan.newcomer)
    if plan.newcomer and stage is Stage.NEAR_BEST:
        return _("Trying plans with {worker}").format(worker=plan.newcomer)
    if plan.from_profiles and stage in (Stage.EXPLORE, Stage.FIT):
        return _("Reading profiles")
    return _(stage.label)


def _state(training: Training, is_open: bool) -> str:
    if is_open:
        return "running"
    return {
        TrainingOutcome.USED: "completed",
        TrainingOutcome.BETTER: "completed",
        TrainingOutcome.NOT_BETTER: "waiting",
        TrainingOutcome.CANCELLED: "cancelled",
    }.get(TrainingOutcome(training.outcome), "failed")


def _stages(training: Training, is_open: bool) -> tuple[StageLine, ...]:
    ids = [getattr(training, field) for field in EVALUATED.values()]
    rows = evaluation_list(training.team_id).filter(id__in=[i for i in ids if i])
    found = {row.evaluation.id: row for row in evaluation_rows(rows)}
    plan = TrainingPlan.model_validate(training.settings)
    stages = [stage for stage in Stage if stage is not Stage.END]
    if plan.from_profiles:
        stages = [Stage.FIT, Stage.GATE]
    reached = _reached(training, stages)
    lines = []
    for place, stage in enumerate(stages):
        state = "completed" if place < reached else "waiting"
        if place == reached:
            state = "running" if is_open else "failed"
        field = EVALUATED.get(stage)
        evaluation = found.get(getattr(training, field)) if field else None
        lines.append(StageLine(_label(stage, plan), state, evaluation))
    return tuple(lines)


def _reached(training: Training, stages: Sequence[Stage]) -> int:
    """Return the place of the present stage; of one that ended, the one it ended in."""
    if training.stage != Stage.END:
        present = Stage(training.stage)
        return stages.index(present) if present in stages else 0
    done = {
        Stage.EXPLORE: training.exploration_id,
        Stage.FIT: training.version is not None,
        Stage.NEAR_BEST: training.near_best_id,
        Stage.REFIT: any(p["stage"] == Stage.REFIT for p in training.curve),
        Stage.GATE: training.outcome in MEASURED,
    }
    return next((n for n, stage in enumerate(stages) if not done[stage]), len(stages))


MEASURED = (TrainingOutcome.USED, TrainingOutcome.BETTER, TrainingOutcome.NOT_BETTER)


def _curve(points: Sequence[Mapping[str, Any]]) -> tuple[CurvePoint, ...]:
    """Return the points of the last fit in the units of the picture."""
    if not points:
        return ()
    last = [point for point in points if point["stage"] == points[-1]["stage"]]
    most = max(point["runs"] for point in last)
    return tuple(
        CurvePoint(
            point["runs"],
            point["log_loss"],
            point["expected"],
            LEFT + (RIGHT - LEFT) * point["runs"] / most,
            BOTTOM - (BOTTOM - TOP) * point["expected"],
        )
        for point in last
    )


def _gate(training: Training) -> Mapping[str, Any] | None:
    if training.version is None or training.outcome not in MEASURED:
        return None
    rows = PlannerVersion.objects.for_team(training.team_id)
    found = rows.filter(pool_id=training.pool_id, number=training.version)
    gate: Mapping[str, Any] | None = found.values_list("gate", flat=True).first()
    return gate
