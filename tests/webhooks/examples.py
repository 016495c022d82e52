"""A webhook with a delivery, as other tests need one."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from apps.accounts.models import Team
from apps.webhooks.models import DeliveryState, WebhookDelivery
from apps.webhooks.services import webhook_create
from tests.factories import ACTOR

URL = "https://receiver.example/hooks"


def make_webhook(team: Team, name: str = "Chat") -> dict[str, Any]:
    """Add a webhook; return its id and that of its delivery, by argument names."""
    values = {"name": name, "kind": "events", "url": URL}
    values["event_types"] = ["run.ended"]  # type: ignore[assignment]
    row, _ = webhook_create(team=team, values=values, actor=ACTOR)
    delivery = WebhookDelivery.objects.create(
        webhook=row,
        team=team,
        event_type="run.ended",
        first_seq=1,
        last_seq=1,
        state=DeliveryState.DELIVERED,
        attempts=1,
        next_attempt_at=timezone.now(),
        status=204,
        duration_ms=3,
    )
    return {"webhook_id": row.id, "delivery_id": delivery.id}
