"""Sets retention periods, the rule for conversations, and legal holds.

Each change and its ledger entry commit together. All of them lock the team's row of
`Retention` first, and so does erasing: a hold that has been placed is never too late.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.selectors import first_seq_of
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.core.validation import Cleaner, clean_fields, clean_switch, clean_text
from apps.governance.models import REASON_LENGTH, LegalHold, Retention
from apps.governance.retention_job import lock_retention, retention_erase
from apps.governance.selectors import held, site_days
from apps.governance.types import MAX_DAYS, MIN_DAYS, MIN_IDLE_DAYS, Held
from apps.runs.models import Run

__all__ = [
    "hold_place",
    "hold_release",
    "holds_lock",
    "idle_rule_set",
    "retention_erase",
    "retention_set",
    "team_delete_check",
]
UNCHANGED: Any = object()
"""Stands for a value that a change leaves as it is when the change is made."""
GRACE = timedelta(days=7)
"""After a period was shortened nothing is erased for so long."""


@transaction.atomic
def retention_set(*, team: Team, days: Any, actor: Actor) -> Retention:
    """Set the retention period of a team in days; None: as the site's.

    If that is shorter than before, erasing pauses for `GRACE`. Raises: InvalidFields,
    NotFound.
    """
    cleaned = clean_fields({"days": days}, {"days": _clean_days})["days"]
    row = _lock_of(team)
    if row.days == cleaned:
        return row
    change = {"before": {"days": row.days}, "after": {"days": cleaned}}
    if _effective(cleaned) < _effective(row.days):
        row.begins_at = timezone.now() + GRACE
    row.days = cleaned
    row.save(update_fields=["days", "begins_at"])
    _record(team.id, "retention.updated", team.id, actor, change)
    return row


@transaction.atomic
def idle_rule_set(
    *, team: Team, actor: Actor, days: Any = UNCHANGED, keeps_pinned: Any = UNCHANGED
) -> Retention:
    """Set after how many days without a turn conversations are deleted; None: never.

    What is left out stays as it is. If more of them are deleted than before, that
    begins after `GRACE`. Raises: InvalidFields, NotFound.
    """
    values = {"conversation_days": days, "keeps_pinned": keeps_pinned}
    given = {name: each for name, each in values.items() if each is not UNCHANGED}
    cleaned = clean_fields(given, _IDLE_FIELDS)
    row = _lock_of(team)
    before = {name: getattr(row, name) for name in values}
    cleaned = {**before, **cleaned}
    after = {name: value for name, value in cleaned.items() if value != before[name]}
    if not after:
        return row
    if _is_stricter(before, cleaned):
        row.conversations_begin_at = timezone.now() + GRACE
    for name, value in after.items():
        setattr(row, name, value)
    row.save(update_fields=[*after, "conversations_begin_at"])
    change = {"before": {name: before[name] for name in after}, "after": after}
    _record(team.id, "retention.updated", team.id, actor, change)
    return row


@transaction.atomic
def hold_place(
    *, team: Team, run_id: uuid.UUID | None, reason: Any, actor: Actor
) -> LegalHold:
    """Keep the content of a run, or with None of the whole team, from being erased.

    Raises: InvalidFields if the team has no such run, or without a reason; NotFound.
    """
    cleaners = {"reason": lambda value: clean_text(value, "reason", REASON_LENGTH)}
    cleaned = clean_fields({"reason": reason}, cleaners)["reason"]
    _lock_of(team)
    if run_id and not Run.objects.for_team(team.id).filter(id=run_id).exists():
        message = f"there is no run {str(run_id)!r} in this team"
        raise InvalidFields({"run_id": [message]})
    hold = LegalHold.objects.create(
        team_id=team.id,
        run_id=run_id,
        reason=cleaned,
        placed_at=timezone.now(),
        placed_by=actor.display,
    )
    _record(team.id, "legal_hold.placed", hold.id, actor, _facts(hold))
    return hold


@transaction.atomic
def hold_release(*, hold: LegalHold, actor: Actor) -> LegalHold:
    """Let go of what a hold kept: it is erased when its time is over, or is over now.

    Raises: Conflict if it has been released.
    """
    retention = lock_retention(hold.team_id)
    row = LegalHold.objects.for_team(hold.team_id).get(id=hold.id)
    if row.released_at is not None:
        raise Conflict("this legal hold has been released already")
    row.released_at, row.released_by = timezone.now(), actor.display
    row.save(update_fields=["released_at", "released_by"])
    if row.run_id is not None:
        _go_back(retention, row.run_id)
    _record(row.team_id, "legal_hold.released", row.id, actor, _facts(row))
    return row


def holds_lock(team_id: uuid.UUID) -> Held:
    """Return what of a team must not be deleted, now and while the transaction is open.

    It waits for a hold that is being placed; a new one waits for the transaction.
    """
    lock_retention(team_id)
    return held(team_id)


def team_delete_check(team_id: uuid.UUID) -> None:
    """Refuse to let a team be deleted while something of it is on hold.

    Call it in the transaction that deletes. Raises: Conflict.
    """
    on_hold = holds_lock(team_id)
    if on_hold.is_all or on_hold.run_ids:
        raise Conflict("a legal hold keeps this team's records; release it first")


def _lock_of(team: Team) -> Retention:
    """Return a team's row, locked. Raises: NotFound if the team is no more.

    A hold on a deleted team could never be released.
    """
    row = lock_retention(team.id)
    if not Team.objects.filter(id=team.id).exists():
        raise NotFound("this team has been deleted")
    return row


def _go_back(retention: Retention, run_id: uuid.UUID) -> None:
    """Let erasing look again at what it passed over."""
    first = first_seq_of(retention.team_id, run_id)
    if first is not None and first <= retention.erased_through:
        retention.erased_through = first - 1
        retention.save(update_fields=["erased_through"])


def _effective(days: int | None) -> float:
    return days or site_days() or float("inf")


def _clean_days(value: Any) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not MIN_DAYS <= value <= MAX_DAYS:
        raise ValueError(
            f"it is a whole number of days from {MIN_DAYS} to {MAX_DAYS:,}, or empty "
            "for what the site says"
        )
    return value


def _clean_idle_days(value: Any) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not MIN_IDLE_DAYS <= value <= MAX_DAYS:
        raise ValueError(
            f"it is a whole number of days from {MIN_IDLE_DAYS} to {MAX_DAYS:,}, or "
            "empty to keep conversations"
        )
    return value


def _is_stricter(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Say whether a rule deletes conversations that another one keeps."""
    if after["conversation_days"] is None:
        return False
    old_days = before["conversation_days"] or float("inf")
    drops_pinned = before["keeps_pinned"] and not after["keeps_pinned"]
    return after["conversation_days"] < old_days or drops_pinned


_IDLE_FIELDS: Mapping[str, Cleaner] = {
    "conversation_days": _clean_idle_days,
    "keeps_pinned": clean_switch,
}


def _facts(hold: LegalHold) -> dict[str, Any]:
    run_id = str(hold.run_id) if hold.run_id else None
    return {"run_id": run_id, "reason": hold.reason}


def _record(
    team_id: uuid.UUID,
    action: str,
    subject_id: uuid.UUID,
    actor: Actor,
    data: dict[str, Any],
) -> None:
    subject_type = action.partition(".")[0]
    draft = EntryDraft(action, subject_type, subject_id, actor, data)
    entries_append(batch=Batch(team_id, (draft,)))
