"""Turns entries of the ledger into deliveries, and moves the cursor with them.

Entries of a team become visible in the order of their seq, as each commit holds the
end of the chain; so nothing can come to be behind a cursor.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

import orjson
from django.db import transaction
from django.utils import timezone

from apps.audit.browsing.search import EntryFilter, entries_find
from apps.audit.models import ChainHead, Entry
from apps.audit.types import SERVICE
from apps.webhooks.event_types import BATCH, TEST, EventType, actions_of, events_in
from apps.webhooks.models import (
    DeliveryState,
    Webhook,
    WebhookDelivery,
)
from apps.webhooks.services import deliveries_lost

KEPT_FOR = timedelta(days=7)
"""Older entries are not delivered any more; deliveries are forgotten after it."""
EVENTS_AT_ONCE = 500
"""Entries looked at in one transaction."""
BATCH_ENTRIES = 500
BATCH_BYTES = 1_000_000
"""Of the entries of one message; a single longer one goes alone."""


@transaction.atomic
def deliveries_add(webhook_id: uuid.UUID, claim_id: uuid.UUID) -> bool:
    """Make deliveries of what has been recorded; False: there is nothing new."""
    rows = Webhook.objects.across_teams().select_for_update()
    row = rows.filter(id=webhook_id, claim_id=claim_id, is_enabled=True).first()
    if row is None:
        return False
    heads = ChainHead.objects.filter(team_id=row.team_id)
    through = heads.values_list("seq", flat=True).first() or 0
    if row.cursor >= through:
        return False
    if row.is_stream and _has_waiting(row):
        return False  # one batch after the other
    _skip_old(row, through)
    begin = row.cursor
    made = _batch(row) if row.is_stream else _events(row, through)
    WebhookDelivery.objects.bulk_create(made)
    row.save(update_fields=["cursor"])
    return row.cursor > begin


def _has_waiting(row: Webhook) -> bool:
    deliveries = WebhookDelivery.objects.for_team(row.team_id).filter(webhook=row)
    return deliveries.filter(state=DeliveryState.WAITING).exists()


def _skip_old(row: Webhook, through: int) -> None:
    """Move the cursor over entries that are too old, and record that."""
    entries = Entry.objects.for_team(row.team_id)
    oldest = entries.filter(seq=row.cursor + 1).values_list("recorded_at", flat=True)
    limit = timezone.now() - KEPT_FOR
    recorded_at = oldest.first()
    if recorded_at is None or recorded_at >= limit:
        return
    young = entries_find(row.team_id, EntryFilter(since=limit), limit=1, after=0)
    first = young.entries[0].seq if young.entries else through + 1
    deliveries_lost(row, row.cursor + 1, first - 1, first - 1 - row.cursor, SERVICE)
    row.cursor = first - 1


def _events(row: Webhook, through: int) -> list[WebhookDelivery]:
    """Return a delivery for each event that comes next."""
    actions = (*actions_of(row.event_types), *TEST.actions)
    entries = Entry.objects.for_team(row.team_id).filter(
        seq__gt=row.cursor, seq__lte=through, action__in=actions
    )
    found = list(entries.order_by("seq")[:EVENTS_AT_ONCE])
    row.cursor = found[-1].seq if len(found) == EVENTS_AT_ONCE else through
    return [
        _delivery(row, kind.name, entry.seq, entry.seq)
        for entry in found
        for kind in _kinds(row, entry)
    ]


def _kinds(row: Webhook, entry: Entry) -> list[EventType]:
    if entry.action in TEST.actions:
        return [TEST] if entry.subject_id == row.id else []
    facts = orjson.loads(bytes(entry.canonical))["data"]
    return events_in(row.event_types, entry.action, facts)


def _batch(row: Webhook) -> list[WebhookDelivery]:
    """Return a delivery of the entries that come next."""
    entries = Entry.objects.for_team(row.team_id).filter(seq__gt=row.cursor)
    size, last = 0, row.cursor
    rows = entries.order_by("seq").values_list("seq", "canonical")
    for seq, canonical in rows[:BATCH_ENTRIES]:
        size += len(canonical)
        if last > row.cursor and size > BATCH_BYTES:
            break
        last = seq
    first, row.cursor = row.cursor + 1, last
    return [_delivery(row, BATCH, first, last)] if last >= first else []


def _delivery(row: Webhook, kind: str, first: int, last: int) -> WebhookDelivery:
    return WebhookDelivery(
        webhook=row,
        team_id=row.team_id,
        event_type=kind,
        first_seq=first,
        last_seq=last,
        state=DeliveryState.WAITING,
        next_attempt_at=timezone.now(),
    )
