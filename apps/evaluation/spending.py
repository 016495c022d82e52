"""What an evaluation has spent and set aside: a sum that the process driving it keeps.

It is read from the results when a process begins to drive, and counted on from there:
a run begins without reading them all. Nothing is set aside by a process whose
evaluation another one has taken, so the sum of the present one is never too small.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Sum
from django.db.models.functions import Coalesce

from apps.audit.models import JobState
from apps.evaluation.models import Evaluation, EvaluationResult, ResultState
from apps.evaluation.selectors import results_of


def cost_of(result: EvaluationResult) -> int:
    """Return what a result has cost, or what is set aside for it, with its grade."""
    return result.cost_micros + result.grading_cost_micros


class Spending:
    """The running sum of one claimed evaluation, in micro-dollars."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self.micros = 0
        """Spent and set aside. Never less than the results come to."""
        self.recount()

    def recount(self) -> None:
        """Read the sum from all results."""
        total = Coalesce(Sum(F("cost_micros") + F("grading_cost_micros")), 0)
        self.micros = results_of(self._evaluation).aggregate(sum=total)["sum"]

    def change(self, before: int, result: EvaluationResult) -> None:
        """Note that a result, which came to `before`, was stored with other costs."""
        self.micros += cost_of(result) - before

    def set_aside(self, result: EvaluationResult, cost: int) -> bool:
        """Store that a result's runs begin and may cost so much.

        False, and nothing is stored: another process has taken the evaluation.
        """
        rows = Evaluation.objects.for_team(self._evaluation.team_id)
        claimed = rows.filter(
            id=self._evaluation.id,
            claim_id=self._evaluation.claim_id,
            state=JobState.RUNNING,
        )
        before = cost_of(result)
        with transaction.atomic():
            # Locked: who takes it now waits, and then reads what is stored here.
            if claimed.select_for_update().first() is None:
                return False
            result.state, result.cost_micros = ResultState.STARTED, cost
            result.save(update_fields=["state", "cost_micros"])
        self.change(before, result)
        return True
