"""Share links, and whether a team has them at all.

A link's note is a body of its entry in the ledger, so that it is encrypted and erased
as other texts are.
"""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from apps.accounts.models import Team
from apps.conversations.models import Turn
from apps.core.data_classes import DATA_CLASSES, DEFAULT_CLASS
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet
from apps.runs.models import Run

NOTE_LENGTH = 200
LONGEST_DAYS = 365
DEFAULT_DAYS = 30


class SharingSettings(models.Model):
    """What a team chose about share links. Without a row, it has none."""

    team = models.OneToOneField(
        Team, models.CASCADE, primary_key=True, related_name="+"
    )
    is_on = models.BooleanField(default=False)
    max_days = models.PositiveSmallIntegerField(
        default=DEFAULT_DAYS,
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST_DAYS)],
    )
    """The longest time for which a link works."""
    highest_class = models.CharField(max_length=12, default=DEFAULT_CLASS)
    """One of `core.data_classes`: runs of a higher one are not shared."""

    objects = TeamQuerySet["SharingSettings"].as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(max_days__gte=1) & Q(max_days__lte=LONGEST_DAYS),
                name="share_links_end_in_time",
            ),
            models.CheckConstraint(
                condition=Q(highest_class__in=DATA_CLASSES),
                name="highest_shared_class_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {'on' if self.is_on else 'off'}"


class ShareLink(models.Model):
    """An address at which anyone reads a run, or the turns up to one.

    Holds a digest of the address's secret, which cannot be read again.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=64, unique=True)
    """HMAC-SHA256 of the secret, in hexadecimal."""
    run = models.ForeignKey(
        Run, models.CASCADE, null=True, related_name="+", db_index=False
    )
    """The run that is shown. NULL: a conversation is, or was."""
    turn = models.ForeignKey(Turn, models.SET_NULL, null=True, related_name="+")
    """The last turn that is shown, with those before it. NULL: a run is, or the
    conversation has been deleted."""
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        db_index=False,
    )
    """NULL: their account has been deleted, and the link does not work."""
    made_by_name = models.CharField(max_length=200)
    """As the ledger names them."""
    has_plan = models.BooleanField()
    """True: plans, subtasks and answers of steps are shown as well."""
    has_name = models.BooleanField()
    """True: who made the link is shown."""
    data_class = models.CharField(max_length=12)
    """The highest class of what is shown, when the link was made."""
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    """NULL: nobody revoked it."""
    revoked_by = models.CharField(max_length=200, default="")
    views = models.PositiveIntegerField(default=0)
    """Those within a minute after one that was counted are not counted."""
    last_viewed_at = models.DateTimeField(null=True)
    """To the minute. NULL: it was never opened."""

    objects = TeamQuerySet["ShareLink"].as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [
            # The list of a team's links, newest first.
            models.Index(fields=["team", "-id"], name="share_link_by_team"),
            models.Index(
                fields=["run"],
                name="share_link_by_run",
                condition=Q(run__isnull=False),
            ),
            # For the sweep of those that ended long ago.
            models.Index(fields=["expires_at"], name="share_link_by_end"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(run__isnull=True) | Q(turn__isnull=True),
                name="share_link_shows_one_thing",
            ),
            models.CheckConstraint(
                condition=Q(data_class__in=DATA_CLASSES),
                name="share_link_class_is_known",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_deleted(self) -> bool:
        """Say whether what it showed has been deleted."""
        return self.run_id is None and self.turn_id is None
