"""The worker whose answers are nearest to those of the others answers; no grade counts.

After Smoothie-Local, arXiv 2412.04692: an answer is the unknown true one with an error
of its own, so the squared distance of two answers is on average the sum of their
squared errors, and of three workers each error follows: e_i = (d_ij + d_ik - d_jk) / 2.
It is the mean over all pairs of other workers, from the mean distances on the tasks
most alike. Two deviations: the tasks are those of an earlier evaluation, so that one
worker is called and not all; and distances are of the words of the final answers, not
of embeddings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
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
from apps.evaluation.systems.earlier import ComparedTask, EarlierEvaluation, Pair
from apps.runs.planning.model_resolver import direct_model

FEWEST_WORKERS = 3
FEWEST_TASKS = 10


class SmoothieSystem(MeasuredSystem):
    """A router by the agreement of answers, without any grade."""

    short_form: ClassVar[str] = (
        "smoothie:EVALUATION (the worker that agreed most on the tasks most alike)"
    )
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "smoothie",
            _("Smoothie: the worker whose answers agree most, without grades"),
            ("{measured}",),
            needs=("measured",),
        ),
    )
    is_direct: ClassVar[bool] = True

    kind: Literal["smoothie"]
    neighbors: Annotated[int, Field(ge=1, le=200)] = 20
    """Tasks that are asked about."""
    workers: tuple[WorkerName, ...] = ()
    """Those whose answers were compared. Filled in when the evaluation starts, like the
    next one, and recorded."""
    tasks: int = 0
    """Whose answers were on record."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return the router by the answers of an evaluation."""
        match parts:
            case ["smoothie", evaluation]:
                return [{"kind": "smoothie", "measured_by": evaluation}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"Smoothie, {self.neighbors} tasks (by {short_id(self.measured_by)})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return self.workers

    def learned(self, earlier: EarlierEvaluation) -> Self:
        """Note whose answers were compared. Raises: ValueError if too few were."""
        tasks = _comparable(earlier)
        workers = {name for task in tasks for pair in task.distances for name in pair}
        return self.model_copy(
            update={"workers": tuple(sorted(workers)), "tasks": len(tasks)}
        )

    def arrange(self, task: TaskContext) -> Arrangement:
        """Call the worker with the smallest error near the task. Raises: ValueError."""
        earlier = task.earlier(self.measured_by)
        tasks = _comparable(earlier)
        near = earlier.compared().nearest(task.prompt, self.neighbors)
        errors = estimated_errors(near) or estimated_errors(tasks)
        return Arrangement(direct_model(_least(errors, near)))


def estimated_errors(tasks: Iterable[ComparedTask]) -> dict[str, float]:
    """Return the estimated squared error of each worker, from distances alone.

    A worker that was not compared with two others on these tasks is left out.
    """
    found: dict[Pair, list[float]] = defaultdict(list)
    for task in tasks:
        for pair, distance in task.distances.items():
            found[pair].append(distance)
    means = {pair: fmean(distances) for pair, distances in found.items()}
    workers = sorted({name for pair in means for name in pair})
    errors: dict[str, list[float]] = defaultdict(list)
    for three in combinations(workers, 3):
        if not all(pair in means for pair in combinations(three, 2)):
            continue
        whole = sum(means[pair] for pair in combinations(three, 2))
        for name in three:
            others = tuple(other for other in three if other != name)
            errors[name].append(whole / 2 - means[others[0], others[1]])
    return {name: fmean(each) for name, each in errors.items()}


def _comparable(earlier: EarlierEvaluation) -> Sequence[ComparedTask]:
    """Return the tasks whose answers can be compared. Raises: ValueError."""
    tasks = earlier.compared().tasks
    compared = {name for task in tasks for pair in task.distances for name in pair}
    if len(compared) < FEWEST_WORKERS or len(tasks) < FEWEST_TASKS:
        raise ValueError(
            f"it takes answers of {FEWEST_WORKERS} single workers to {FEWEST_TASKS} "
            f"tasks, and those of {len(compared)} to {len(tasks)} are still on record"
        )
    return tasks


def _least(errors: Mapping[str, float], near: Sequence[ComparedTask]) -> str:
    """Return who has the smallest error; of equal ones the cheaper, then by name."""
    if not errors:
        raise ValueError("no three workers have answered the same tasks")

    def cost(name: str) -> float:
        known = [task.costs[name] for task in near if name in task.costs]
        return fmean(known) if known else 0.0

    # Rounded: means of the same distances in another order are equal.
    return min(sorted(errors), key=lambda name: (round(errors[name], 9), cost(name)))
