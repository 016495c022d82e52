"""Reads of webhooks and of what was delivered to them."""

from __future__ import annotations

import uuid

from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.webhooks.models import Webhook, WebhookDelivery


def webhook_list(*, team_id: uuid.UUID) -> TeamQuerySet[Webhook]:
    """Return the webhooks of a team, by name."""
    return Webhook.objects.for_team(team_id)


def access_webhook(*, team_id: uuid.UUID, webhook_id: uuid.UUID) -> Webhook:
    """Return a webhook of a team. Raises: NotFound."""
    found = webhook_list(team_id=team_id).filter(id=webhook_id).first()
    if found is None:
        raise NotFound(f"this team has no webhook {str(webhook_id)!r}")
    return found


def webhooks_subscribed(team_id: uuid.UUID, event_type: str) -> list[Webhook]:
    """Return the enabled webhooks of a team that get events of a type, by name."""
    rows = webhook_list(team_id=team_id).filter(is_enabled=True)
    return [row for row in rows if event_type in row.event_types]


def delivery_list(webhook: Webhook) -> TeamQuerySet[WebhookDelivery]:
    """Return the deliveries of the last seven days, newest first."""
    return WebhookDelivery.objects.for_team(webhook.team_id).filter(webhook=webhook)


def access_delivery(webhook: Webhook, delivery_id: uuid.UUID) -> WebhookDelivery:
    """Return a delivery of a webhook. Raises: NotFound."""
    found = delivery_list(webhook).filter(id=delivery_id).first()
    if found is None:
        raise NotFound(f"this webhook has no delivery {str(delivery_id)!r}")
    return found
