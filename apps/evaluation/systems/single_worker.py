"""One worker answers each task directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from django.utils.translation import gettext_noop as _

from apps.evaluation.systems.base import (
    Arrangement,
    PageChoice,
    PoolNames,
    TaskContext,
    Values,
    VersionedSystem,
    WorkerName,
    version_read,
)
from apps.runs.planning.model_resolver import direct_model


class WorkerSystem(VersionedSystem):
    """A direct call of one worker: the baseline that a conductor must beat."""

    short_form: ClassVar[str] = (
        "worker:NAME, and perhaps :pool-version=N, or workers (each one alone)"
    )
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice("workers", _("Each worker alone"), is_usual=True),
    )
    is_direct: ClassVar[bool] = True

    kind: Literal["worker"]
    worker: WorkerName

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return one worker, or each of the pool."""
        match parts:
            case ["worker", worker]:
                return [{"kind": "worker", "worker": worker}]
            case ["worker", worker, option] if number := version_read(option):
                given = {"worker": worker, "pool_version": number}
                return [{"kind": "worker", **given}]
            case ["workers"]:
                return [{"kind": "worker", "worker": name} for name in pool.workers]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        if self.pool_version is None:
            return self.worker
        return f"{self.worker} (pool version {self.pool_version})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.worker,)

    def arrange(self, task: TaskContext) -> Arrangement:
        """Call the worker."""
        return Arrangement(direct_model(self.worker), pool_version=self.pool_version)
