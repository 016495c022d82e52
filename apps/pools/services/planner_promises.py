"""What a light planner learns after its fit: its counts, and promises that broke."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.audit.services import entries_append
from apps.audit.types import SERVICE, Actor, Batch, EntryDraft
from apps.core.errors import Conflict
from apps.pools.models import BrokenPromise, PlannerCounts, PlannerVersion
from apps.pools.selectors import snapshots_forget


def planner_counts_replace(
    *,
    version: PlannerVersion,
    source: str,
    runs: int,
    arrays: bytes,
    broken: Iterable[BrokenPromise],
) -> list[BrokenPromise]:
    """Put what a version knows by now in force, and return what is newly noticed.

    `arrays` is what `counts_to_bytes` returns, empty for what was fitted; `broken` are
    unsaved rows of all broken promises, of which those on record are left out. Other
    processes plan with it within `CACHE_SECONDS`.
    """
    team_id = version.team_id
    with transaction.atomic():
        rows = PlannerCounts.objects.for_team(team_id).select_for_update()
        counts, _ = rows.get_or_create(version=version, defaults={"team_id": team_id})
        counts.revision += 1
        counts.source, counts.runs, counts.arrays = source, runs, arrays
        counts.save()
        known = set(map(_key, version.broken_promises.all()))
        fresh = [promise for promise in broken if _key(promise) not in known]
        BrokenPromise.objects.bulk_create(fresh)
        _record(version, "pool.promise_broken", fresh, SERVICE)
        transaction.on_commit(lambda: snapshots_forget(team_id))
    return fresh


def promise_dismiss(*, promise: BrokenPromise, actor: Actor) -> BrokenPromise:
    """Let what was known before a promise broke count again.

    Raises: Conflict if it does already.
    """
    with transaction.atomic():
        rows = BrokenPromise.objects.for_team(promise.team_id).select_for_update()
        row = rows.select_related("version").get(pk=promise.pk)
        if row.dismissed_at is not None:
            raise Conflict("this broken promise has been dismissed already")
        row.dismissed_at, row.dismissed_by = timezone.now(), actor.display[:200]
        row.save(update_fields=["dismissed_at", "dismissed_by"])
        # The counts are made anew at the next look.
        PlannerCounts.objects.for_team(row.team_id).filter(version=row.version).update(
            source=""
        )
        _record(row.version, "pool.promise_dismissed", [row], actor)
    return row


def _key(promise: BrokenPromise) -> tuple[Any, ...]:
    return promise.ability, promise.worker, promise.kind, promise.run_id


def _record(
    version: PlannerVersion,
    action: str,
    promises: Iterable[BrokenPromise],
    actor: Actor,
) -> None:
    """Write an entry for each promise. Entries hold no floating-point numbers."""
    drafts = tuple(
        EntryDraft(
            action,
            "pool",
            version.pool_id,
            actor,
            {
                "name": version.pool.name,
                "planner_version": version.number,
                "worker": promise.worker,
                "ability": promise.ability,
                "kind": promise.kind,
                "run": str(promise.run_id),
                "answers": round(promise.seen),
                "promised_thousandths": round(1000 * promise.promised),
                "observed_thousandths": round(1000 * promise.observed),
            },
        )
        for promise in promises
    )
    if drafts:
        entries_append(batch=Batch(version.team_id, drafts))
