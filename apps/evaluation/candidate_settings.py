"""The settings that tests of a candidate share. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart, one_line
from apps.evaluation.candidate_tests import NAME_LENGTH
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
MAX_DAYS = 90


class CandidateSettings(InputPart):
    """A tier, and what is tested in its place."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=NAME_LENGTH),
        AfterValidator(one_line),
    ]
    pool: PoolName
    """Of the tier."""
    tier: Literal["mini", "ultra"]
    candidate: Candidate
    candidate_pool: PoolName | None = None
    """The pool that the candidate uses. None: the same."""

    @model_validator(mode="after")
    def _is_different(self) -> Self:
        same = self.candidate_pool in (None, self.pool)
        if same and self.candidate == TierSystem(kind="tier", tier=self.tier):
            raise PydanticCustomError("same", "the candidate is the tier itself")
        return self

    @property
    def pool_of_candidate(self) -> str:
        """Return the name of the pool that the candidate uses."""
        return self.candidate_pool or self.pool

    @property
    def original_name(self) -> str:
        """Return the name of the tier."""
        return f"{self.pool}/{self.tier}"

    @property
    def candidate_name(self) -> str:
        """Return the candidate's name, with its pool if it is another one."""
        label, pool = self.candidate.label, self.pool_of_candidate
        return label if pool == self.pool else f"{label} of {pool}"

    def values(self) -> dict[str, Any]:
        """Return the settings as JSON values, without what is not given."""
        found = self.model_dump(mode="json", exclude_defaults=True)
        candidate = self.candidate.model_dump(mode="json", exclude_defaults=True)
        return {**found, "candidate": candidate}
