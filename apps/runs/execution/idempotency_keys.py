"""Maps an `Idempotency-Key` of a team to its run, for a day.

A claim is one INSERT that the database lets through once; the others read which run
holds it. Rows are deleted only by the run id they were read with, so that of two that
take over the same stale claim one wins. The commit that puts a run on record holds its
claim's row, and whoever lets go of a claim locks that row before looking for the run:
so a commit on its way is waited for, and one that comes later fails.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from apps.core.errors import Overloaded
from apps.runs.errors import IdempotencyConflict
from apps.runs.execution.executor import find_run
from apps.runs.models import IdempotencyKey, Run, RunState
from apps.runs.querysets import KEY_LIFETIME, IdempotencyKeys

GRACE = timedelta(minutes=1)
"""How long a claimed run may take to get on record. After that its claimant is gone,
without having released the key."""
TRIES = 5


def idempotency_claim(
    *, team_id: uuid.UUID, key: str, body_digest: bytes, run_id: uuid.UUID
) -> uuid.UUID:
    """Return the run that a key stands for: `run_id` if the key is new.

    Raises: IdempotencyConflict if the key stands for a request with another body.
    """
    for _ in range(TRIES):
        now = timezone.now()
        claim = IdempotencyKey(
            team_id=team_id,
            key=key,
            body_digest=body_digest,
            run_id=run_id,
            claimed_at=now,
        )
        rows = IdempotencyKey.objects.for_team(team_id).filter(key=key)
        held = rows.first()
        if held is None:
            IdempotencyKey.objects.bulk_create([claim], ignore_conflicts=True)
            held = rows.first()
        if held is None:
            continue  # released this very moment
        if held.run_id == run_id:
            return run_id
        if not _is_over(held, now):
            return _held_run(held, body_digest)
        with transaction.atomic():
            for row in _same_row(held).select_for_update():
                if _is_over(row, now):
                    row.delete()
    raise Overloaded("the idempotency key changes hands too quickly", retry_after_s=1)


def idempotency_holder(
    *, team_id: uuid.UUID, key: str, body_digest: bytes
) -> uuid.UUID | None:
    """Return the run that a key stands for; None: the key is free.

    Raises: IdempotencyConflict if the key stands for a request with another body.
    """
    held = IdempotencyKey.objects.for_team(team_id).filter(key=key).first()
    if held is None or _is_over(held, timezone.now()):
        return None
    return _held_run(held, body_digest)


def idempotency_release(*, team_id: uuid.UUID, key: str, run_id: uuid.UUID) -> None:
    """Give a key back that stands for `run_id`; others keep theirs.

    A caller that says that the run never began may be wrong: its process may have seen
    an outage while the commit went through. A run that is on record keeps its key,
    unless it was cancelled.
    """
    claim = IdempotencyKey.objects.for_team(team_id).filter(key=key, run_id=run_id)
    runs = Run.objects.for_team(team_id).filter(id=run_id)
    with transaction.atomic():
        for row in claim.select_for_update():
            if not runs.exclude(state=RunState.CANCELLED).exists():
                row.delete()


def _held_run(held: IdempotencyKey, body_digest: bytes) -> uuid.UUID:
    if bytes(held.body_digest) != body_digest:
        raise IdempotencyConflict(
            "this Idempotency-Key was used with another request body in the last 24 "
            "hours; take a new key for a new request"
        )
    return held.run_id


def _is_over(held: IdempotencyKey, now: datetime) -> bool:
    if held.claimed_at < now - KEY_LIFETIME:
        return True
    return held.claimed_at < now - GRACE and not _exists(held)


def _exists(held: IdempotencyKey) -> bool:
    if find_run(held.run_id, held.team_id) is not None:
        return True
    return Run.objects.for_team(held.team_id).filter(id=held.run_id).exists()


def _same_row(held: IdempotencyKey) -> IdempotencyKeys[IdempotencyKey]:
    rows = IdempotencyKey.objects.for_team(held.team_id)
    return rows.filter(pk=held.pk, run_id=held.run_id)
