"""Creates checkpoints for the ends of chains that have none yet.

Reads heads without locking them: appending never waits for this. Several processes may
do it at the same time; a checkpoint that another one has made is passed over. A head
whose code is not right (`macs.py`) is not signed: somebody without the key has moved
it, and a checkpoint would vouch for what they added.
"""

from __future__ import annotations

import logging
from typing import NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from apps.audit.checkpoints.format import sign
from apps.audit.macs import head_fault
from apps.audit.metrics import CHECKPOINTS_REFUSED
from apps.audit.models import ChainHead, Checkpoint, Entry
from apps.audit.sql_dialects import dialect_of
from apps.audit.stored import StoredHead

logger = logging.getLogger(__name__)


class _Tail(NamedTuple):
    """A chain that has grown since its last checkpoint."""

    team_id: UUID
    head: StoredHead
    age_s: float | None
    """Since the first entry after that checkpoint. None: there is none, as can only
    be after tampering."""


def checkpoints_create(*, older_than_s: float = 0.0) -> int:
    """Sign the end of each chain that has grown since its last checkpoint.

    A tail whose first entry is younger than `older_than_s` is left for later, so that
    many processes make no more checkpoints than one. Returns how many were made.
    """
    tails = _tails(Checkpoint.objects.across_teams())
    old = [t for t in tails if t.age_s is None or t.age_s >= older_than_s]
    due = [tail for tail in old if _may_be_signed(tail)]
    if not due:
        return 0
    connection = connections[DEFAULT_DB_ALIAS]
    make_durable(connection)
    with transaction.atomic(), connection.cursor() as cursor:
        recorded = dialect_of(connection).now(cursor)
        rows = [_checkpoint(tail, recorded) for tail in due]
        Checkpoint.objects.bulk_create(rows, ignore_conflicts=True)
    return len(due)


def uncovered_s() -> float:
    """Return the age of the oldest entry that no copied checkpoint stands for."""
    copied = Checkpoint.objects.across_teams().filter(copied_at__isnull=False)
    return max((tail.age_s or 0.0 for tail in _tails(copied)), default=0.0)


def make_durable(connection: BaseDatabaseWrapper) -> None:
    """Let the next commits of this connection survive a power loss.

    And with them all entries before: SQLite's log is one. Otherwise a copy could speak
    of entries that are gone afterwards.
    """
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous = FULL")


def _tails(checkpoints: QuerySet[Checkpoint]) -> list[_Tail]:
    """Return the tails of all teams that have one, leaving out other checkpoints.

    One query: for each head a look into the index of checkpoints, and for each that is
    past its last one a look into the entries.
    """
    last = checkpoints.filter(team_id=OuterRef("team_id")).order_by("-seq")
    first = Entry.objects.filter(
        team_id=OuterRef("team_id"), seq=OuterRef("sealed") + 1
    )
    heads = (
        ChainHead.objects.annotate(sealed=Coalesce(Subquery(last.values("seq")[:1]), 0))
        .filter(seq__gt=F("sealed"))
        .annotate(since=Subquery(first.values("recorded_at")), now=Now())
    )
    columns = ("team_id", "since", "now", "seq", "hash", "mac_from", "mac")
    return [
        _Tail(
            team_id,
            StoredHead(seq, text, mac_from, bytes(mac)),
            since and (now - since).total_seconds(),
        )
        for team_id, since, now, seq, text, mac_from, mac in heads.values_list(*columns)
    ]


def _may_be_signed(tail: _Tail) -> bool:
    """Say whether the site itself has put the head where it is; tell if not."""
    try:
        fault = head_fault(tail.team_id, tail.head.head)
    except ValueError:
        why = "it holds no hash"
    else:
        if fault is None:
            return True
        why = fault
    CHECKPOINTS_REFUSED.add()
    logger.error(
        "checkpoints: the head of team %s is not signed: %s; run audit_verify",
        tail.team_id,
        why,
    )
    return False


def _checkpoint(tail: _Tail, recorded: str) -> Checkpoint:
    made = sign(tail.team_id, tail.head.seq, tail.head.hash, recorded)
    return Checkpoint(
        team_id=tail.team_id,
        seq=made.seq,
        hash=made.hash,
        recorded=made.recorded,
        key_id=made.key_id,
        signature=made.signature,
    )
