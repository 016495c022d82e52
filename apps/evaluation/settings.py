"""What an evaluation is to do: its systems, tasks and limits, as a document. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart
from apps.evaluation.suites.tasks import Label, Split
from apps.evaluation.systems.base import WorkerName
from apps.evaluation.systems.kinds import System
from apps.evaluation.systems.single_worker import WorkerSystem

MAX_SYSTEMS = 50


def _distinct(systems: tuple[System, ...]) -> tuple[System, ...]:
    seen: set[str] = set()
    for system in systems:
        if system.identity in seen:
            raise PydanticCustomError(
                "distinct",
                "the system {label} is there twice",
                {"label": system.label},
            )
        seen.add(system.identity)
    return systems


class EvaluationSettings(InputPart):
    """The settings of one evaluation; recorded, and never changed afterwards."""

    pool: Annotated[str, Field(min_length=1, max_length=100)]
    """Name of a pool of the team."""
    systems: Annotated[
        tuple[System, ...],
        Field(min_length=1, max_length=MAX_SYSTEMS),
        AfterValidator(_distinct),
    ]
    split: Split = "held_out"
    """Which tasks of the suite."""
    families: tuple[Label, ...] = ()
    """Only tasks of these. Empty: of all."""
    max_tasks: Annotated[int, Field(ge=1)] | None = None
    """So many tasks, drawn by the seed, equally from each family. None: all."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Draws tasks and random plans."""
    parallel_runs: Annotated[int, Field(ge=1, le=64)] = 8
    """Runs at the same time."""
    grade_every_step: bool = False
    """True: the code of every step of a plan is tested, not of the last one alone.
    Answers that no code and no model has to grade are graded anyway."""
    grader: WorkerName | None = None
    """The worker of the pool that judges answers to tasks with a rubric."""
    is_calibration: bool = False
    """True: what it measures of single workers becomes their profiles."""
    max_cost_micros: Annotated[int, Field(ge=1)] | None = None
    """What all runs may cost together, in micro-dollars. None: no limit of its own.
    With it, a worker without a price is refused."""

    @model_validator(mode="after")
    def _only_single_workers(self) -> Self:
        if self.is_calibration and {s.kind for s in self.systems} != {"worker"}:
            raise PydanticCustomError(
                "calibration", "a calibration runs single workers only"
            )
        if self.is_calibration and any(s.version_of_pool for s in self.systems):
            raise PydanticCustomError(
                "calibration", "a calibration measures the present pool"
            )
        return self

    @model_validator(mode="after")
    def _explores_training_tasks(self) -> Self:
        explores = any(system.is_exploration for system in self.systems)
        if explores and self.split != "training":
            raise PydanticCustomError(
                "exploration",
                "an exploration runs training tasks: planners learn from it",
            )
        return self

    @property
    def single_workers(self) -> dict[int, str]:
        """Return the workers of the present pool that are run alone, by places."""
        return {
            place: system.worker
            for place, system in enumerate(self.systems)
            if isinstance(system, WorkerSystem) and system.pool_version is None
        }

    def grades_code_steps(self, system: int) -> bool:
        """Say whether the code of all steps of a system's plans is tested."""
        return self.grade_every_step or self.systems[system].grades_every_step

    def values(self) -> dict[str, Any]:
        """Return the settings as JSON values, without what is not given."""
        return self.model_dump(mode="json", exclude_defaults=True) | {
            "systems": [
                system.model_dump(mode="json", exclude_defaults=True)
                for system in self.systems
            ]
        }
