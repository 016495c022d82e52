"""Two evaluations side by side: the same systems on the tasks that both have run.

Systems are the same if all of their settings are. Tasks are the same if they have the
same id, whatever version of the suite they are of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from apps.core.errors import InvalidInput
from apps.core.scoping import TeamQuerySet
from apps.evaluation.models import GRADED, Evaluation, ResultState
from apps.evaluation.reports.statistics import Interval, paired_difference, share
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.systems.kinds import System

Outcomes = Mapping[str, tuple[bool, UUID]]
"""Of each task that has ended, by its id: whether it was right, and its run."""


@dataclass(frozen=True, slots=True)
class ChangedTask:
    """A task that a system had right in one of the two evaluations."""

    system: str
    task: str
    """Its id."""
    is_right: bool
    """In the later evaluation."""
    earlier_run_id: UUID
    later_run_id: UUID


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """One system in both evaluations."""

    label: str
    tasks: int
    """That both have ended."""
    earlier: Interval | None
    later: Interval | None
    difference: Interval | None
    """Of the accuracies, later less earlier, with its paired interval."""
    changed: tuple[ChangedTask, ...]

    @property
    def became_right(self) -> int:
        """Return how many tasks only the later evaluation had right."""
        return sum(task.is_right for task in self.changed)

    @property
    def became_wrong(self) -> int:
        """Return how many tasks only the earlier evaluation had right."""
        return len(self.changed) - self.became_right


@dataclass(frozen=True, slots=True)
class EvaluationPair:
    """Two evaluations of a suite, in the order in which they were ordered."""

    earlier: Evaluation
    later: Evaluation
    systems: tuple[SystemComparison, ...]
    """Those that both have, in the later one's order."""

    @property
    def is_simulated(self) -> bool:
        """Say whether figures of it are of simulated workers or tasks."""
        return self.earlier.is_simulated or self.later.is_simulated

    @property
    def changed(self) -> list[ChangedTask]:
        """Return the tasks that changed, of all systems."""
        return [task for system in self.systems for task in system.changed]


def others_of(evaluation: Evaluation) -> TeamQuerySet[Evaluation]:
    """Return what an evaluation can be compared with, newest first."""
    rows = evaluation_list(evaluation.team_id).exclude(id=evaluation.id)
    return rows.filter(version__suite=evaluation.version.suite_id)


def shared_systems(one: Evaluation, other: Evaluation) -> int:
    """Return how many systems two evaluations have in common."""
    own = {system.identity for system in _systems(one)}
    return sum(system.identity in own for system in _systems(other))


def compare(one: Evaluation, other: Evaluation) -> EvaluationPair:
    """Compare two evaluations. Raises: InvalidInput if their suites differ."""
    if one.version.suite_id != other.version.suite_id or one.id == other.id:
        raise InvalidInput("expected another evaluation of the same suite")
    earlier, later = sorted((one, other), key=lambda each: each.id)
    places = {system.identity: place for place, system in enumerate(_systems(earlier))}
    systems = (
        _compared(
            system.label,
            _outcomes(earlier, places[system.identity]),
            _outcomes(later, place),
        )
        for place, system in enumerate(_systems(later))
        if system.identity in places
    )
    return EvaluationPair(earlier, later, tuple(systems))


def _systems(evaluation: Evaluation) -> tuple[System, ...]:
    return EvaluationSettings.model_validate(evaluation.settings).systems


def _outcomes(evaluation: Evaluation, system: int) -> Outcomes:
    rows = results_of(evaluation).filter(system=system, state__in=GRADED)
    return {
        key: (state == ResultState.RIGHT, run_id)
        for key, state, run_id in rows.order_by("place").values_list(
            "task__key", "state", "run_id"
        )
    }


def _compared(label: str, earlier: Outcomes, later: Outcomes) -> SystemComparison:
    shared = [key for key in later if key in earlier]
    pairs = [(later[key][0], earlier[key][0]) for key in shared]
    return SystemComparison(
        label,
        len(shared),
        share(sum(was for _, was in pairs), len(shared)),
        share(sum(now for now, _ in pairs), len(shared)),
        paired_difference(
            pairs.count((True, True)),
            pairs.count((True, False)),
            pairs.count((False, True)),
            pairs.count((False, False)),
        ),
        tuple(
            ChangedTask(label, key, now, earlier[key][1], later[key][1])
            for key, (now, was) in zip(shared, pairs, strict=True)
            if now != was
        ),
    )
