"""What tests of a candidate share: a tier as it is, beside what might take its place.

Shadow tests answer nobody; A/B tests answer the callers of some keys.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from apps.accounts.models import Team, User
from apps.core.ids import new_id

NAME_LENGTH = 80


class CandidateTest(models.Model):
    """A test of a candidate for a tier, which can be promoted to it."""

    SUBJECT: ClassVar[str]
    """What ledger entries call it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    """Who started it."""
    name = models.CharField(max_length=NAME_LENGTH)
    settings = models.JSONField()
    """A `CandidateSettings` with what this kind of test has beside."""
    until = models.DateTimeField()
    """Runs that began before then are in it."""
    error = models.CharField(max_length=300, default="")
    """Why it ended early."""
    replaced = models.JSONField(null=True)
    """Values of the pool before and after the candidate was promoted. NULL: it is
    not promoted."""
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
