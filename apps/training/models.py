"""What a team allows planners to learn from. Learning data itself is never stored.

It is read from the runs whenever it is needed, so what has been erased is in no data.
"""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet
from apps.training.adaptation.models import ObservedRun as ObservedRun
from apps.training.conductor.models import ConductorRollout as ConductorRollout
from apps.training.conductor.models import ConductorTraining as ConductorTraining
from apps.training.conductor.models import ConductorVersion as ConductorVersion
from apps.training.trainings.models import Training as Training

HALF_LIFE_ANSWERS = 50


class TrainingSettings(models.Model):
    """What a team allows. One without a row has given no consent."""

    team = models.OneToOneField(
        Team, models.CASCADE, primary_key=True, related_name="+"
    )
    learns_from_requests = models.BooleanField(default=False)
    """True: planners also learn from runs that people and API keys asked for, if these
    have been rated or reviewed. Evaluations are the team's own tests: they need no
    consent."""
    explored_percent = models.PositiveSmallIntegerField(default=0, db_default=0)
    """Of the requests to tiers of light planners that try a plan near the best one. It
    has an effect only with `learns_from_requests`."""
    trusts_verified_outcomes = models.BooleanField(default=False, db_default=False)
    """True: runs that verifiers of callers graded count apart from those that people
    rated, and one key's may weigh more. It has an effect only with
    `learns_from_requests`."""
    half_life_answers = models.PositiveIntegerField(
        default=HALF_LIFE_ANSWERS, db_default=HALF_LIFE_ANSWERS
    )
    """Answers of a worker in one ability and kind after which earlier ones count half,
    in what planners learn between trainings."""
    updated_at = models.DateTimeField(auto_now=True)
    actor_name = models.CharField(max_length=200, default="")
    """Of the last change, as the ledger names them."""

    objects = TeamQuerySet["TrainingSettings"].as_manager()

    def __str__(self) -> str:
        return f"{self.team_id} {self.learns_from_requests}"
