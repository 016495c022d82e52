"""Waits for the evaluations that a training takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

from apps.audit.models import JobState
from apps.audit.types import Actor
from apps.evaluation.models import EvaluationOutcome
from apps.evaluation.selectors import evaluation_list
from apps.evaluation.services import evaluation_cancel


class EvaluationBroke(Exception):
    """An evaluation did not come to its end."""

    def __init__(self, why: str, *, is_budget: bool = False) -> None:
        super().__init__(why)
        self.why, self.is_budget = why, is_budget


def evaluation_wait(
    team_id: UUID,
    evaluation_id: UUID,
    is_cancelled: Callable[[], bool],
    actor: Actor,
) -> Iterator[bool]:
    """Yield until an evaluation has ended; cancel it, and return, if `is_cancelled`.

    Raises: EvaluationBroke unless every system has answered every task.
    """
    while True:
        found = evaluation_list(team_id).filter(id=evaluation_id).first()
        if found is None:
            raise EvaluationBroke("its evaluation was deleted")
        if found.state == JobState.DONE:
            break
        if is_cancelled():
            evaluation_cancel(evaluation=found, actor=actor)
            return
        yield True
    if found.outcome == EvaluationOutcome.BUDGET:
        raise EvaluationBroke(found.error, is_budget=True)
    if found.outcome != EvaluationOutcome.COMPLETED:
        raise EvaluationBroke(found.error or f"its evaluation was {found.outcome}")
