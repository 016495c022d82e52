"""Views of the list of runs that people keep."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

VIEW_NAME_LENGTH = 60
VIEW_QUERY_LENGTH = 2_000


class SavedView(models.Model):
    """Filters, order and columns of the list of runs, under a name."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    """Who made it."""
    name = models.CharField(max_length=VIEW_NAME_LENGTH)
    query = models.CharField(max_length=VIEW_QUERY_LENGTH)
    """Of the address of the list: filters and order."""
    hidden = models.JSONField(default=list)
    """Names of the columns that it does not show."""
    is_shared = models.BooleanField()
    """True: everybody in the team sees it."""

    objects = TeamQuerySet["SavedView"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "user", "name"], name="saved_view_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name
