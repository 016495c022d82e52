"""Creates checkpoints for the ends of chains that have none yet.

Reads heads without locking them: appending never waits for this. Several processes may
do it at the same time; a checkpoint that another one has made is passed over. A head
whose code is not right (`macs.py`) is not signed: somebody without the key has moved
it, and a checkpoint would vouch for what they added.

A checkpoint commits to the Merkle tree over the team's entries. One of the chain alone
is made if the tree is not ready yet (a long chain's first tree), or if it contradicts
the one that was signed before; `append.py` makes others. They get their root later.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from apps.audit import chain
from apps.audit.checkpoints.format import sign
from apps.audit.macs import head_fault
from apps.audit.merkle.hashing import leaf_hash
from apps.audit.merkle.stored_tree import StoredTree, TreeUnavailable, tree_extend
from apps.audit.metrics import CHECKPOINTS_REFUSED
from apps.audit.models import ChainHead, Checkpoint, Entry
from apps.audit.sql_dialects import dialect_of
from apps.audit.storage.stored import StoredHead

logger = logging.getLogger(__name__)


class _Tail(NamedTuple):
    """A chain that has grown since its last checkpoint."""

    team_id: UUID
    head: StoredHead
    age_s: float | None
    """Since the first entry after that checkpoint. None: there is none, as can only
    be after tampering."""


def checkpoints_create(
    *,
    older_than_s: float = 0.0,
    team_id: UUID | None = None,
    max_pages: int | None = None,
) -> int:
    """Sign the end of each chain that has grown since its last checkpoint with a root.

    A tail whose first entry is younger than `older_than_s` is left for later, so that
    many processes make no more checkpoints than one. `team_id`: only that team's.
    `max_pages`: commits that each team's tree may take before it waits for the next
    call. Returns how many were made.
    """
    rooted = Checkpoint.objects.across_teams().exclude(root="")
    tails = _tails(rooted, team_id)
    old = [t for t in tails if t.age_s is None or t.age_s >= older_than_s]
    due = [tail for tail in old if _may_be_signed(tail)]
    if not due:
        return 0
    connection = connections[DEFAULT_DB_ALIAS]
    make_durable(connection)
    roots = [_root(tail, max_pages) for tail in due]
    with transaction.atomic(), connection.cursor() as cursor:
        recorded = dialect_of(connection).now(cursor)
        pairs = zip(due, roots, strict=True)
        return _store([_checkpoint(tail, recorded, root) for tail, root in pairs])


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


def _tails(
    checkpoints: QuerySet[Checkpoint], team_id: UUID | None = None
) -> list[_Tail]:
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
    if team_id is not None:
        heads = heads.filter(team_id=team_id)
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


def _root(tail: _Tail, max_pages: int | None) -> str:
    """Return the root of the tree up to a head, in base64; empty if there is none."""
    size = tail.head.seq
    try:
        if not tree_extend(tail.team_id, size, max_pages=max_pages):
            return ""
        tree = StoredTree(tail.team_id, size)
        _require_sound(tail, tree)
        return b64encode(tree.root()).decode()
    except TreeUnavailable as exc:
        CHECKPOINTS_REFUSED.add()
        logger.error(
            "checkpoints: the tree of team %s is not signed: %s; run audit_verify",
            tail.team_id,
            exc,
        )
        return ""


def _require_sound(tail: _Tail, tree: StoredTree) -> None:
    """Check that a tree ends with the head and contains the one signed before it.

    Raises: TreeUnavailable.
    """
    if tree.leaf(tree.size - 1) != leaf_hash(chain.untagged(tail.head.hash)):
        raise TreeUnavailable("the last entry is not that of the head")
    signed = Checkpoint.objects.for_team(tail.team_id).exclude(root="")
    before = signed.filter(seq__lt=tree.size).order_by("-seq").first()
    if before and b64encode(tree.root(before.seq)).decode() != before.root:
        raise TreeUnavailable(f"it contradicts the checkpoint at {before.seq}")


def _checkpoint(tail: _Tail, recorded: str, root: str) -> Checkpoint:
    made = sign(tail.team_id, tail.head.seq, tail.head.hash, recorded, root)
    return Checkpoint(
        team_id=tail.team_id,
        seq=made.seq,
        hash=made.hash,
        recorded=made.recorded,
        key_id=made.key_id,
        signature=made.signature,
        root=made.root,
    )


def _store(rows: Sequence[Checkpoint]) -> int:
    """Add checkpoints; return how many are new, or have got a root.

    One that is there already is of the same moment or, with another hash, of a chain
    that was cut: what was signed then stays.
    """
    places = Checkpoint.objects.across_teams().filter(pk__in=[row.pk for row in rows])
    present = set(places.values_list("team_id", "seq"))
    missing = [row for row in rows if row.pk not in present]
    Checkpoint.objects.bulk_create(missing, ignore_conflicts=True)
    return len(missing) + sum(
        _give_root(row) for row in rows if row.root and row.pk in present
    )


def _give_root(row: Checkpoint) -> int:
    """Let a checkpoint of the same entry commit to the tree too, and be copied anew."""
    bare = Checkpoint.objects.for_team(row.team_id).filter(
        seq=row.seq, hash=row.hash, root=""
    )
    return bare.update(
        recorded=row.recorded,
        key_id=row.key_id,
        signature=row.signature,
        root=row.root,
        claimed_at=None,
        copied_at=None,
    )
