"""What all systems share: the arrangement of one run, and what it may depend on."""

from __future__ import annotations

import json
import random
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, StringConstraints

from apps.core.input_parts import InputPart, one_line
from apps.engine.ports import CallParams, PoolWorker
from apps.evaluation.systems.task_index import TaskIndex
from apps.planners.fixed import FixedPlanner
from apps.runs.types import UNRESTRICTED, RunRestrictions

WorkerName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
    AfterValidator(one_line),
]
CARRIER_TIER = "ultra"
"""The tier whose limits bind runs that are planned by a fixed planner."""


SHORT_ID = 8
"""Characters of an id that labels show: the last ones, which are random."""


def short_id(evaluation_id: UUID) -> str:
    """Return the end of an evaluation's id, which tells it from others in labels."""
    return str(evaluation_id)[-SHORT_ID:]


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What a system may know of a task when it arranges its run; not its answer."""

    key: str
    family: str
    prompt: str
    workers: tuple[PoolWorker, ...]
    """The chat workers of the pool, in its order."""
    max_steps: int
    """Of a plan, by the tier of fixed planners."""
    seed: int
    measured: Callable[[UUID], TaskIndex]
    """Returns the tasks of an earlier evaluation of single workers, by its id."""

    def random(self, purpose: str) -> random.Random:
        """Return a source of chance that is the same for the same task and seed."""
        return random.Random(f"{self.seed} {purpose} {self.key}")  # nosec B311


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How a task is run."""

    model: str
    """As in a `RunOrder`, without the pool: `mini`, `ultra`, `worker/<name>`."""
    planner: FixedPlanner | None = None
    restrictions: RunRestrictions = UNRESTRICTED
    params: CallParams = field(default_factory=CallParams)
    steps: int | None = None
    """Of the plan. None: the tier decides."""


class BaseSystem(InputPart):
    """What all kinds of systems share. Each has a `kind` of its own."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Return the system's name in reports; other settings have another one."""

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return ()

    @property
    def steps(self) -> int:
        """Return the steps that its plans have, at least; 0: it needs no tier."""
        return 0

    @property
    def identity(self) -> str:
        """Return the settings as one text: equal for the same system alone."""
        given = self.model_dump(mode="json", exclude_defaults=True)
        return json.dumps(given, sort_keys=True)

    @abstractmethod
    def arrange(self, task: TaskContext) -> Arrangement:
        """Say how a task is run. Raises: ValueError if too little is known for it."""
