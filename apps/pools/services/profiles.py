"""Keeps what an evaluation has measured of workers."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from apps.audit.types import Actor
from apps.pools.model_fingerprints import worker_fingerprint
from apps.pools.models import Worker, WorkerProfile
from apps.pools.pool_transaction import pool_change
from apps.pools.worker_figures.profiles import CalibrationSource, FamilyMeasurement


def profiles_mark(
    *, team_id: uuid.UUID, evaluation_ids: Collection[uuid.UUID], is_simulated: bool
) -> None:
    """Say of the profiles that these evaluations made whether they are simulated.

    What a conductor reads of them stays the same, so no pool gets a new version.
    """
    rows = WorkerProfile.objects.for_team(team_id)
    rows.filter(evaluation_id__in=evaluation_ids).update(is_simulated=is_simulated)


def profiles_replace(
    *,
    team_id: uuid.UUID,
    measured: Mapping[str, Sequence[FamilyMeasurement]],
    source: CalibrationSource,
    measured_at: datetime,
    actor: Actor,
) -> None:
    """Store measurements of workers by their names, instead of all that they had.

    A worker that is gone is left out. Raises: NotFound if the team is gone.
    """
    with pool_change(team_id, actor) as change:
        for worker in Worker.objects.for_team(team_id).filter(name__in=measured):
            worker.profiles.all().delete()
            families = measured[worker.name]
            WorkerProfile.objects.bulk_create(
                WorkerProfile(
                    team_id=team_id,
                    worker=worker,
                    base_url=worker.base_url,
                    model=worker.model,
                    fingerprint=worker_fingerprint(worker),
                    measured_at=measured_at,
                    **asdict(source),
                    **asdict(family),
                )
                for family in families
            )
            change.record(
                "worker.measured",
                worker,
                suite=source.suite,
                evaluation=str(source.evaluation_id),
                families={
                    family.family: {"tasks": family.tasks, "right": family.right}
                    for family in families
                },
            )
