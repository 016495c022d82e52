"""What all systems share: what they say of themselves, and the arrangement of a run."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Annotated, Any, ClassVar, Self
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints

from apps.core.input_parts import InputPart, one_line
from apps.engine.ports import CallParams, PoolWorker
from apps.evaluation.systems.earlier import EarlierEvaluation
from apps.planners.fixed import FixedPlanner
from apps.pools.types import PlannerSnapshot, TierSnapshot
from apps.runs.types import UNRESTRICTED, RunRestrictions

ModelName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
    AfterValidator(one_line),
]
WorkerName = ModelName
CARRIER_TIERS = ("ultra", "mini")
"""The first of these that a pool has is the one whose limits bind runs that are planned
by a fixed planner."""
PoolVersionNumber = Annotated[int, Field(ge=1, lt=2**31)]
VERSION_OPTION = "pool-version"
"""Of short names, like `pool-version=3`."""
SHORT_ID = 8
"""Characters of an id that labels show: the last ones, which are random."""
Values = dict[str, Any]
"""A system as JSON values, as settings of an evaluation have it."""


def carrier_tier(tiers: Mapping[str, TierSnapshot]) -> str:
    """Return the tier of a pool for fixed plans. Every pool has one of them."""
    return next(name for name in CARRIER_TIERS if name in tiers)


def version_read(option: str) -> int | str | None:
    """Return the number of `pool-version=N`; None: it is no such option.

    What is no number is returned as it is; the settings refuse it by its field.
    """
    name, equals, text = option.partition("=")
    if name != VERSION_OPTION or not (equals and text):
        return None
    return int(text) if text.isdecimal() else text


def short_id(evaluation_id: UUID) -> str:
    """Return the end of an evaluation's id, which tells it from others in labels."""
    return str(evaluation_id)[-SHORT_ID:]


def no_light_planner(number: int) -> PlannerSnapshot:
    """Stand for a pool without a light planner. Raises: ValueError."""
    raise ValueError(f"the pool has no version {number} of its light planner")


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What a system may know of a task when it arranges its run; not its answer."""

    key: str
    family: str
    prompt: str
    workers: tuple[PoolWorker, ...]
    """The chat workers of the pool, in its order."""
    fallback: str
    """The one of them that answers where there is no plan."""
    carrier: str
    """The tier of fixed planners; see `carrier_tier`."""
    max_steps: int
    """Of a plan, by that tier."""
    seed: int
    earlier: Callable[[UUID], EarlierEvaluation]
    """Returns an earlier evaluation by its id."""
    place: int = 0
    """Of the task among those of its evaluation, from 0."""
    light_planner: Callable[[int], PlannerSnapshot] = no_light_planner
    """Returns a version of the pool's light planner by its number."""

    def known_planner(self, version: int) -> PlannerSnapshot:
        """Return a version with what it knows of the models that workers stand for now.

        Raises: ValueError if there is no such version.
        """
        now = {worker.name: worker.fingerprint for worker in self.workers}
        found = self.light_planner(version)
        return replace(found, model=found.model.known_now(now))

    def random(self, purpose: str) -> Random:
        """Return a source of chance that is the same for the same task and seed."""
        return self.shared_random(f"{purpose} {self.key}")

    def shared_random(self, purpose: str) -> Random:
        """Return a source of chance that is the same for all tasks with the seed."""
        return Random(f"{self.seed} {purpose}")  # nosec B311


@dataclass(frozen=True, slots=True)
class RoundShape:
    """What a round may come to at most; its highest price follows from that."""

    steps: int
    workers: tuple[str, ...] = ()
    """Who may do the steps, beside the fallback worker. Empty: all of the pool."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How a task is run."""

    model: str
    """As in a `RunOrder`, without the pool: `mini`, `ultra`, `worker/<name>`."""
    planner: FixedPlanner | None = None
    restrictions: RunRestrictions = UNRESTRICTED
    params: CallParams = field(default_factory=CallParams)
    rounds: tuple[RoundShape, ...] = ()
    """Of a fixed planner. Empty: the tier decides."""
    conductor: str = ""
    """As in a `RunOrder`, like the next one."""
    max_rounds: int | None = None
    pool_version: int | None = None


@dataclass(frozen=True, slots=True)
class PoolNames:
    """What short names are completed from."""

    workers: tuple[str, ...]
    """The chat workers, in the order of the pool."""
    max_steps: int
    """Of a plan, by the tier of fixed planners."""


@dataclass(frozen=True, slots=True)
class PageChoice:
    """A system as the page offers it that starts evaluations."""

    value: str
    """Beginning of its short name; names the choice."""
    words: str
    parts: tuple[str, ...] = ()
    """The rest of the short name: fields of the page in braces, like `{worker}`. Parts
    whose field is empty are left out."""
    needs: tuple[str, ...] = ()
    """Fields that may not be empty."""
    is_usual: bool = False
    """True: chosen to begin with."""
    again: tuple[str, ...] = ()
    """Parts with each of which the system runs once more, if its field is not empty."""

    def short_names(self, fields: Mapping[str, object]) -> list[str]:
        """Return the short names for what the page's fields hold: one, or more."""
        name = ":".join([self.value, *_written(self.parts, fields)])
        return [name, *(f"{name}:{part}" for part in _written(self.again, fields))]


def _written(parts: Sequence[str], fields: Mapping[str, object]) -> list[str]:
    """Return the parts whose field is not empty, with what it holds."""
    return [
        part.format_map(fields)
        for part in parts
        if fields[part[part.index("{") + 1 : part.index("}")]] not in (None, "")
    ]


class BaseSystem(InputPart):
    """What all kinds of systems share. Each has a `kind` of its own."""

    short_form: ClassVar[str]
    """Its names on the command line, for people. Empty: it has none."""
    page_choices: ClassVar[tuple[PageChoice, ...]] = ()
    is_direct: ClassVar[bool] = False
    """True: it calls workers without a plan, which takes a right of its own."""

    @classmethod
    @abstractmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return the systems of a short name, split at its colons; None: none of it."""

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
    def is_exploration(self) -> bool:
        """Say whether planners learn from its plans, so that it is no comparison."""
        return False

    @property
    def grades_every_step(self) -> bool:
        """Say whether the code of every step of its plans is tested."""
        return self.is_exploration

    @property
    def version_of_pool(self) -> int | None:
        """Return the version of the pool that it uses; None: the present one."""
        return None

    @property
    def identity(self) -> str:
        """Return the settings as one text: equal for the same system alone."""
        given = self.model_dump(mode="json", exclude_defaults=True)
        return json.dumps(given, sort_keys=True)

    @abstractmethod
    def arrange(self, task: TaskContext) -> Arrangement:
        """Say how a task is run. Raises: ValueError if too little is known for it."""


class VersionedSystem(BaseSystem):
    """A system that may use an earlier version of the pool."""

    pool_version: PoolVersionNumber | None = None
    """None: the present one, whichever that is when a run begins."""

    @property
    def version_of_pool(self) -> int | None:
        """Return the version of the pool that it uses; None: the present one."""
        return self.pool_version


class MeasuredSystem(BaseSystem):
    """A system that depends on what an earlier evaluation found."""

    measured_by: UUID
    """An evaluation of workers on other tasks."""

    @abstractmethod
    def learned(self, earlier: EarlierEvaluation) -> Self:
        """Return the system with what it has to know, for the record.

        Called when an evaluation starts. Raises: ValueError if that is too little.
        """
