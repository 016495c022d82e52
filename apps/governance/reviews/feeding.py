"""Puts runs that have ended into the review queue, each at most once.

A look goes through the runs of a team in the order of their ids, up to those that are
two minutes old: a run's row is on record long before. Those in progress are noted and
looked at when they have ended; newer ones are looked at early. How far it has come is
committed with what it queues, so a crash loses nothing and repeats nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.audit.selectors import entries_by_subject
from apps.audit.services import entries_append
from apps.audit.types import SERVICE, Actor, Batch, EntryDraft
from apps.core.data_classes import data_class_read, is_at_least
from apps.core.ids import first_id, is_sampled, new_id
from apps.engine.events import PolicyDecided
from apps.governance.reviews.models import (
    ReviewItem,
    ReviewPending,
    ReviewReason,
    ReviewSettings,
    ReviewState,
)
from apps.governance.reviews.rules import ReviewDocument
from apps.runs.models import NOT_BY_CALLERS, Run, RunState
from apps.runs.selectors import event_of

SETTLED = timedelta(minutes=2)
"""After so long a run that was accepted has its row."""
RUNS_AT_ONCE = 200
MAX_MOVE_S = 60
"""Without news, how far a look comes is noted no more often than that."""


def reviews_feed(now: datetime | None = None) -> Iterator[int]:
    """Queue what the rules of all teams ask for; yield how many after each step.

    Nothing happens before the first is asked for. Raises: DatabaseError.
    """
    watching = ReviewSettings.objects.across_teams().filter(is_watching=True)
    for team_id in list(watching.values_list("team_id", flat=True)):
        while True:
            queued, has_more = _look(team_id, now or timezone.now())
            yield queued
            if not has_more:
                break


def watch_begin(settings: ReviewSettings, now: datetime) -> None:
    """Begin with the runs that start from now on, and with those in progress."""
    settings.watched_from = first_id(now)
    runs = Run.objects.for_team(settings.team_id)
    ids = runs.filter(state=RunState.RUNNING).values_list("id", flat=True)
    rows = [ReviewPending(run_id=each, team_id=settings.team_id) for each in ids]
    ReviewPending.objects.bulk_create(rows, ignore_conflicts=True)


def watch_end(settings: ReviewSettings) -> None:
    """Forget what a look has noted."""
    settings.watched_from = None
    ReviewPending.objects.for_team(settings.team_id).delete()


def review_enqueue(
    run: Run, reason: ReviewReason, actor: Actor, now: datetime
) -> ReviewItem:
    """Queue a run, or add a reason to its place in the queue; on record.

    What has been reviewed stays so. Call it in a transaction.
    """
    rows = ReviewItem.objects.for_team(run.team_id).select_for_update()
    item, is_new = rows.get_or_create(
        run_id=run.id,
        defaults={
            "team_id": run.team_id,
            "reasons": _joined([reason]),
            "state": ReviewState.WAITING,
            "queued_at": now,
        },
    )
    if not is_new:
        if reason in item.reason_values or not item.is_open:
            return item
        item.reasons = _joined([*item.reason_values, reason])
        item.save(update_fields=["reasons"])
    _record(run.team_id, [_draft(item, actor)])
    return item


def reasons_of(
    run: Run, rules: ReviewDocument, decisions: Sequence[PolicyDecided]
) -> list[ReviewReason]:
    """Return why a run that has ended is to be reviewed; empty: it is not."""
    limit = rules.cost_over_micros
    found = {
        ReviewReason.ERROR: rules.failures and run.state == RunState.FAILED,
        ReviewReason.COST: limit is not None and run.cost_micros > limit,
        ReviewReason.POLICY: rules.policy_hits
        and any(each.outcome != "allowed" for each in decisions),
        ReviewReason.DATA_CLASS: _has_class(rules, decisions),
        ReviewReason.SAMPLE: is_sampled(run.id.bytes, rules.sample_percent),
    }
    return [reason for reason, holds in found.items() if holds]


@transaction.atomic
def _look(team_id: UUID, now: datetime) -> tuple[int, bool]:
    """Look at the next runs of a team; return how many were queued, and if more wait.

    The row of the settings is locked: two looks at once would queue a run twice.
    """
    rows = ReviewSettings.objects.for_team(team_id).select_for_update()
    settings = rows.filter(is_watching=True).first()
    if settings is None or settings.watched_from is None:
        return 0, False
    rules = ReviewDocument.model_validate(settings.document)
    settled = max(settings.watched_from, first_id(now - SETTLED))
    runs = Run.objects.for_team(team_id).order_by("id")
    passed = list(
        runs.filter(id__gte=settings.watched_from, id__lt=settled)[:RUNS_AT_ONCE]
    )
    has_more = len(passed) == RUNS_AT_ONCE
    ended = [run for run in passed if run.is_over]
    noted = _noted(team_id)
    ended += noted
    if not has_more:
        ended += _recent(team_id, settled)
    queued = _queue(team_id, ended, rules, now)
    going = [run for run in passed if not run.is_over]
    ReviewPending.objects.bulk_create(
        [ReviewPending(run_id=run.id, team_id=team_id) for run in going],
        ignore_conflicts=True,
    )
    if noted:
        pending = ReviewPending.objects.for_team(team_id)
        pending.filter(run_id__in=[run.id for run in noted]).delete()
    reached = UUID(int=passed[-1].id.int + 1) if has_more else settled
    if passed or _seconds(reached) - _seconds(settings.watched_from) >= MAX_MOVE_S:
        settings.watched_from = reached
        settings.save(update_fields=["watched_from"])
    return queued, has_more


def _noted(team_id: UUID) -> list[Run]:
    """Return runs that have ended since a look passed them."""
    pending = ReviewPending.objects.for_team(team_id).select_related("run")
    over = pending.exclude(run__state=RunState.RUNNING)[:RUNS_AT_ONCE]
    return [each.run for each in over]


def _recent(team_id: UUID, since: UUID) -> list[Run]:
    """Return runs that have ended already and are looked at again, finally, later."""
    runs = Run.objects.for_team(team_id).filter(id__gte=since)
    return list(runs.exclude(state=RunState.RUNNING).order_by("-id")[:RUNS_AT_ONCE])


def _queue(
    team_id: UUID, runs: Sequence[Run], rules: ReviewDocument, now: datetime
) -> int:
    """Queue those that a rule asks for and that are not there yet; return how many.

    Runs of evaluations and shadow tests have no caller; people send those by hand that
    they want to.
    """
    items = ReviewItem.objects.for_team(team_id)
    known = items.filter(run_id__in=[run.id for run in runs])
    there = set(known.values_list("run_id", flat=True))
    fresh = {
        run.id: run
        for run in runs
        if run.id not in there and run.source not in NOT_BY_CALLERS
    }
    decisions: Mapping[UUID, list[PolicyDecided]] = {}
    if rules.reads_decisions:
        decisions = _decisions(team_id, list(fresh))
    made = [
        _new_item(run, reasons, now)
        for run in fresh.values()
        if (reasons := reasons_of(run, rules, decisions.get(run.id, [])))
    ]
    if made:
        ReviewItem.objects.bulk_create(made)
        _record(team_id, [_draft(item, SERVICE) for item in made])
    return len(made)


def _decisions(team_id: UUID, run_ids: list[UUID]) -> dict[UUID, list[PolicyDecided]]:
    """Return what the policy decided about each run; their texts are not read."""
    found: dict[UUID, list[PolicyDecided]] = {}
    for run_id, entries in entries_by_subject(team_id, run_ids, texts=()).items():
        events = (
            event_of(entry) for entry in entries if entry.action == PolicyDecided.action
        )
        found[run_id] = [each for each in events if isinstance(each, PolicyDecided)]
    return found


def _has_class(rules: ReviewDocument, decisions: Sequence[PolicyDecided]) -> bool:
    if rules.data_class is None:
        return False
    return any(
        is_at_least(
            data_class_read(each.data_class, param="data_class"), rules.data_class
        )
        for each in decisions
        if each.data_class
    )


def _new_item(run: Run, reasons: Sequence[ReviewReason], now: datetime) -> ReviewItem:
    return ReviewItem(
        id=new_id(),
        team_id=run.team_id,
        run_id=run.id,
        reasons=_joined(reasons),
        state=ReviewState.WAITING,
        queued_at=now,
    )


def _joined(reasons: Sequence[str]) -> str:
    return f",{','.join(str(reason) for reason in reasons)},"


def _draft(item: ReviewItem, actor: Actor) -> EntryDraft:
    facts = {"review_id": str(item.id), "reasons": item.reason_values}
    return EntryDraft("review.queued", "run", item.run_id, actor, facts)


def _record(team_id: UUID, drafts: Sequence[EntryDraft]) -> None:
    entries_append(batch=Batch(team_id, tuple(drafts)))


def _seconds(place: UUID) -> int:
    """Return the time in an id of version 7, in seconds."""
    return (place.int >> 80) // 1000
