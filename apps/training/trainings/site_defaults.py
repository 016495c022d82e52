"""The site's default for a pool: its workers' profiles, without runs of its own."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson

from apps.core.errors import Conflict
from apps.evaluation.calibration import SPLIT
from apps.evaluation.selectors import evaluation_list
from apps.evaluation.suites.reads import task_rows
from apps.evaluation.suites.storage import task_read
from apps.planners.light.sources import ModelSource
from apps.pools.models import Pool, WorkerKind, WorkerProfile
from apps.pools.selectors import pool_fingerprints
from apps.pools.services import PlannerFit
from apps.pools.worker_figures.profiles import present_profiles
from apps.training.trainings.measured_workers import MeasuredWorkers

MAX_PROMPTS = 200
"""Of a family, that its centre is found from."""
Profiles = Mapping[str, Sequence[WorkerProfile]]
"""By worker."""


@dataclass(frozen=True, slots=True)
class SiteDefault:
    """A model for the workers of one pool, and what it is made of."""

    stored: bytes
    """As `LightModel.to_bytes`."""
    fit: PlannerFit
    measured: MeasuredWorkers
    prompts: Sequence[str]
    """Of the tasks that its workers were calibrated with."""


def calibrated_profiles(pool: Pool) -> Profiles:
    """Return the profiles of the workers of a pool that are calibrated."""
    workers = pool.workers.filter(is_enabled=True, kind=WorkerKind.CHAT)
    rows = workers.prefetch_related("profiles").order_by("name")
    found = {worker.name: present_profiles(worker) for worker in rows}
    return {name: profiles for name, profiles in found.items() if profiles}


def require_calibrated(pool: Pool) -> Profiles:
    """Return the profiles of a pool. Raises: Conflict if there are none."""
    if not (found := calibrated_profiles(pool)):
        raise Conflict(
            f"no worker of pool {pool.name!r} is calibrated: the site's default needs "
            "their profiles"
        )
    return found


def site_default(pool: Pool) -> SiteDefault:
    """Return the site's default for a pool.

    Workers that are not calibrated stay unknown to it. Raises: Conflict if none is, or
    if the tasks of the calibration are gone; SecretUnreadable.
    """
    # NumPy is loaded only where a pool has a light planner.
    from apps.planners.light.site_default import (
        FamilyProfile,
        site_default_digest,
        site_default_model,
    )

    profiles, measured = require_calibrated(pool), MeasuredWorkers()
    prompts = _prompts(pool.team_id, profiles)
    calibrated: dict[str, dict[str, FamilyProfile]] = {}
    for worker, rows in profiles.items():
        of_families = {row.family: row for row in rows if row.family in prompts}
        for family, row in of_families.items():
            measured.count(family, worker, row.tasks, row.right)
        if of_families:
            calibrated[worker] = {
                family: FamilyProfile(row.tasks, row.right, row.tokens)
                for family, row in of_families.items()
            }
    if not calibrated:
        raise Conflict(
            f"the calibrations of pool {pool.name!r} were deleted, or their tasks: "
            "calibrate its workers again"
        )
    model, known = site_default_model(calibrated, prompts), pool_fingerprints(pool)
    facts = [
        (worker, family, row.tasks, row.right, row.tokens)
        for worker, by_family in sorted(calibrated.items())
        for family, row in sorted(by_family.items())
    ]
    data = orjson.dumps({"default": site_default_digest(), "profiles": facts})
    fit = PlannerFit(
        runs=0,
        graded_steps=sum(tasks for _, _, tasks, _, _ in facts),
        kinds=len(prompts),
        workers=model.workers,
        data_digest=hashlib.sha256(data).hexdigest(),
        source=ModelSource.SITE_DEFAULT,
        fingerprints={name: known[name] for name in model.workers},
    )
    every = [prompt for of_family in prompts.values() for prompt in of_family]
    return SiteDefault(model.to_bytes(), fit, measured, every)


def _prompts(team_id: UUID, profiles: Profiles) -> dict[str, list[str]]:
    """Return training tasks of each family that was measured, as far as they exist."""
    families: dict[UUID, set[str]] = defaultdict(set)
    for rows in profiles.values():
        for row in rows:
            families[row.evaluation_id].add(row.family)
    found: dict[str, list[str]] = {}
    evaluations = evaluation_list(team_id).filter(id__in=families)
    for evaluation in evaluations.select_related("version").order_by("-id"):
        for family in sorted(families[evaluation.id] - found.keys()):
            tasks = task_rows(evaluation.version, split=SPLIT).filter(family=family)
            prompts = [task_read(row).prompt for row in tasks[:MAX_PROMPTS]]
            if prompts:
                found[family] = prompts
    return found
