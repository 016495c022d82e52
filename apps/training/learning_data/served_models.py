"""Which models answered in past runs: a worker's name may stand for another one now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

from apps.planners.light.fingerprints import is_another_model
from apps.pools.models import Worker
from apps.pools.selectors import PoolPlace, served_workers
from apps.runs.models import Run, Step
from apps.training.learning_data.records import LearningRecord

Fingerprints = Mapping[str, str]
"""By the worker's name."""


class ServedAs(NamedTuple):
    """A worker of a past run."""

    name: str
    """That it has now: it may have been renamed. Of a deleted one, that of then."""
    fingerprint: str
    """Of the model that it was then."""


Workers = Mapping[str, ServedAs]
"""By the name of then."""


class ServedModels:
    """Reads what past runs' workers were, each version of a pool once."""

    def __init__(self, team_id: UUID) -> None:
        self._team_id = team_id
        self._by_place: dict[PoolPlace, Workers] = {}

    @cached_property
    def _names(self) -> dict[UUID, str]:
        rows = Worker.objects.for_team(self._team_id)
        return dict(rows.values_list("id", "name"))

    def of(self, run_ids: Collection[UUID]) -> dict[UUID, Workers]:
        """Return the workers of some runs; those not on record lack."""
        rows = Run.objects.for_team(self._team_id).filter(id__in=run_ids)
        runs = list(rows.values_list("id", "pool_name", "pool_version"))
        missing = {(pool, version) for _, pool, version in runs} - set(self._by_place)
        if missing:
            served = served_workers(self._team_id, missing)
            for place in missing:
                self._by_place[place] = {
                    name: ServedAs(
                        self._names.get(worker.worker_id, name), worker.fingerprint
                    )
                    for name, worker in served.get(place, {}).items()
                }
        return {run: self._by_place[pool, version] for run, pool, version in runs}

    def former(self, run_ids: Collection[UUID], now: Fingerprints) -> set[UUID]:
        """Return those of some runs in which a worker of now was another model."""
        workers = self.of(run_ids)
        steps = Step.objects.for_team(self._team_id).filter(run_id__in=run_ids)
        parts = [
            (run_id, workers.get(run_id, {}).get(name))
            for run_id, name in steps.values_list("run_id", "worker")
        ]
        return {
            run_id
            for run_id, worker in parts
            if worker and is_another_model(worker.fingerprint, now.get(worker.name, ""))
        }


class AnsweringModels:
    """Finds out which model each worker is known by, of those that answered.

    It is the present one if that has answered, else the one that did last: until the
    present one answers, nothing is known of it.
    """

    def __init__(self, now: Fingerprints) -> None:
        self._now = now
        self._present: set[str] = set()
        self._newest: dict[str, tuple[datetime, str]] = {}

    def add(self, record: LearningRecord) -> None:
        """Look at the workers of a run."""
        for step in record.run.steps:
            if step.fingerprint in ("", self._now.get(step.worker)):
                self._present.add(step.worker)
            else:
                answered = (record.created_at, step.fingerprint)
                newest = self._newest.get(step.worker, answered)
                self._newest[step.worker] = max(newest, answered)

    def fingerprints(self, workers: Iterable[str]) -> dict[str, str]:
        """Return the fingerprints of workers, which have all answered."""
        return {name: self._fingerprint(name) for name in workers}

    def _fingerprint(self, worker: str) -> str:
        if worker in self._present:
            return self._now[worker]
        return self._newest[worker][1]
