"""Webhooks: added, changed, tested, deleted; what they delivered. By people alone."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_WEBHOOKS
from apps.rest.fields import Input, Output, TextField, Time, Word
from apps.rest.schema import HIDDEN, operation
from apps.rest.views import RestView
from apps.webhooks.event_types import EVENT_TYPES
from apps.webhooks.models import DeliveryState, Webhook, WebhookKind
from apps.webhooks.selectors import (
    access_delivery,
    access_webhook,
    delivery_list,
    webhook_list,
)
from apps.webhooks.services import (
    delivery_resend,
    secret_rotate,
    webhook_create,
    webhook_delete,
    webhook_test,
    webhook_update,
)

TAG = "Webhooks"
WEBHOOK: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000041",
    "name": "Tickets",
    "kind": "events",
    "url": "https://tickets.example/hooks/conductor",
    "event_types": ["approval.requested", "policy.hit"],
    "header_name": "",
    "is_enabled": True,
    "disabled_reason": "",
    "failing_since": None,
    "delivered_at": "2026-11-23T15:53:18.000000Z",
    "created_at": "2026-11-23T15:53:16.000000Z",
}
NEW: dict[str, Any] = {**WEBHOOK, "secret": "whsec_…"}  # nosec B105
DELIVERY: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000042",
    "event_type": "policy.hit",
    "first_seq": 4711,
    "last_seq": 4711,
    "state": "delivered",
    "attempts": 1,
    "next_attempt_at": "2026-11-23T15:53:17.000000Z",
    "attempted_at": "2026-11-23T15:53:18.000000Z",
    "status": 204,
    "error": "",
    "duration_ms": 31,
    "created_at": "2026-11-23T15:53:17.000000Z",
}


class WebhookChangeInput(Input):
    """What can be changed of a webhook."""

    name = TextField(required=False, max_length=100)
    url = TextField(
        required=False,
        max_length=2000,
        help_text="https; http inside of the operator's WEBHOOK_NETWORKS; for the kind "
        "`syslog` syslog+tls://host:6514.",
    )
    event_types = serializers.ListField(
        child=Word(choices=tuple(EVENT_TYPES)),
        required=False,
        help_text="For the kinds `events` and `chat`: at least one.",
    )
    header_name = TextField(
        required=False,
        max_length=100,
        allow_blank=True,
        help_text="A header that the receiver wants. Empty: none.",
    )
    header_value = TextField(
        required=False, max_length=4000, allow_blank=True, help_text="Write-only."
    )


class WebhookUpdateInput(WebhookChangeInput):
    """Changes of a webhook."""

    is_enabled = serializers.BooleanField(
        required=False, help_text="True: it continues where it stopped."
    )


class WebhookCreateInput(WebhookChangeInput):
    """A new webhook."""

    name = TextField(max_length=100)
    kind = Word(choices=WebhookKind.choices)
    url = TextField(max_length=2000)


class WebhookOutput(Output):
    """A webhook, without its secret."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=WebhookKind.choices)
    url = serializers.CharField()
    event_types = serializers.ListField(child=serializers.CharField())
    header_name = serializers.CharField()
    is_enabled = serializers.BooleanField()
    disabled_reason = serializers.CharField(
        help_text="Why the site disabled it. Empty: it did not."
    )
    failing_since = Time(allow_null=True)
    delivered_at = Time(allow_null=True, help_text="When it last accepted something.")
    created_at = Time()


class WebhookSecretOutput(WebhookOutput):
    """A webhook with the secret that nothing shows again."""

    secret = serializers.CharField(help_text="Empty for the kind `syslog`.")


class WebhookDeliveryOutput(Output):
    """An event, or a batch of entries, on its way to a webhook."""

    id = serializers.UUIDField(help_text="`webhook-id` is `msg_` and its digits.")
    event_type = serializers.CharField()
    first_seq = serializers.IntegerField(help_text="The entry, or the first of them.")
    last_seq = serializers.IntegerField()
    state = serializers.ChoiceField(choices=DeliveryState.choices)
    attempts = serializers.IntegerField()
    next_attempt_at = Time()
    attempted_at = Time(allow_null=True)
    status = serializers.IntegerField(allow_null=True)
    error = serializers.CharField()
    duration_ms = serializers.IntegerField(allow_null=True)
    created_at = Time()


class WebhookView(RestView):
    """Finds the webhook that an address names."""

    tag = TAG

    def webhook(self, webhook_id: uuid.UUID) -> Webhook:
        """Return a webhook of the team. Raises: NotFound."""
        return access_webhook(team_id=self.principal.team_id, webhook_id=webhook_id)


class Webhooks(RestView):
    """The webhooks of the team."""

    tag = TAG
    rights = {"GET": MANAGE_WEBHOOKS, "POST": MANAGE_WEBHOOKS}

    @operation("webhook_list", "List webhooks", page_of=WebhookOutput, example=WEBHOOK)
    def get(self, request: Request) -> Response:
        """Return the webhooks by name, without their secrets."""
        return self.listed(webhook_list(team_id=self.principal.team_id), WebhookOutput)

    @operation(
        "webhook_create",
        "Add a webhook",
        body=WebhookCreateInput,
        answer=WebhookSecretOutput,
        status=201,
        errors=(409,),
        sent={
            "name": "Tickets",
            "kind": "events",
            "url": "https://tickets.example/hooks/conductor",
            "event_types": ["approval.requested", "policy.hit"],
            "header_name": "Authorization",
            "header_value": HIDDEN,
        },
        example=NEW,
    )
    def post(self, request: Request) -> Response:
        """Add a webhook. Its secret is in this answer, and nowhere afterwards.

        409: the team has as many as it may have.
        """
        row, secret = webhook_create(
            team=self.principal.team,
            values=self.read(WebhookCreateInput),
            actor=self.principal.actor,
        )
        place = reverse("rest:webhook", args=[row.id])
        return self.created({**WebhookOutput(row).data, "secret": secret}, place)


class OneWebhook(WebhookView):
    """One webhook."""

    rights = {
        "GET": MANAGE_WEBHOOKS,
        "PATCH": MANAGE_WEBHOOKS,
        "DELETE": MANAGE_WEBHOOKS,
    }

    @operation("webhook_get", "Read a webhook", answer=WebhookOutput, example=WEBHOOK)
    def get(self, request: Request, webhook_id: uuid.UUID) -> Response:
        """Return a webhook, without its secret."""
        return Response(WebhookOutput(self.webhook(webhook_id)).data)

    @operation(
        "webhook_update",
        "Change a webhook",
        body=WebhookUpdateInput,
        is_partial=True,
        answer=WebhookOutput,
        sent={"is_enabled": False},
        example=WEBHOOK,
    )
    def patch(self, request: Request, webhook_id: uuid.UUID) -> Response:
        """Change, enable or disable a webhook."""
        row = webhook_update(
            webhook=self.webhook(webhook_id),
            values=self.read(WebhookUpdateInput, is_partial=True),
            actor=self.principal.actor,
        )
        return Response(WebhookOutput(row).data)

    @operation("webhook_delete", "Delete a webhook")
    def delete(self, request: Request, webhook_id: uuid.UUID) -> Response:
        """Delete a webhook; what waits for another attempt is not sent."""
        webhook_delete(webhook=self.webhook(webhook_id), actor=self.principal.actor)
        return Response(status=204)


class WebhookSecret(WebhookView):
    """The secret of a webhook."""

    rights = {"POST": MANAGE_WEBHOOKS}

    @operation(
        "webhook_rotate",
        "Replace the secret of a webhook",
        answer=WebhookSecretOutput,
        errors=(409,),
        example=NEW,
    )
    def post(self, request: Request, webhook_id: uuid.UUID) -> Response:
        """Replace the secret; for a day the old one signs as well. 409: syslog."""
        row, secret = secret_rotate(
            webhook=self.webhook(webhook_id), actor=self.principal.actor
        )
        return Response({**WebhookOutput(row).data, "secret": secret})


class WebhookTest(WebhookView):
    """A test of a webhook."""

    rights = {"POST": MANAGE_WEBHOOKS}

    @operation("webhook_test", "Send a test to a webhook", status=204, errors=(409,))
    def post(self, request: Request, webhook_id: uuid.UUID) -> Response:
        """Send an event of the type `webhook.test`. 409: it is disabled."""
        webhook_test(webhook=self.webhook(webhook_id), actor=self.principal.actor)
        return Response(status=204)


class WebhookDeliveries(WebhookView):
    """What was and is to be delivered to a webhook."""

    rights = {"GET": MANAGE_WEBHOOKS}

    @operation(
        "webhook_deliveries",
        "List deliveries of a webhook",
        page_of=WebhookDeliveryOutput,
        example=DELIVERY,
    )
    def get(self, request: Request, webhook_id: uuid.UUID) -> Response:
        """Return the deliveries of the last seven days, newest first."""
        webhook = self.webhook(webhook_id)
        return self.listed(delivery_list(webhook), WebhookDeliveryOutput)


class WebhookResend(WebhookView):
    """A message that is sent again."""

    rights = {"POST": MANAGE_WEBHOOKS}

    @operation("webhook_resend", "Send a message again", status=204, errors=(409,))
    def post(
        self, request: Request, webhook_id: uuid.UUID, delivery_id: uuid.UUID
    ) -> Response:
        """Send an event again, with the same id. 409: the webhook is disabled, or a
        stream, which is sent in order.
        """
        delivery = access_delivery(self.webhook(webhook_id), delivery_id)
        delivery_resend(delivery=delivery, actor=self.principal.actor)
        return Response(status=204)
