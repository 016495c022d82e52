"""Verifies whole chains in the background: once a day, and on request.

One row for each team (`FullCheck`) is both the job and its result. The result of a
request is recorded in the chain; a check that was merely due leaves an entry only if it
finds faults, so that a chain at rest does not grow.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone

from apps.audit.browsing.verified_entries import verified_facts, verified_record
from apps.audit.job_news import job_news_send
from apps.audit.jobs import BROKE_OFF, Heartbeat, actor_facts, job_claim
from apps.audit.models import ChainHead, FullCheck, JobState
from apps.audit.types import SERVICE, Actor
from apps.audit.verify import verify_steps

logger = logging.getLogger(__name__)

DUE_AFTER = timedelta(hours=24)
"""Since the last full verification of a chain."""


def full_check_request(*, team_id: UUID, actor: Actor) -> bool:
    """Ask for a verification of a team's chain; False: one is in progress already."""
    with transaction.atomic():
        _row_of(team_id)
        idle = FullCheck.objects.for_team(team_id).filter(state=JobState.DONE)
        transaction.on_commit(job_news_send)
        return bool(idle.update(**_order(team_id, actor_facts(actor))))


def full_checks_order_due() -> int:
    """Order a verification of the chain that has waited longest for it, if it is due.

    One at a time for the whole site: nobody waits for it. Returns how many.
    """
    rows = FullCheck.objects.across_teams()
    if rows.exclude(state=JobState.DONE).exists():
        return 0
    last = rows.filter(team_id=OuterRef("team_id")).values("finished_at")[:1]
    heads = ChainHead.objects.annotate(last=Subquery(last))
    due = Q(last=None) | Q(last__lt=timezone.now() - DUE_AFTER)
    team_id = (
        heads.filter(due).order_by("last").values_list("team_id", flat=True).first()
    )
    if team_id is None:
        return 0
    _row_of(team_id)
    idle = FullCheck.objects.for_team(team_id).filter(state=JobState.DONE)
    return idle.update(**_order(team_id, {}))


def full_check_take() -> Generator[int] | None:
    """Return the steps of the check that has waited longest; None: none waits."""
    job = job_claim(FullCheck.objects.across_teams(), entries=0)
    return None if job is None else _steps(job)


def _steps(order: FullCheck) -> Generator[int]:
    """Verify a chain, yielding after each page; the end stores what was found.

    Closing it before the end gives the order back. Raises: DatabaseError.
    """
    mine = FullCheck.objects.for_team(order.team_id).filter(claim_id=order.claim_id)
    start, heart = time.monotonic(), Heartbeat(mine)
    steps = verify_steps(order.team_id)
    try:
        while True:
            try:
                seq = next(steps)
            except StopIteration as end:
                report = verified_facts(end.value, time.monotonic() - start)
                _finish(order, report)
                return
            if not heart.beat(entries=seq):
                return  # another process took it for lost
            yield seq
    except GeneratorExit:
        mine.update(state=JobState.WAITING)
        raise
    except (DatabaseError, InterfaceError):
        raise  # it is begun again once it counts as lost
    except Exception:  # the boundary of a job: others must get their turn
        logger.exception("ledger: the check of team %s broke off", order.team_id)
        _finish(order, {"error": BROKE_OFF})


def _row_of(team_id: UUID) -> None:
    """Make sure that there is a row."""
    row = FullCheck(team_id=team_id, state=JobState.DONE, beat_at=timezone.now())
    FullCheck.objects.bulk_create([row], ignore_conflicts=True)


def _order(team_id: UUID, requested_by: dict[str, Any]) -> dict[str, Any]:
    heads = ChainHead.objects.filter(team_id=team_id)
    return {
        "state": JobState.WAITING,
        "requested_by": requested_by,
        "beat_at": timezone.now(),
        "claim_id": None,
        "entries": 0,
        "total": heads.values_list("seq", flat=True).first() or 0,
    }


def _finish(order: FullCheck, report: dict[str, Any]) -> None:
    """Store a result, unless another process has the order by now; tell of it."""
    with transaction.atomic():
        mine = FullCheck.objects.for_team(order.team_id).filter(claim_id=order.claim_id)
        now = timezone.now()
        stored = mine.update(
            state=JobState.DONE,
            claim_id=None,
            beat_at=now,
            finished_at=now,
            report={**report, "requested_by": order.requested_by.get("display", "")},
        )
        if stored and (order.requested_by or report.get("fault_count")):
            by = order.requested_by
            verified_record(order.team_id, Actor(**by) if by else SERVICE, report)
    if stored and report.get("faults"):
        first = report["faults"][0]
        logger.error(
            "ledger: team %s: the chain does not hold: %s at %s; run audit_verify",
            order.team_id,
            first["kind"],
            first["seq"],
        )
