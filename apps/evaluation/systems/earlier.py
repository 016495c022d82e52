"""What systems may ask of an earlier evaluation that has ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from apps.evaluation.systems.task_index import TaskIndex

Pair = tuple[str, str]
"""Two workers, the first by name first."""


@dataclass(frozen=True, slots=True)
class MeasuredTask:
    """A task and what single workers did with it."""

    prompt: str
    outcomes: Mapping[str, tuple[bool, int]]
    """By worker: whether it was right, and its cost in micro-dollars."""
    family: str = ""


@dataclass(frozen=True, slots=True)
class ComparedTask:
    """A task and how far the answers of single workers are apart; no grade."""

    prompt: str
    distances: Mapping[Pair, float]
    """From 0, the same answer, to 2."""
    costs: Mapping[str, int]
    """By worker, in micro-dollars."""


@dataclass(frozen=True, slots=True)
class SampledTask:
    """A task that one worker answered several times, and another one once."""

    agreeing: int
    """Earlier answers that agree with the last one."""
    is_right: bool
    """Of the last answer, like the next one."""
    cost_micros: int
    """Of all answers."""
    strong_is_right: bool
    strong_cost_micros: int


class EarlierEvaluation(Protocol):
    """An evaluation of the same team, on other tasks."""

    def measured(self) -> TaskIndex[MeasuredTask]:
        """Return the tasks that single workers were graded on."""
        ...

    def compared(self) -> TaskIndex[ComparedTask]:
        """Return tasks that two workers or more have an answer to on record."""
        ...

    def sampled(
        self, cheap: str, strong: str, samples: int | None
    ) -> tuple[int, Sequence[SampledTask]]:
        """Return how many samples of a worker there are, and tasks that have them.

        Raises: ValueError if the evaluation had no such systems.
        """
        ...
