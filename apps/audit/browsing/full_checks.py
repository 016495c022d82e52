"""Verifies whole chains in the background: once a day, and when somebody asks.

One row for each team (`FullCheck`) is both the order and the result. Any serving
process takes an order; one whose process has died is begun again by another. Who asked
gets an entry with the result; a check that was merely due leaves none, so that a chain
at rest does not grow.
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

from apps.audit import chain
from apps.audit.models import ChainHead, FullCheck
from apps.audit.services import VERIFIED, entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.audit.verify import VerifyReport, verify_steps
from apps.core.ids import new_id

logger = logging.getLogger(__name__)

DUE_AFTER = timedelta(hours=24)
"""Since the last full verification of a chain."""
DEAD_AFTER = timedelta(seconds=60)
"""A check that made no progress for so long has lost its process."""
BEAT_S = 1.0
"""Between two notes of the progress."""
FAULTS_KEPT = 20
BROKE_OFF = "it broke off with an error, which the site's log has"
_State = FullCheck.State


def full_check_request(*, team_id: UUID, actor: Actor) -> bool:
    """Ask for a verification of a team's chain; False: one is in progress already."""
    asked = {
        "type": actor.type,
        "id": actor.id,
        "display": actor.display,
        "context": dict(actor.context),
    }
    with transaction.atomic():
        _row_of(team_id)
        idle = FullCheck.objects.for_team(team_id).filter(state=_State.DONE)
        return bool(idle.update(**_order(team_id, asked)))


def full_checks_order_due() -> int:
    """Order a verification of the chain that has waited longest for it, if it is due.

    One at a time for the whole site: nobody waits for it. Returns how many.
    """
    rows = FullCheck.objects.across_teams()
    if rows.exclude(state=_State.DONE).exists():
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
    idle = FullCheck.objects.for_team(team_id).filter(state=_State.DONE)
    return idle.update(**_order(team_id, {}))


def full_check_claim() -> FullCheck | None:
    """Take the order that has waited longest; None: there is none."""
    now = timezone.now()
    orders = FullCheck.objects.across_teams().filter(
        Q(state=_State.WAITING) | Q(state=_State.RUNNING, beat_at__lt=now - DEAD_AFTER)
    )
    order = orders.order_by("beat_at").first()
    if order is None:
        return None
    same = FullCheck.objects.for_team(order.team_id).filter(
        state=order.state, claim_id=order.claim_id, beat_at=order.beat_at
    )
    order.claim_id = new_id()
    taken = same.update(
        state=_State.RUNNING, claim_id=order.claim_id, beat_at=now, entries=0
    )
    return order if taken else None


def full_check_steps(order: FullCheck) -> Generator[int]:
    """Verify a chain, yielding after each page; the end stores what was found.

    Whoever does not go on to the end gives the order back. Raises: DatabaseError.
    """
    mine = FullCheck.objects.for_team(order.team_id).filter(claim_id=order.claim_id)
    start = beat = time.monotonic()
    steps = verify_steps(order.team_id)
    try:
        while True:
            try:
                seq = next(steps)
            except StopIteration as end:
                report = _report(end.value, time.monotonic() - start)
                _finish(order, report)
                return
            if time.monotonic() - beat >= BEAT_S:
                beat = time.monotonic()
                if not mine.update(entries=seq, beat_at=timezone.now()):
                    return  # another process took it for lost
            yield seq
    except GeneratorExit:
        mine.update(state=_State.WAITING)
        raise
    except (DatabaseError, InterfaceError):
        raise  # it is begun again once it counts as lost
    except Exception:  # the boundary of a job: others must get their turn
        logger.exception("ledger: the check of team %s broke off", order.team_id)
        _finish(order, {"error": BROKE_OFF})


def _row_of(team_id: UUID) -> None:
    """Make sure that there is a row."""
    row = FullCheck(team_id=team_id, state=_State.DONE, beat_at=timezone.now())
    FullCheck.objects.bulk_create([row], ignore_conflicts=True)


def _order(team_id: UUID, asked_by: dict[str, Any]) -> dict[str, Any]:
    heads = ChainHead.objects.filter(team_id=team_id)
    return {
        "state": _State.WAITING,
        "asked_by": asked_by,
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
            state=_State.DONE,
            claim_id=None,
            beat_at=now,
            finished_at=now,
            report={**report, "asked_by": order.asked_by.get("display", "")},
        )
        if stored and order.asked_by:
            _record(order, report)
    if stored and report.get("faults"):
        first = report["faults"][0]
        logger.error(
            "ledger: team %s: the chain does not hold: %s at %s; run audit_verify",
            order.team_id,
            first["kind"],
            first["seq"],
        )


def _record(order: FullCheck, report: dict[str, Any]) -> None:
    is_good = report.get("fault_count") == 0
    draft = EntryDraft(
        VERIFIED,
        "team",
        order.team_id,
        Actor(**order.asked_by),
        report,
        outcome="success" if is_good else "failure",
    )
    entries_append(batch=Batch(order.team_id, (draft,)))


def _report(found: VerifyReport, took_s: float) -> dict[str, Any]:
    return {
        "entries": found.entries,
        "bodies": found.bodies,
        "erased": found.erased,
        "checkpoints": found.checkpoints,
        "codes": found.macs,
        "end_seq": found.end.seq,
        "end_hash": chain.tagged(found.end.hash),
        "fault_count": found.fault_count,
        "faults": [
            {"seq": fault.seq, "kind": str(fault.kind), "detail": fault.detail}
            for fault in found.faults[:FAULTS_KEPT]
        ],
        "took_ms": round(1000 * took_s),
    }
