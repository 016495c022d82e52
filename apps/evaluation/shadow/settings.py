"""What a shadow test mirrors, to which candidate, and how far. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart, one_line
from apps.evaluation.shadow.models import NAME_LENGTH
from apps.evaluation.systems.base import WorkerName
from apps.evaluation.systems.mixture_of_agents import MixtureOfAgentsSystem
from apps.evaluation.systems.self_reflection import SelfReflectionSystem
from apps.evaluation.systems.single_worker import WorkerSystem
from apps.evaluation.systems.tier import TierSystem

PoolName = Annotated[str, Field(min_length=1, max_length=100)]
Candidate = Annotated[
    TierSystem | WorkerSystem | SelfReflectionSystem | MixtureOfAgentsSystem,
    Field(discriminator="kind"),
]
"""Systems that need to know nothing of a task but its prompt."""
SourceName = Literal["playground", "api", "rest"]
MAX_DAYS = 90


class ShadowSettings(InputPart):
    """The settings of one shadow test; recorded, and never changed afterwards."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=NAME_LENGTH),
        AfterValidator(one_line),
    ]
    pool: PoolName
    """Whose runs are mirrored."""
    tier: Literal["mini", "ultra"]
    candidate: Candidate
    candidate_pool: PoolName | None = None
    """The pool that the candidate uses. None: the same."""
    percent: Annotated[int, Field(ge=1, le=100)] = 100
    """Share of the runs, drawn by their ids."""
    sources: tuple[SourceName, ...] = ()
    """Only runs that came this way. Empty: all."""
    since: datetime | None = None
    """Runs that began from then on. None: from the start of the test."""
    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 7
    """So long after `since` runs are mirrored."""
    max_runs: Annotated[int, Field(ge=1, le=10_000)] = 200
    max_cost_micros: Annotated[int, Field(ge=1)]
    """What the candidate's runs and the grader's may cost together, micro-dollars."""
    parallel_runs: Annotated[int, Field(ge=1, le=16)] = 2
    """Of the candidate, at the same time."""
    grader: WorkerName | None = None
    """The worker of the candidate's pool that compares the answers. None: none does."""

    @model_validator(mode="after")
    def _is_different(self) -> Self:
        same = self.candidate_pool in (None, self.pool)
        if same and self.candidate == TierSystem(kind="tier", tier=self.tier):
            raise PydanticCustomError(
                "same", "the candidate is the very tier that is mirrored"
            )
        if self.since is not None and self.since.tzinfo is None:
            raise PydanticCustomError("zone", "since: expected a time with its zone")
        return self

    @property
    def pool_of_candidate(self) -> str:
        """Return the name of the pool that the candidate uses."""
        return self.candidate_pool or self.pool

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names by which callers ask for the tier; both are of its pool."""
        return f"conductor-{self.tier}", f"{self.pool}/{self.tier}"

    def values(self) -> dict[str, Any]:
        """Return the settings as JSON values, without what is not given."""
        found = self.model_dump(mode="json", exclude_defaults=True)
        candidate = self.candidate.model_dump(mode="json", exclude_defaults=True)
        return {**found, "candidate": candidate}
