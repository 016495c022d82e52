"""Webhooks of a team, and what was or is to be delivered to them.

Nothing is queued beside the ledger: a webhook is a reader of its team's chain with a
cursor, so what has been recorded is delivered, whenever a process dies.
"""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_noop as _

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

MAX_NAME = 100
MAX_URL = 2_000


class WebhookKind(models.TextChoices):
    """What a webhook delivers."""

    EVENTS = "events", _("Events")
    """One request for each event of the chosen types."""
    CHAT = "chat", _("Messages for a chat")
    """The same events, each as JSON with one line `text`: what incoming webhooks of
    Slack, Mattermost and others take."""
    LEDGER = "ledger", _("Every ledger entry")
    """Entries in batches, in the order of the chain: a stream for a SIEM."""
    SYSLOG = "syslog", _("Every ledger entry, as syslog over TLS")
    """The same stream in the form of RFC 5424."""


STREAMS = (WebhookKind.LEDGER, WebhookKind.SYSLOG)
"""Kinds that deliver every entry in order."""


class Webhook(models.Model):
    """An address that receives the events of a team, or its ledger."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="webhooks")
    name = models.CharField(max_length=MAX_NAME)
    kind = models.CharField(max_length=8, choices=WebhookKind.choices)
    url = models.CharField(max_length=MAX_URL)
    """Often holds a secret of the receiver: never in a log or an entry."""
    event_types = models.JSONField(default=list)
    """Names of `event_types.EVENT_TYPES`; empty for one of the ledger."""
    secret = models.BinaryField()
    """What messages are signed with, sealed. Empty for syslog, which signs nothing."""
    previous_secret = models.BinaryField(null=True)
    """Signs as well until `previous_until`, so that receivers can change over."""
    previous_until = models.DateTimeField(null=True)
    header_name = models.CharField(max_length=100, blank=True)
    """A header that the receiver wants, such as `Authorization`. Empty: none."""
    header_value = models.BinaryField(null=True)
    """Its value, sealed."""
    is_enabled = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=200, blank=True)
    """Why the site disabled it. Empty: it is enabled, or a person disabled it."""
    cursor = models.BigIntegerField()
    """All entries up to this seq have become deliveries, or are of no interest."""
    failing_since = models.DateTimeField(null=True)
    """When the first of the attempts failed that have failed since. NULL: none."""
    delivered_at = models.DateTimeField(null=True)
    """When the receiver last accepted a delivery."""
    claim_id = models.UUIDField(null=True)
    """Of the process that delivers now; only one does at a time."""
    claimed_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["Webhook"].as_manager()

    class Meta:
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], name="webhook_name_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_signed(self) -> bool:
        """Say whether its receiver may check signatures: syslog and chats cannot."""
        return self.kind in (WebhookKind.EVENTS, WebhookKind.LEDGER)

    @property
    def is_stream(self) -> bool:
        """Say whether it delivers every entry, one batch after the other."""
        return self.kind in STREAMS


class DeliveryState(models.TextChoices):
    """How far a delivery is."""

    WAITING = "waiting", "Waiting"
    """For its first attempt, or for the next one."""
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given_up", "Given up"


class WebhookDelivery(models.Model):
    """One message: an event, or a batch of entries. Its body is made of the ledger."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    """Also in the message's id, which stays the same whenever it is sent again."""
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    event_type = models.CharField(max_length=64)
    first_seq = models.BigIntegerField()
    last_seq = models.BigIntegerField()
    """Of an event the same as `first_seq`."""
    state = models.CharField(max_length=9, choices=DeliveryState.choices)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    attempted_at = models.DateTimeField(null=True)
    status = models.PositiveIntegerField(null=True)
    """HTTP status of the last attempt. NULL: no answer came."""
    error = models.CharField(max_length=200, blank=True)
    """What was wrong with the last attempt. Empty: nothing."""
    duration_ms = models.PositiveIntegerField(null=True)
    """Of the last attempt."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet["WebhookDelivery"].as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["webhook", "first_seq", "event_type"],
                name="webhook_delivers_once",
            )
        ]
        indexes = [
            models.Index(
                fields=["webhook", "next_attempt_at"],
                condition=models.Q(state="waiting"),
                name="webhook_delivery_due",
            ),
            models.Index(fields=["created_at"], name="webhook_delivery_age"),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.first_seq}"
