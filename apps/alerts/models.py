"""Rules of alerts, the alerts that opened, mails about them, and personal choices.

A team without a row of a rule has the rule's defaults, see `types.DEFAULTS`. Alerts
hold names and figures, and no texts of runs.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import Team
from apps.alerts.types import AlertAudience, AlertKind, AlertSeverity
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

NAME_LENGTH = 250
SUBJECT_LENGTH = 64


class AlertRule(models.Model):
    """What a team has changed about a kind of alert."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(
        Team, models.CASCADE, related_name="alert_rules", db_index=False
    )
    kind = models.CharField(max_length=12, choices=AlertKind.choices)
    is_enabled = models.BooleanField(default=True)
    threshold = models.PositiveIntegerField(null=True)
    """As of `RuleDefaults`, like the next two."""
    window_minutes = models.PositiveIntegerField(null=True)
    least = models.PositiveIntegerField(null=True)
    channels = models.JSONField(default=list)
    """Values of `AlertChannel`, in their order. Empty: the alerts are in the list
    alone."""
    audience = models.CharField(
        max_length=6, choices=AlertAudience.choices, default=AlertAudience.ADMINS
    )
    member_ids = models.JSONField(default=list)
    """Ids of the chosen members; empty for other audiences."""
    mails_when_closed = models.BooleanField(default=False)
    """True: whoever got a mail when an alert opened gets another when it closes."""

    objects = TeamQuerySet["AlertRule"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "kind"], name="alert_rule_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.kind}"


class Alert(models.Model):
    """One time that the condition of a rule was met, from its beginning to its end."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(
        Team, models.CASCADE, related_name="alerts", db_index=False
    )
    kind = models.CharField(max_length=12)
    """An `AlertKind`, or `TEST`."""
    subject = models.CharField(max_length=SUBJECT_LENGTH, blank=True)
    """As of `Observation`, like the next one."""
    name = models.CharField(max_length=NAME_LENGTH, blank=True)
    severity = models.CharField(max_length=8, choices=AlertSeverity.choices)
    figures = models.JSONField(default=dict)
    """Measured when it opened, and again at each look while it is open."""
    opened_at = models.DateTimeField()
    critical_at = models.DateTimeField(null=True)
    """When it was critical for the first time. NULL: it never was."""
    closed_at = models.DateTimeField(null=True)
    """NULL: it is open."""
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=200, blank=True)
    """As the ledger names them."""
    muted_until = models.DateTimeField(null=True)
    """Until then it is not in the bell and nothing is sent about it."""
    muted_by = models.CharField(max_length=200, blank=True)

    objects = TeamQuerySet["Alert"].as_manager()

    TEST = "test"
    """The kind of an alert that a person sent to their own bell; `subject` is who."""

    class Meta:
        ordering = ("-id",)
        constraints = [
            # Several processes may look at once: one of them opens an alert.
            models.UniqueConstraint(
                fields=["team", "kind", "subject"],
                condition=Q(closed_at__isnull=True),
                name="alert_is_open_once",
            )
        ]
        indexes = [
            # The history of a team, newest first.
            models.Index(fields=["team", "id"], name="alert_by_team"),
            # Whether the same was muted before.
            models.Index(
                fields=["team", "muted_until"],
                condition=Q(muted_until__isnull=False),
                name="alert_muted",
            ),
            # For the job that forgets old ones.
            models.Index(
                fields=["closed_at"],
                condition=Q(closed_at__isnull=False),
                name="alert_by_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"

    @property
    def is_open(self) -> bool:
        """Say whether its condition has not ended yet."""
        return self.closed_at is None


class AlertMailState(models.TextChoices):
    """How far a mail is."""

    WAITING = "waiting", "Waiting"
    """For its first attempt, for the next one, or for the hour of a digest."""
    SENT = "sent", "Sent"
    FAILED = "failed", "Could not be sent"


class AlertMail(models.Model):
    """What one person is to learn of an alert by mail.

    That it opened; or, with a mark of its own, that it became critical or closed.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    alert = models.ForeignKey(Alert, models.CASCADE, related_name="mails")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    is_about_end = models.BooleanField(default=False)
    is_about_rise = models.BooleanField(default=False)
    """True: of a warning that became critical."""
    state = models.CharField(max_length=7, choices=AlertMailState.choices)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    message_id = models.UUIDField(null=True)
    """Of the mail that told of it; several share the one of a digest."""
    sent_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    objects = TeamQuerySet["AlertMail"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["alert", "user", "is_about_end", "is_about_rise"],
                name="alert_mail_is_unique",
            )
        ]
        indexes = [
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(state="waiting"),
                name="alert_mail_due",
            ),
            # How many mails a person got in the last hour.
            models.Index(
                fields=["team", "user", "sent_at"],
                condition=Q(state="sent"),
                name="alert_mail_sent",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.alert_id} {self.state}"


class AlertMailChoice(models.Model):
    """The kinds of alerts about a team of which a person wants no mail."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    kinds_off = models.JSONField(default=list)
    """Values of `AlertKind`."""

    objects = TeamQuerySet["AlertMailChoice"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "user"], name="alert_mail_choice_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.kinds_off}"
