"""Erases content past its retention period, and deletes unused conversations.

One step erases the bodies of some entries, records that in the ledger and notes how far
it has come, in one transaction. So it can stop between any two steps, and be done by
two processes at once.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from apps.attachments.services import unused_delete, unused_due, uses_erase
from apps.audit.selectors import chain_team_ids, texts_recorded_before
from apps.audit.services import content_erase, entries_append
from apps.audit.types import SERVICE, Batch, EntryDraft
from apps.conversations.selectors import conversations_idle
from apps.conversations.services import conversations_delete, names_erase
from apps.core.database_outage import is_outage
from apps.governance import metrics
from apps.governance.models import Retention
from apps.governance.selectors import held, site_days
from apps.governance.types import Erased, IdleDeleted
from apps.runs.services import run_texts_erase

logger = logging.getLogger(__name__)
CONVERSATIONS_DELETED = "conversations.deleted"
CONVERSATIONS_AT_ONCE = 250
"""In one step, and in one entry, which names them."""
ENTRIES_AT_ONCE = 20
"""Of the ledger in one step: others who write to the team's chain wait for it."""


def retention_erase(now: datetime | None = None) -> Iterator[Erased]:
    """Erase what is over, of all teams, step by step; tell what each step erased.

    Nothing happens before the first is asked for. Raises: DatabaseError if the
    database is away; a team whose ledger takes no entry is passed over.
    """
    moment = now or timezone.now()
    for team_id in chain_team_ids():
        try:
            yield from _steps(team_id, moment)
        except Exception as exc:  # other teams are not affected
            if is_outage(exc):
                raise
            logger.exception("the ledger of team %s cannot be erased in", team_id)


def attachments_expire(now: datetime | None = None) -> Iterator[int]:
    """Delete attachments that no run has, some at a time, unless the team is on hold.

    Yields how many each step deleted.
    """
    for team_id in unused_due(now):
        deleted = 1
        while deleted:
            with transaction.atomic():
                lock_retention(team_id)
                is_held = held(team_id).is_all
                deleted = 0 if is_held else unused_delete(team_id, now)
            if deleted:
                yield deleted


def conversations_expire(now: datetime | None = None) -> Iterator[IdleDeleted]:
    """Delete conversations that teams do not keep for so long, some at a time.

    Their runs stay. Yields what each step deleted. Raises: DatabaseError if the
    database is away; a team whose ledger takes no entry is passed over.
    """
    moment = now or timezone.now()
    rules = Retention.objects.across_teams().exclude(conversation_days=None)
    for team_id in rules.order_by("team_id").values_list("team_id", flat=True):
        try:
            while (step := _delete_idle(team_id, moment)) is not None:
                yield step
        except Exception as exc:  # other teams are not affected
            if is_outage(exc):
                raise
            logger.exception("no conversation of team %s can be deleted", team_id)


def _delete_idle(team_id: uuid.UUID, now: datetime) -> IdleDeleted | None:
    """Delete some conversations of a team; None if none is due."""
    with transaction.atomic():
        rule, on_hold = lock_retention(team_id), held(team_id)
        begins_at = rule.conversations_begin_at
        days = rule.conversation_days
        if days is None or on_hold.is_all or (begins_at and now < begins_at):
            return None
        due = conversations_idle(
            team_id,
            now - timedelta(days=days),
            keeps_pinned=rule.keeps_pinned,
            kept_runs=on_hold.run_ids,
        )
        ids = conversations_delete(due, team_id=team_id, limit=CONVERSATIONS_AT_ONCE)
        if not ids:
            return None
        facts = {
            "count": len(ids),
            "ids": [str(each) for each in ids],
            "reason": f"no turn for {days} days",
        }
        draft = EntryDraft(CONVERSATIONS_DELETED, "team", team_id, SERVICE, facts)
        entries_append(batch=Batch(team_id, (draft,)))
    return IdleDeleted(team_id, len(ids))


def lock_retention(team_id: uuid.UUID) -> Retention:
    """Return a team's row, locked until the open transaction ends."""
    rows = Retention.objects.for_team(team_id).select_for_update()
    if (present := rows.first()) is not None:
        return present
    Retention.objects.bulk_create([Retention(team_id=team_id)], ignore_conflicts=True)
    return rows.get()


def _steps(team_id: uuid.UUID, now: datetime) -> Iterator[Erased]:
    while (erased := _step(team_id, now)) is not None:
        metrics.TEXTS_ERASED.add(by=erased.texts)
        yield erased


def _step(team_id: uuid.UUID, now: datetime) -> Erased | None:
    """Erase some; None if nothing is over."""
    seen = Retention.objects.for_team(team_id).first() or Retention(team_id=team_id)
    before = _due(seen, now)
    if before is None:
        return None
    # Read without the lock, which everybody who writes waits for.
    entries = texts_recorded_before(
        team_id, before, after_seq=seen.erased_through, limit=ENTRIES_AT_ONCE
    )
    if not entries:
        return None
    with transaction.atomic():
        retention, on_hold = lock_retention(team_id), held(team_id)
        if on_hold.is_all:
            return None
        is_as_seen = retention.erased_through == seen.erased_through
        if not is_as_seen or _due(retention, now) != before:
            return Erased(team_id, 0)  # somebody else was quicker: look again
        free = [entry for entry in entries if entry.subject_id not in on_hold]
        erased_runs = {entry.subject_id for entry in free}
        run_texts_erase(team_id, erased_runs)
        names_erase(team_id, erased_runs)
        uses_erase(team_id, erased_runs)
        retention.erased_through = entries[-1].seq
        retention.save(update_fields=["erased_through"])
        erasure = content_erase(
            team_id=team_id,
            places=[(entry.seq, name) for entry in free for name in entry.names],
            actor=SERVICE,
            reason=f"older than {(now - before).days} days",
        )
    return Erased(team_id, erasure.texts)


def _due(retention: Retention, now: datetime) -> datetime | None:
    """Return the moment before which content is erased; None: none is for now."""
    days = retention.days or site_days()
    if days is None or (retention.begins_at and now < retention.begins_at):
        return None
    return now - timedelta(days=days)
