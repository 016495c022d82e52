"""What an A/B test compares, for which share of the keys, and how long. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from apps.core.data_classes import DataClassName
from apps.evaluation.candidate_settings import MAX_DAYS, CandidateSettings

MAX_RUNS = 100_000


class ABSettings(CandidateSettings):
    """The settings of one A/B test; recorded, and never changed afterwards."""

    percent: Annotated[int, Field(ge=1, le=99)] = 50
    """Share of the team's API keys that the candidate answers, drawn by their ids."""
    highest_data_class: DataClassName | None = None
    """Requests of a higher one are in no arm. None: any may be."""
    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 14
    """So long after its start it ends by itself."""
    max_runs: Annotated[int, Field(ge=1, le=MAX_RUNS)] = 1_000
    """Of both arms together; then it ends by itself."""
