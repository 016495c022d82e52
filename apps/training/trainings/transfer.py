"""Takes a light planner, with how it did, from files of another site."""

from __future__ import annotations

from dataclasses import replace

from apps.audit.types import Actor
from apps.core.errors import InvalidInput
from apps.evaluation.models import Evaluation
from apps.pools.models import PlannerVersion, Pool
from apps.pools.selectors import pool_fingerprints
from apps.pools.services import planner_version_add, planner_version_measured
from apps.training.export.planner_file import planner_read
from apps.training.trainings.gate import gate_report
from apps.training.trainings.settings import TrainingPlan


def planner_import(
    *, pool: Pool, content: bytes, measured: Evaluation | None, actor: Actor
) -> PlannerVersion:
    """Keep the planner of a file as the pool's newest version; no tier uses it yet.

    Who imports it says that the workers of these names are those that it was fitted on.
    `measured` compares it, as the first system, with others; None: nothing is known
    of how it does. Raises: InvalidInput.
    """
    read = planner_read(content)
    known = pool_fingerprints(pool)
    if missing := sorted(set(read.fit.workers) - set(known)):
        raise InvalidInput(f"pool {pool.name!r} has no worker {missing[0]!r}")
    known = {name: known[name] for name in read.fit.workers}
    version = planner_version_add(
        pool=pool,
        stored=read.stored,
        fit=replace(read.fit, fingerprints=known),
        actor=actor,
    )
    if measured is not None:
        margin = TrainingPlan().margin_percent / 100
        report = gate_report(measured, read.best_by_family, margin)
        planner_version_measured(version=version, gate=report)
    return version
