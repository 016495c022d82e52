"""A tier of the pool: its conductor plans, or another one in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from django.utils.translation import gettext_noop as _
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from apps.evaluation.systems.base import (
    VERSION_OPTION,
    Arrangement,
    ModelName,
    PageChoice,
    PoolNames,
    RoundShape,
    TaskContext,
    Values,
    VersionedSystem,
    WorkerName,
)
from apps.planners.fixed import SingleWorkerPlanner
from apps.runs.types import RunRestrictions

OPTIONS = {
    "rounds": "max_rounds",
    "steps": "max_steps",
    "conductor": "conductor",
    "workers": "workers",
    VERSION_OPTION: "pool_version",
}
"""Fields by their names on the command line."""
AGAIN = ("conductor={conductor}", f"{VERSION_OPTION}={{pool_version}}")
"""What a tier is compared with on the page: itself with another one of these."""


class TierSystem(VersionedSystem):
    """What a caller of `conductor-mini` or `conductor-ultra` gets, or a variant."""

    short_form: ClassVar[str] = (
        "conductor:mini or conductor:ultra, and perhaps :rounds=N, :steps=N, "
        ":conductor=NAME, :workers=A,B, :pool-version=N"
    )
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "conductor:ultra",
            _("Conductor, tier ultra"),
            ("rounds={rounds}",),
            is_usual=True,
            again=AGAIN,
        ),
        PageChoice(
            "conductor:mini",
            _("Conductor, tier mini"),
            ("rounds={rounds}",),
            again=AGAIN,
        ),
    )

    kind: Literal["tier"]
    tier: Literal["mini", "ultra"]
    max_rounds: Annotated[int, Field(ge=0, le=10)] | None = None
    """Plans of a run, be it more than the tier allows. 0: nobody plans, and the
    fallback worker gets the prompt. None, like the next one: as the tier says."""
    max_steps: Annotated[int, Field(ge=1, le=64)] | None = None
    workers: tuple[WorkerName, ...] = ()
    """The workers that plans may name. Empty: all."""
    conductor: ModelName | None = None
    """A conductor of the team that plans in the place of the pool's. None: the pool's
    does."""

    @model_validator(mode="after")
    def _is_planned(self) -> Self:
        if self.conductor is not None and self.max_rounds == 0:
            raise PydanticCustomError(
                "rounds", "with 0 rounds nobody plans, so no conductor can be named"
            )
        return self

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return a tier with its options."""
        match parts:
            case ["conductor", ("mini" | "ultra") as tier, *options]:
                pairs = [option.partition("=") for option in options]
                if all(name in OPTIONS and text for name, _, text in pairs):
                    given = {OPTIONS[n]: _option(n, text) for n, _, text in pairs}
                    return [{"kind": "tier", "tier": tier, **given}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        words: list[str] = [self.tier]
        if self.conductor is not None:
            words.append(f"planned by {self.conductor}")
        if self.max_rounds is not None:
            words.append(_counted(self.max_rounds, "round"))
        if self.max_steps is not None:
            words.append(_counted(self.max_steps, "step"))
        if self.workers:
            words.append(f"only {', '.join(self.workers)}")
        if self.pool_version is not None:
            words.append(f"pool version {self.pool_version}")
        return f"conductor ({', '.join(words)})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return self.workers

    def arrange(self, task: TaskContext) -> Arrangement:
        """Ask the tier, or with 0 rounds its fallback worker."""
        restrictions = RunRestrictions(workers=self.workers, max_steps=self.max_steps)
        if self.max_rounds == 0:
            worker = self._fallback(task)
            return Arrangement(
                self.tier,
                SingleWorkerPlanner(worker),
                restrictions=restrictions,
                rounds=(RoundShape(1, (worker,)),),
                pool_version=self.pool_version,
            )
        return Arrangement(
            self.tier,
            restrictions=restrictions,
            conductor=self.conductor or "",
            max_rounds=self.max_rounds,
            pool_version=self.pool_version,
        )

    def _fallback(self, task: TaskContext) -> str:
        """Return who answers without a plan, among the workers that may be used."""
        if not self.workers or task.fallback in self.workers:
            return task.fallback
        return next(w.name for w in task.workers if w.name in self.workers)


def _option(name: str, text: str) -> Any:
    if name == "workers":
        return text.split(",")
    # What is no number is refused with the settings, by its field.
    return int(text) if text.isdecimal() and name != "conductor" else text


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
