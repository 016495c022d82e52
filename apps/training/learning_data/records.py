"""One run of the learning data, and where its grade is from. Pure."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from apps.planners.light.logged_runs import LoggedRun
from apps.runs.types import UNCONFINED, PromptConfines


class GradeSource(StrEnum):
    """Who says whether an answer was right."""

    VERIFIER = "verifier"
    """The verifier of an evaluation's task."""
    REVIEWER = "reviewer"
    """The verdict of a review: 1 if it passed, else 0."""
    CLIENT = "client"
    """Verifiers of API clients: the share that called the answer right."""
    FEEDBACK = "feedback"
    """People's ratings: the share of good ones."""


@dataclass(frozen=True, slots=True)
class GradedRun:
    """A run that planners may learn from, without its texts."""

    run_id: uuid.UUID
    source: GradeSource
    family: str
    """Of the task. Empty: the run is of no evaluation."""
    grade: float
    """Of the answer, from 0 to 1."""
    weight: float = 1.0
    """How much it counts, above 0."""
    is_explored: bool = False
    """True: a request that tried a plan near the best one."""


@dataclass(frozen=True, slots=True)
class LearningRecord:
    """A graded run with its prompt and steps."""

    graded: GradedRun
    created_at: datetime
    run: LoggedRun
    costs: tuple[int | None, ...]
    """Of each step, in micro-dollars. None: a part is unknown."""
    confines: PromptConfines = UNCONFINED
    """Whom its prompt may be sent to."""
    explanation: str = ""
    """Why the plan was chosen, as JSON; empty if its planner does not say."""
