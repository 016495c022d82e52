"""Logged runs: what the light planner is fitted on. Pure.

A run is its prompt and the steps of its plan: who did what, what was in sight, and
whether the answer was right. A step whose answer was not graded says so; a call that
failed is missing, never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_PLAN = re.compile(
    r"\b(?:plan|outline|decide how|think through"
    r"|describe the (?:algorithm|approach|method))\b",
    re.IGNORECASE,
)
_COMBINE = re.compile(
    r"\b(?:compare|combine|aggregate|merge|reconcile|judge|several answers)",
    re.IGNORECASE,
)
_CHECK = re.compile(
    r"\b(?:check|review|verify|test|proof-?read|inspect|examine|correct)",
    re.IGNORECASE,
)


class StepRole(StrEnum):
    """What a step is for."""

    PLAN = "plan"
    """Says how to go about the question, without the result."""
    SOLVE = "solve"
    """Answers the question."""
    CHECK = "check"
    """Looks for faults in the last answer that it sees, and corrects them."""
    COMBINE = "combine"
    """Makes one answer of several."""


def role_of_subtask(subtask: str, access: Sequence[int]) -> StepRole:
    """Return what a subtask and its access list make of a step."""
    if not access:
        return StepRole.PLAN if _PLAN.search(subtask) else StepRole.SOLVE
    if _COMBINE.search(subtask):
        return StepRole.COMBINE
    return StepRole.CHECK if _CHECK.search(subtask) else StepRole.SOLVE


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """One step of a run that was executed."""

    worker: str
    """Name of the worker that answered."""
    role: StepRole
    access: tuple[int, ...] = ()
    """Indices (0-based) of the earlier steps that it read."""
    grade: float | None = None
    """1 for a right answer, 0 for a wrong one. None: not graded, or there is none."""
    input_tokens: int = 0
    output_tokens: int = 0
    """Both 0: unknown."""
    fingerprint: str = ""
    """Of the model that answered. Empty: not known."""


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """One executed plan of one run. The last step's answer is the run's."""

    prompt: str
    steps: tuple[LoggedStep, ...]
    weight: float = 1.0
    """How much it counts, above 0. Less for those of one person or key who has many."""
    family: str = ""
    """Of the task, as its suite or its caller names it. Empty: it is not known."""
