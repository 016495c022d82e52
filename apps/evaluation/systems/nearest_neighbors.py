"""The worker that was right most often on the tasks most alike answers.

What is known of the workers comes from an earlier evaluation on other tasks. Routing by
nearest neighbours is a strong baseline for learned routers: arXiv 2505.12601.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from django.utils.translation import gettext_noop as _
from pydantic import Field

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
from apps.evaluation.systems.earlier import EarlierEvaluation
from apps.evaluation.systems.track_record import best_worker
from apps.runs.planning.model_resolver import direct_model


class NearestNeighborsSystem(MeasuredSystem):
    """A router by the tasks most alike."""

    short_form: ClassVar[str] = (
        "nearest-neighbors:EVALUATION (the best worker on the most similar tasks)"
    )
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "nearest-neighbors",
            _("The best worker on the most similar tasks, as measured"),
            ("{measured}",),
            needs=("measured",),
        ),
    )
    is_direct: ClassVar[bool] = True

    kind: Literal["nearest_neighbors"]
    neighbors: Annotated[int, Field(ge=1, le=100)] = 10
    """Tasks that are asked about."""
    workers: tuple[WorkerName, ...] = ()
    """Those that were measured. Filled in when the evaluation starts, and recorded."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return the router that an evaluation measured."""
        match parts:
            case ["nearest-neighbors", evaluation]:
                return [{"kind": "nearest_neighbors", "measured_by": evaluation}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"{self.neighbors} nearest neighbours (by {short_id(self.measured_by)})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return self.workers

    def learned(self, earlier: EarlierEvaluation) -> Self:
        """Note who was measured. Raises: ValueError."""
        workers = {w for task in earlier.measured().tasks for w in task.outcomes}
        if not workers:
            raise ValueError("no single worker has been measured")
        return self.model_copy(update={"workers": tuple(sorted(workers))})

    def arrange(self, task: TaskContext) -> Arrangement:
        """Call the worker that is best near the task. Raises: ValueError."""
        index = task.earlier(self.measured_by).measured()
        near = index.nearest(task.prompt, self.neighbors)
        return Arrangement(direct_model(best_worker(each.outcomes for each in near)))
