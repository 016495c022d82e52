"""The Merkle tree over a team's entries, as the database holds it.

The leaf at index n is of the entry with seq n + 1. Every 256 leaves have a stored node,
every 256 of these nodes have another one, and so on; everything else is derived when
it is needed, from at most 255 rows of each kind. Appending entries does nothing here:
`tree_extend` adds nodes later, in pages, each with a commit of its own.

Nodes are a cache. That they say what the entries say, `audit_verify` checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db.models import Max

from apps.audit import chain
from apps.audit.merkle.hashing import STEP, fold, leaf_hash, node_hash, perfect_root
from apps.audit.models import Entry, TreeNode

WIDTH = 1 << STEP
"""Children of a stored node."""
PAGE_NODES = 64
"""Nodes that are added with one commit: of the lowest, 16,384 entries are read."""


class TreeUnavailable(Exception):
    """A tree cannot be made: an entry or a node is missing, or has no hash."""


def tree_extend(team_id: UUID, size: int, *, max_pages: int | None = None) -> bool:
    """Store the nodes of the first `size` entries that are not stored yet.

    Returns False if that takes more than `max_pages` commits; the next call goes on
    from there. Several processes may do it at the same time. Raises: TreeUnavailable.
    """
    pages = 0
    level = STEP
    while size >> level:
        done = _count(team_id, level)
        while done < size >> level:
            if pages == max_pages:
                return False
            done = _add_page(team_id, level, done, size >> level)
            pages += 1
        level += STEP
    return True


def _count(team_id: UUID, level: int) -> int:
    nodes = TreeNode.objects.for_team(team_id).filter(level=level)
    last: int | None = nodes.aggregate(last=Max("index"))["last"]
    return 0 if last is None else last + 1


def _add_page(team_id: UUID, level: int, begin: int, end: int) -> int:
    """Store nodes of a level from `begin` on; return the first that is still missing.

    One INSERT is one commit. A node that another process has stored is the same.
    """
    end = min(end, begin + PAGE_NODES)
    below = _hashes(team_id, level - STEP, begin * WIDTH, end * WIDTH)
    rows = [
        TreeNode(
            team_id=team_id,
            level=level,
            index=begin + place,
            hash=perfect_root(below[place * WIDTH : (place + 1) * WIDTH]),
        )
        for place in range(end - begin)
    ]
    TreeNode.objects.bulk_create(rows, ignore_conflicts=True)
    return end


def _hashes(team_id: UUID, level: int, begin: int, end: int) -> list[bytes]:
    """Return the hashes of a level from `begin` up to, without, `end`."""
    if level == 0:
        return stored_leaves(team_id, begin, end)
    nodes = TreeNode.objects.for_team(team_id)
    found = nodes.filter(level=level, index__gte=begin, index__lt=end)
    rows = list(found.order_by("index").values_list("index", "hash"))
    _require_all(rows, begin, end, f"nodes of level {level}")
    return [bytes(each) for _, each in rows]


def stored_leaves(team_id: UUID, begin: int, end: int) -> list[bytes]:
    """Return the hashes of the leaves of a span. Raises: TreeUnavailable."""
    entries = Entry.objects.for_team(team_id).filter(seq__gt=begin, seq__lte=end)
    rows = list(entries.order_by("seq").values_list("seq", "hash"))
    _require_all(rows, begin + 1, end + 1, "entries")
    try:
        return [leaf_hash(chain.untagged(text)) for _, text in rows]
    except ValueError as exc:
        raise TreeUnavailable(f"an entry up to {end} has no hash") from exc


def _require_all(
    rows: Sequence[tuple[Any, Any]], begin: int, end: int, what: str
) -> None:
    if len(rows) != end - begin:
        found = f"{len(rows)} of {end - begin}"
        raise TreeUnavailable(f"{found} {what} from {begin} on are stored")


class StoredTree:
    """Reads hashes of a team's tree; keeps what it has read.

    The nodes must be stored (`tree_extend`). For one moment's use: it does not see
    entries that come later.
    """

    def __init__(self, team_id: UUID, size: int) -> None:
        self.team_id = team_id
        self.size = size
        """Leaves of the tree; all spans end there or before."""
        self._groups: dict[tuple[int, int], list[bytes]] = {}
        """By level and number: up to `WIDTH` neighbours of a level that is stored."""
        self._derived: dict[tuple[int, int], bytes] = {}
        """Other nodes, by level and index."""

    def root(self, size: int | None = None) -> bytes:
        """Return the root of the tree, or of its first `size` leaves."""
        return self.hash_of(0, self.size if size is None else size)

    def hash_of(self, begin: int, end: int) -> bytes:
        """Return the root over a span of leaves. Raises: TreeUnavailable.

        As in proofs: `begin` is a multiple of the power of two that holds the span.
        """
        bounds = [begin]
        for level in range((end - begin).bit_length(), -1, -1):
            if (end - begin) >> level & 1:
                bounds.append(bounds[-1] + (1 << level))
        return fold([self._node(low, high - low) for low, high in pairwise(bounds)])

    def leaf(self, index: int) -> bytes:
        """Return the hash of a leaf. Raises: TreeUnavailable."""
        return self._stored(0, index)

    def _node(self, begin: int, leaves: int) -> bytes:
        """Return the root over a power of two of leaves."""
        level = leaves.bit_length() - 1
        return self._perfect(level, begin >> level)

    def _perfect(self, level: int, index: int) -> bytes:
        if level % STEP == 0:
            return self._stored(level, index)
        known = self._derived.get((level, index))
        if known is None:
            left = self._perfect(level - 1, 2 * index)
            known = node_hash(left, self._perfect(level - 1, 2 * index + 1))
            self._derived[level, index] = known
        return known

    def _stored(self, level: int, index: int) -> bytes:
        number = index // WIDTH
        group = self._groups.get((level, number))
        if group is None:
            begin = number * WIDTH
            end = min(begin + WIDTH, self.size >> level)
            group = _hashes(self.team_id, level, begin, end)
            self._groups[level, number] = group
        return group[index % WIDTH]
