"""All planning is left to one worker: the paper's abdication. arXiv 2512.04388."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from django.utils.translation import gettext_noop as _

from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    PageChoice,
    PoolNames,
    RoundShape,
    TaskContext,
    Values,
    WorkerName,
)
from apps.planners.fixed import DelegatingPlanner


class DelegatedSystem(BaseSystem):
    """A plan of one step, whose worker plans the rest; its plan is then run."""

    short_form: ClassVar[str] = "delegated:NAME"
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice("delegated", _("Planning left to the chosen worker"), ("{worker}",)),
    )

    kind: Literal["delegated"]
    worker: WorkerName

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return the system of a worker."""
        match parts:
            case ["delegated", worker]:
                return [{"kind": "delegated", "worker": worker}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"planned by worker {self.worker}"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.worker,)

    @property
    def steps(self) -> int:
        """Return the steps that its first plan has."""
        return 1

    def arrange(self, task: TaskContext) -> Arrangement:
        """Let the worker plan, and any of the pool do the steps."""
        rounds = (RoundShape(1, self.named_workers), RoundShape(task.max_steps))
        return Arrangement(task.carrier, DelegatingPlanner(self.worker), rounds=rounds)
