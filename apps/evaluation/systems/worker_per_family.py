"""The worker that was right most often on tasks of the same family answers.

What is known of the workers comes from an earlier evaluation on other tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal, Self

from django.utils.translation import gettext_noop as _

from apps.evaluation.suites.tasks import Label
from apps.evaluation.systems.base import (
    Arrangement,
    MeasuredSystem,
    PageChoice,
    PoolNames,
    TaskContext,
    Values,
    WorkerName,
    short_id,
)
from apps.evaluation.systems.earlier import EarlierEvaluation, MeasuredTask
from apps.evaluation.systems.track_record import best_worker
from apps.runs.planning.model_resolver import direct_model


class WorkerPerFamilySystem(MeasuredSystem):
    """A router by the family of a task."""

    short_form: ClassVar[str] = (
        "per-family:EVALUATION (the best worker of each family, as that one measured)"
    )
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "per-family",
            _("The best worker for each family, as measured"),
            ("{measured}",),
            needs=("measured",),
        ),
    )
    is_direct: ClassVar[bool] = True

    kind: Literal["worker_per_family"]
    workers: dict[Label, WorkerName] = {}
    """The worker of each family, as measured. Filled in when the evaluation starts,
    and recorded."""
    others: WorkerName | None = None
    """The worker for families that were not measured."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return the router that an evaluation measured."""
        match parts:
            case ["per-family", evaluation]:
                return [{"kind": "worker_per_family", "measured_by": evaluation}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"best worker per family (by {short_id(self.measured_by)})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        found = {*self.workers.values(), *([self.others] if self.others else [])}
        return tuple(sorted(found))

    def learned(self, earlier: EarlierEvaluation) -> Self:
        """Choose the worker of each family. Raises: ValueError."""
        tasks = earlier.measured().tasks
        families: dict[str, list[MeasuredTask]] = defaultdict(list)
        for task in tasks:
            families[task.family].append(task)
        return self.model_copy(
            update={
                "workers": {name: _best(families[name]) for name in sorted(families)},
                "others": _best(tasks),
            }
        )

    def arrange(self, task: TaskContext) -> Arrangement:
        """Call the family's worker. Raises: ValueError if nothing has been measured."""
        worker = self.workers.get(task.family, self.others)
        if worker is None:
            raise ValueError("no worker has been measured")
        return Arrangement(direct_model(worker))


def _best(tasks: Iterable[MeasuredTask]) -> str:
    return best_worker(task.outcomes for task in tasks)
