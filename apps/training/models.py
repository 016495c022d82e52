"""What a team allows planners to learn from. Learning data itself is never stored.

It is read from the runs whenever it is needed, so what has been erased is in no data.
"""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.scoping import TeamQuerySet
from apps.training.trainings.models import Training as Training


class TrainingSettings(models.Model):
    """The consent of a team. A team without a row has given none."""

    team = models.OneToOneField(
        Team, models.CASCADE, primary_key=True, related_name="+"
    )
    learns_from_requests = models.BooleanField(default=False)
    """True: planners also learn from runs that people and API keys asked for, if these
    have been rated or reviewed. Evaluations are the team's own tests: they need no
    consent."""
    updated_at = models.DateTimeField(auto_now=True)
    actor_name = models.CharField(max_length=200, default="")
    """Of the last change, as the ledger names them."""

    objects = TeamQuerySet["TrainingSettings"].as_manager()

    def __str__(self) -> str:
        return f"{self.team_id} {self.learns_from_requests}"
