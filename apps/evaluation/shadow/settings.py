"""What a shadow test mirrors, to which candidate, and how far. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from apps.core.data_classes import DataClassName
from apps.core.input_parts import InputPart
from apps.evaluation.candidate_settings import MAX_DAYS, CandidateSettings
from apps.evaluation.systems.base import WorkerName
from apps.runs.types import RunFilters

SourceName = Literal["playground", "api", "rest"]
Micros = Annotated[int, Field(ge=0)]


class ShadowFilters(InputPart):
    """Which of a tier's runs are mirrored; what is not given filters nothing."""

    api_key_id: UUID | None = None
    user_id: UUID | None = None
    query: Annotated[str, Field(max_length=200)] = ""
    """A part of the title."""
    state: Literal["completed", "failed"] | None = None
    min_cost_micros: Micros | None = None
    max_cost_micros: Micros | None = None
    """Of the original run; both bounds are included."""
    feedback: Literal["up", "down"] | None = None
    """Somebody rated the answer so, when the test comes to the run."""
    data_classes: tuple[DataClassName, ...] = ()
    """As the policy found it: of a team without rules no run has one."""

    @property
    def when_begun(self) -> RunFilters:
        """Return the filters that the beginning of a run decides."""
        return RunFilters(
            api_key_id=self.api_key_id, user_id=self.user_id, query=self.query
        )

    @property
    def when_ended(self) -> RunFilters:
        """Return the filters of its row that its end decides."""
        return RunFilters(
            state=self.state or "",
            min_cost_micros=self.min_cost_micros,
            max_cost_micros=self.max_cost_micros,
        )


class ShadowSettings(CandidateSettings):
    """The settings of one shadow test; recorded, and never changed afterwards."""

    percent: Annotated[int, Field(ge=1, le=100)] = 100
    """Share of the runs, drawn by their ids."""
    sources: tuple[SourceName, ...] = ()
    """Only runs that came this way. Empty: all."""
    filters: ShadowFilters = ShadowFilters()
    since: datetime | None = None
    """Runs that began from then on. None: from the start of the test."""
    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 7
    """So long after `since` runs are mirrored."""
    max_runs: Annotated[int, Field(ge=1, le=10_000)] = 200
    max_cost_micros: Annotated[int, Field(ge=1)] | None = None
    """What the candidate's runs and the grader's may cost together, micro-dollars.
    None: the team's budgets alone bound them."""
    parallel_runs: Annotated[int, Field(ge=1, le=16)] = 2
    """Of the candidate, at the same time."""
    grader: WorkerName | None = None
    """The worker of the candidate's pool that compares the answers. None: none does."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.since is not None and self.since.tzinfo is None:
            raise PydanticCustomError("zone", "since: expected a time with its zone")
        if self.filters.feedback is not None and self.since is None:
            raise PydanticCustomError(
                "feedback", "feedback: only recorded runs have it; say since when"
            )
        return self

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names by which callers ask for the tier; both are of its pool."""
        return f"conductor-{self.tier}", self.original_name
