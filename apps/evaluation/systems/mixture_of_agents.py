"""Several workers propose, one aggregates. Source: arXiv 2406.04692, one layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from django.utils.translation import gettext_noop as _
from pydantic import Field

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
from apps.planners.fixed import MixtureOfAgentsPlanner


class MixtureOfAgentsSystem(BaseSystem):
    """Independent proposals, and an aggregator that reads them all."""

    short_form: ClassVar[str] = "moa:AGGREGATOR[:COUNT] (so many others propose)"
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "moa",
            _("Mixture of agents, aggregated by the chosen worker"),
            ("{worker}", "{proposals}"),
            is_usual=True,
        ),
    )

    kind: Literal["mixture_of_agents"]
    workers: Annotated[tuple[WorkerName, ...], Field(min_length=2, max_length=20)]
    aggregator: WorkerName

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return a mixture of the pool's first workers, as many as fit or are asked."""
        match parts:
            case ["moa", aggregator]:
                count = max(pool.max_steps - 1, 2)  # fewer are no mixture
            case ["moa", aggregator, text] if text.isdecimal():
                count = int(text)
            case _:
                return None
        proposing = [worker for worker in pool.workers if worker != aggregator]
        given = {"workers": proposing[:count], "aggregator": aggregator}
        return [{"kind": "mixture_of_agents", **given}]

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"mixture of agents ({', '.join(self.workers)} → {self.aggregator})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (*self.workers, self.aggregator)

    @property
    def steps(self) -> int:
        """Return the steps that its plan has."""
        return len(self.workers) + 1

    def arrange(self, task: TaskContext) -> Arrangement:
        """Let all propose."""
        return Arrangement(
            task.carrier,
            MixtureOfAgentsPlanner(self.workers, self.aggregator),
            rounds=(RoundShape(self.steps, self.named_workers),),
        )
