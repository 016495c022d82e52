"""Sends deliveries: claims a webhook, tries what is due, stores what came of it."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from apps.audit.models import ChainHead
from apps.audit.types import SERVICE
from apps.core.errors import ConductorError
from apps.core.ids import new_id
from apps.llm.errors import LlmError
from apps.llm.http import HttpTransport
from apps.llm.tls_messages import TlsMessage, tls_send
from apps.webhooks.addresses import receiver_addresses
from apps.webhooks.emails import disabled_mail_send
from apps.webhooks.feeding import KEPT_FOR
from apps.webhooks.messages import Message, message_of
from apps.webhooks.models import STREAMS, DeliveryState, Webhook, WebhookDelivery
from apps.webhooks.services import deliveries_lost, webhook_disable

CLAIMED_FOR = timedelta(seconds=60)
"""Longer than an attempt and what is stored of it; a dead process holds no longer."""
AT_ONCE = 4
"""Events of one webhook that are sent at the same time."""
RETRIES_S = (5, 30, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds from each attempt at an event to the next; about three days in all."""
LONGEST_S = 300
"""Between two attempts at a batch of the ledger, which are made until it is too old."""
JITTER = 0.2
FAILING_FOR = timedelta(days=3)
"""A webhook that accepts nothing for so long is disabled."""
DRAIN_S = 1.0
GONE = 410
ACCEPTS_NOTHING = _("it has accepted nothing for three days")
IS_GONE = _("it answered 410 Gone")
_chance = random.Random()  # nosec B311
"""Not for secrets: it spreads calls, so that receivers are not called all at once."""


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """What came of sending a message once."""

    status: int | None
    error: str
    duration_ms: int

    @property
    def is_delivered(self) -> bool:
        """Say whether the receiver has taken the message."""
        return not self.error


def webhooks_due() -> list[uuid.UUID]:
    """Return the webhooks that have something to deliver and that no process has."""
    now = timezone.now()
    heads = ChainHead.objects.filter(team_id=OuterRef("team_id")).values("seq")[:1]
    due = WebhookDelivery.objects.across_teams().filter(
        webhook=OuterRef("pk"), state=DeliveryState.WAITING, next_attempt_at__lte=now
    )
    waiting = WebhookDelivery.objects.across_teams().filter(
        webhook=OuterRef("pk"), state=DeliveryState.WAITING
    )
    rows = Webhook.objects.across_teams().filter(
        Q(claimed_until=None) | Q(claimed_until__lt=now), is_enabled=True
    )
    # A stream whose batch waits for its next attempt adds no other one.
    behind = Q(cursor__lt=Subquery(heads)) & ~(Q(kind__in=STREAMS) & Exists(waiting))
    return list(rows.filter(behind | Exists(due)).values_list("id", flat=True))


def webhook_claim(webhook_id: uuid.UUID) -> uuid.UUID | None:
    """Take a webhook; return the claim, or None if another process was faster."""
    now, claim_id = timezone.now(), new_id()
    rows = Webhook.objects.across_teams().filter(id=webhook_id)
    free = rows.filter(Q(claimed_until=None) | Q(claimed_until__lt=now))
    taken = free.update(claim_id=claim_id, claimed_until=now + CLAIMED_FOR)
    return claim_id if taken else None


def webhook_release(webhook_id: uuid.UUID, claim_id: uuid.UUID) -> None:
    """Give a webhook back."""
    rows = Webhook.objects.across_teams().filter(id=webhook_id, claim_id=claim_id)
    rows.update(claim_id=None, claimed_until=None)


def messages_due(
    webhook_id: uuid.UUID, claim_id: uuid.UUID
) -> list[tuple[WebhookDelivery, Message | str]]:
    """Return what is to be sent now, oldest first, and go on holding the webhook.

    Instead of a message: why it cannot be made.
    """
    now = timezone.now()
    mine = Webhook.objects.across_teams().filter(
        id=webhook_id, claim_id=claim_id, is_enabled=True
    )
    if not mine.update(claimed_until=now + CLAIMED_FOR):
        return []
    webhook = mine.first()
    if webhook is None:
        return []
    deliveries = WebhookDelivery.objects.for_team(webhook.team_id).filter(
        webhook=webhook, state=DeliveryState.WAITING, next_attempt_at__lte=now
    )
    found = deliveries.order_by("next_attempt_at", "id")[:AT_ONCE]
    return [(each, _message(webhook, each)) for each in found]


def _message(webhook: Webhook, delivery: WebhookDelivery) -> Message | str:
    try:
        return message_of(webhook, delivery)
    except ConductorError as exc:
        return exc.message


async def attempt(transport: HttpTransport, message: Message | str) -> DeliveryAttempt:
    """Send a message once."""
    if isinstance(message, str):
        return DeliveryAttempt(None, message, 0)
    start = time.monotonic()
    status, error = None, ""
    try:
        if isinstance(message, TlsMessage):
            await asyncio.to_thread(tls_send, message, receiver_addresses())
        else:
            async with await transport.post(message) as reply:
                status = reply.status
                await reply.drain(DRAIN_S)
    except LlmError as exc:
        error = exc.message.removeprefix(f"{message.name!r}: ")
    if status is not None and not 200 <= status < 300:
        hint = ", and redirects are not followed" if 300 <= status < 400 else ""
        error = f"answered {status}{hint}"
    return DeliveryAttempt(status, error, round(1000 * (time.monotonic() - start)))


def attempts_store(
    webhook_id: uuid.UUID,
    claim_id: uuid.UUID,
    seen: list[tuple[WebhookDelivery, DeliveryAttempt]],
) -> None:
    """Store what came of some deliveries, if the webhook is still this process's."""
    with transaction.atomic():
        rows = Webhook.objects.across_teams().select_for_update()
        row = rows.filter(id=webhook_id, claim_id=claim_id).first()
        if row is None:
            return  # another process has it, and sends them again
        now = timezone.now()
        lost = [d for d, one in seen if not _store(row, d, one, now)]
        if lost:
            first = min(each.first_seq for each in lost)
            last = max(each.last_seq for each in lost)
            count = sum(each.last_seq - each.first_seq + 1 for each in lost)
            deliveries_lost(row, first, last, count, SERVICE)
        is_taken = any(one.is_delivered for _, one in seen)
        if is_taken:
            row.failing_since, row.delivered_at = None, now
        elif row.failing_since is None:
            row.failing_since = now
        row.save(update_fields=["failing_since", "delivered_at"])
        _disable_if_hopeless(row, [one for _, one in seen], now)


def _store(
    row: Webhook, delivery: WebhookDelivery, one: DeliveryAttempt, now: datetime
) -> bool:
    """Store an attempt; False: there will be no other one."""
    delivery.attempts += 1
    delivery.attempted_at = now
    delivery.status, delivery.duration_ms = one.status, one.duration_ms
    delivery.error = one.error[:200]
    wait_s = _wait_s(row, delivery, now)
    if one.is_delivered:
        delivery.state = DeliveryState.DELIVERED
    elif wait_s is None:
        delivery.state = DeliveryState.GIVEN_UP
    else:
        spread = _chance.uniform(1 - JITTER, 1 + JITTER)
        delivery.next_attempt_at = now + timedelta(seconds=wait_s * spread)
    delivery.save()
    return delivery.state != DeliveryState.GIVEN_UP


def _wait_s(row: Webhook, delivery: WebhookDelivery, now: datetime) -> float | None:
    """Return the time to the next attempt after a failed one; None: give up."""
    if now - delivery.created_at >= KEPT_FOR:
        return None
    done = delivery.attempts
    if row.is_stream:
        return min(RETRIES_S[0] << min(done - 1, 10), LONGEST_S)
    return RETRIES_S[done - 1] if done <= len(RETRIES_S) else None


def _disable_if_hopeless(
    row: Webhook, seen: list[DeliveryAttempt], now: datetime
) -> None:
    since = row.failing_since
    if any(one.status == GONE for one in seen):
        reason = IS_GONE
    elif since is not None and now - since >= FAILING_FOR:
        reason = ACCEPTS_NOTHING
    else:
        return
    webhook_disable(row, reason, SERVICE)
    disabled_mail_send(row)


def deliveries_forget(now: datetime | None = None) -> Iterator[int]:
    """Delete deliveries that are done and older than seven days, many at a time."""
    old = WebhookDelivery.objects.across_teams().filter(
        created_at__lt=(now or timezone.now()) - KEPT_FOR
    )
    done = old.exclude(state=DeliveryState.WAITING)
    while ids := list(done.values_list("id", flat=True)[:500]):
        yield WebhookDelivery.objects.across_teams().filter(id__in=ids).delete()[0]
