"""What a training would run, and what that costs at most, before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from apps.core.errors import ConductorError
from apps.evaluation.models import SuiteVersion
from apps.evaluation.services import evaluation_estimate
from apps.evaluation.systems.base import carrier_tier
from apps.pools.models import Pool
from apps.pools.selectors import pool_snapshot
from apps.training.trainings.models import Training
from apps.training.trainings.newcomers import (
    UnknownWorker,
    present_version,
    unknown_workers,
)
from apps.training.trainings.settings import (
    TrainingPlan,
    Values,
    exploration_systems,
    gate_systems,
    plans_of_tasks,
    probe_systems,
)

Part = tuple[Sequence[Values], str, int]
"""Systems, split and tasks of an evaluation."""


@dataclass(frozen=True, slots=True)
class TrainingEstimate:
    """What a training would do."""

    runs: int
    highest_micros: int | None
    """What all runs may cost at most, retries apart; None: a price is missing."""


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A worker that the pool's light planner does not know, or as another model."""

    unknown: UnknownWorker
    probes: int
    """Runs that are about it, in the training that takes it in."""
    suite: SuiteVersion | None
    """That the pool was trained on last. None: on none that still fits."""
    estimate: TrainingEstimate | None
    """Of the whole training on that suite."""

    @property
    def worker(self) -> str:
        """Return the worker's name."""
        return self.unknown.name

    @property
    def is_changed(self) -> bool:
        """Say whether the planner knows another model under the worker's name."""
        return self.unknown.is_changed

    @property
    def changed_at(self) -> datetime | None:
        """Return since when it has its present model, as `UnknownWorker` says it."""
        return self.unknown.changed_at

    @property
    def runs(self) -> int | None:
        """Return the runs of the training; None: there is no suite to count on."""
        return None if self.estimate is None else self.estimate.runs

    @property
    def highest_cost_micros(self) -> int | None:
        """Return what they may cost at most; None: unknown."""
        return None if self.estimate is None else self.estimate.highest_micros


def newcomers(pool: Pool) -> list[Newcomer]:
    """Return the workers that a pool's planner does not know, or as other models."""
    unknown = unknown_workers(pool)
    suite = _newest_suite(pool) if unknown else None
    return [_newcomer(pool, suite, worker) for worker in unknown]


def _newcomer(
    pool: Pool, suite: SuiteVersion | None, worker: UnknownWorker
) -> Newcomer:
    plan = TrainingPlan(newcomer=worker.name)
    probes = plan.explore_runs + plan.near_best_runs
    if suite is not None:
        with suppress(ConductorError):  # the pool or the suite has changed since
            found = training_estimate(pool=pool, suite_version=suite, plan=plan)
            return Newcomer(worker, probes, suite, found)
    return Newcomer(worker, probes, None, None)


def training_estimate(
    *, pool: Pool, suite_version: SuiteVersion, plan: TrainingPlan
) -> TrainingEstimate:
    """Return what a training would run and cost.

    Nobody knows yet what the new version would plan: its plans count as those of an
    exploration. Raises: InvalidFields, InvalidInput, NotFound.
    """
    runs, highest = 0, 0
    is_known = True
    for systems, split, tasks in _parts(pool, suite_version, plan):
        values = {
            "pool": pool.name,
            "systems": list(systems),
            "split": split,
            "max_tasks": tasks,
            "seed": plan.seed,
        }
        found = evaluation_estimate(version=suite_version, values=values)
        runs += found.runs
        is_known = is_known and found.highest_micros is not None
        highest += found.highest_micros or 0
    return TrainingEstimate(runs, highest if is_known else None)


def _newest_suite(pool: Pool) -> SuiteVersion | None:
    rows = Training.objects.for_team(pool.team_id).filter(pool=pool)
    newest = rows.select_related("suite_version__suite").order_by("-id").first()
    return None if newest is None else newest.suite_version


def _parts(
    pool: Pool, suite_version: SuiteVersion, plan: TrainingPlan
) -> Iterator[Part]:
    training = suite_version.tasks.filter(split="training").count()
    snapshot = pool_snapshot(pool.team_id, pool.name)
    workers = [worker.name for worker in snapshot.chat_workers]
    present = present_version(pool)
    number = None if present is None else present.number
    if plan.explore_runs:
        plans, tasks = plans_of_tasks(plan.explore_runs, training)
        systems = exploration_systems(plans)
        if plan.newcomer:
            systems = probe_systems(plans, plan.newcomer, number)
        yield systems, "training", tasks
    if plan.near_best_runs:
        plans, tasks = plans_of_tasks(plan.near_best_runs, training)
        yield exploration_systems(plans), "training", tasks
    tiers = snapshot.tiers
    compared = gate_systems(
        plan.answer_worth_micros,
        version=0,
        present=number,
        best=workers[0],
        workers=workers,
        max_steps=tiers[carrier_tier(tiers)].max_steps,
    )
    others = [each for each in compared if each["kind"] != "light_planner"]
    yield others, "held_out", plan.held_out_tasks
    planned = len(compared) - len(others)
    plans, tasks = plans_of_tasks(planned * plan.held_out_tasks, training)
    yield exploration_systems(plans), "training", tasks
