"""Conversations and their turns. What was said is in the runs alone.

A turn is a run, and the turn that it continues: so turns make a tree. What people see
is the path to one of its leaves.
"""

from __future__ import annotations

from django.db import models

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

NAME_LENGTH = 120
FOLDER_LENGTH = 60


class Conversation(models.Model):
    """Turns that one person, or one API key, keeps together."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    owner_type = models.CharField(max_length=16)
    """As the ledger names who it belongs to, like `owner_id`."""
    owner_id = models.CharField(max_length=64)
    name = models.CharField(max_length=NAME_LENGTH, default="", blank=True)
    """As its owner calls it. Empty: it is called by its first prompt."""
    folder = models.CharField(max_length=FOLDER_LENGTH, default="", blank=True)
    """Empty: it is in none."""
    is_pinned = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField()
    """When its last turn began."""
    shown = models.ForeignKey(
        "Turn", models.SET_NULL, null=True, related_name="+", db_index=False
    )
    """The last turn of the path that is shown. NULL: there is no turn."""

    objects = TeamQuerySet["Conversation"].as_manager()

    class Meta:
        ordering = ("-is_pinned", "-used_at", "-id")
        indexes = [
            models.Index(
                fields=["team", "owner_id", "-is_pinned", "-used_at"],
                name="conversation_by_owner",
            )
        ]

    def __str__(self) -> str:
        return str(self.id)


class Turn(models.Model):
    """A prompt and its answer, as a part of one conversation."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="turns", db_index=False
    )
    # No foreign key: the turn is stored before its run is on record.
    run_id = models.UUIDField(db_index=True)
    continues = models.ForeignKey(
        "self", models.CASCADE, null=True, related_name="continued_by"
    )
    """NULL: a conversation begins with it."""

    objects = models.Manager["Turn"]()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "run_id"], name="turn_is_unique"
            )
        ]

    def __str__(self) -> str:
        return str(self.id)
