"""What an evaluation will probably cost: from earlier results, or from profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Sum

from apps.evaluation.models import GRADED, Evaluation, SuiteVersion
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.systems.kinds import System
from apps.pools.models import Worker
from apps.pools.worker_figures.profiles import present_profiles

LOOKED_AT = 20
"""Evaluations of the suite with the pool, the newest."""


def likely_total(
    version: SuiteVersion, settings: EvaluationSettings, tasks: int
) -> int | None:
    """Return what an evaluation probably costs, in micro-dollars.

    Each system costs a task what it cost in the newest evaluation of this suite with
    this pool; a single worker that was in none, what its profile says. None: of a
    system there is neither.
    """
    total = 0.0
    for cost in likely_costs(version, settings):
        if cost is None:
            return None
        total += cost * tasks
    return round(total)


def likely_costs(
    version: SuiteVersion, settings: EvaluationSettings
) -> list[float | None]:
    """Return what a task probably costs each system, with judging it; None: unknown."""
    measured = _measured(version, settings)
    found = []
    for system in settings.systems:
        cost = measured.get(_key(system.model_dump(mode="json")))
        if cost is None:
            cost = _by_profile(version.team_id, system)
        found.append(cost)
    return found


def _measured(
    version: SuiteVersion, settings: EvaluationSettings
) -> Mapping[str, float]:
    """Return the mean cost of a task of each system, by what it is."""
    earlier = evaluation_list(version.team_id).filter(
        version__suite=version.suite_id, settings__pool=settings.pool
    )
    found: dict[str, float] = {}
    for evaluation in earlier[:LOOKED_AT]:
        was = EvaluationSettings.model_validate(evaluation.settings)
        for place, mean in mean_costs(evaluation).items():
            key = _key(was.systems[place].model_dump(mode="json"))
            found.setdefault(key, mean.cost_micros + mean.grading_cost_micros)
    return found


class MeanCosts(NamedTuple):
    """What the results of a system cost on average, in micro-dollars."""

    tasks: int
    """How many there are: at least 1."""
    cost_micros: float
    grading_cost_micros: float


def mean_costs(evaluation: Evaluation) -> dict[int, MeanCosts]:
    """Return the mean cost of a task of each system that has ended one, by place."""
    rows = results_of(evaluation).filter(state__in=GRADED, has_unknown_cost=False)
    sums = (
        rows.order_by()
        .values("system")
        .annotate(
            tasks=Count("id"),
            cost=Sum("cost_micros"),
            grading=Sum("grading_cost_micros"),
        )
    )
    return {
        row["system"]: MeanCosts(
            row["tasks"], row["cost"] / row["tasks"], row["grading"] / row["tasks"]
        )
        for row in sums
    }


def _key(system: Mapping[str, object]) -> str:
    """Return what says that two systems are the same."""
    return repr(sorted(system.items()))


def _by_profile(team_id: UUID, system: System) -> float | None:
    if system.kind != "worker" or system.version_of_pool is not None:
        return None
    workers = Worker.objects.for_team(team_id).filter(name=system.worker)
    worker = workers.prefetch_related("profiles").first()
    profiles = present_profiles(worker) if worker else ()
    tasks = sum(profile.tasks for profile in profiles)
    if not tasks:
        return None
    return sum(profile.cost_micros for profile in profiles) / tasks
