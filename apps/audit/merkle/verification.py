"""Compares the tree over a team's entries with what is signed and stored of it.

Goes along while a chain is walked, and stops at its first fault: what comes after it
would only follow from it. Nodes are stored in order, so a gap between them is a fault;
nodes that are not stored yet are none.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Max

from apps.audit import chain
from apps.audit.chain import ChainFault, FaultKind
from apps.audit.checkpoints.format import SignedCheckpoint
from apps.audit.checkpoints.verification import signature_fault, signed_roots
from apps.audit.merkle import hashing
from apps.audit.merkle.hashing import CompactRange, leaf_hash
from apps.audit.models import TreeNode
from apps.audit.signing import PublicKeys
from apps.audit.storage.stored import NO_NUMBER

NODES_AT_ONCE = 64
"""Derived nodes that are compared with one query."""
MAX_LEVEL = 64
"""No tree is as high: a seq has 63 bits."""


class TreeWalk:
    """Derives the tree again, entry by entry."""

    def __init__(self, team_id: UUID, keys: PublicKeys) -> None:
        self._team_id = team_id
        self._keys = keys
        self._range = CompactRange(self._keep)
        self._nodes: dict[tuple[int, int], bytes] = {}
        """Derived and not compared yet, by level and index."""
        self._last_nodes = _last_nodes(team_id)
        """By level: the last stored index before the walk began."""

    def follow(self, hashes: Sequence[str]) -> Iterator[ChainFault]:
        """Take the hashes of the next entries, as stored; yield what disagrees."""
        begin = self._range.size
        signed = iter(signed_roots(self._team_id, begin, begin + len(hashes)))
        checkpoint = next(signed, None)
        for text in hashes:
            self._range.append(leaf_hash(chain.untagged(text)))
            if checkpoint is not None and checkpoint.seq == self._range.size:
                yield from self._disagreement(checkpoint, text)
                checkpoint = next(signed, None)
        if len(self._nodes) >= NODES_AT_ONCE:
            yield from self.settle()

    def settle(self) -> Iterator[ChainFault]:
        """Compare the nodes derived so far with the stored ones; yield differences."""
        for level in {level for level, _ in self._nodes}:
            indexes = [index for at, index in self._nodes if at == level]
            stored = TreeNode.objects.for_team(self._team_id).filter(level=level)
            rows = stored.filter(index__in=indexes).values_list("index", "hash")
            yield from self._changed(level, sorted(indexes), dict(rows))
        self._nodes.clear()

    def surplus(self) -> Iterator[ChainFault]:
        """Yield a fault for nodes that stand for more entries than there are.

        For the end of a walk that has found no fault: an entry that is known to be
        missing explains them.
        """
        size = self._range.size
        for level, last in sorted(self._last_nodes.items()):
            is_level = level % hashing.STEP == 0 and 0 < level < MAX_LEVEL
            if not is_level or (last + 1) << level > size:
                detail = f"the stored node {last} of level {level} is of no entries"
                yield ChainFault(size + 1, FaultKind.TREE_MISMATCH, detail)

    def _keep(self, level: int, index: int, node: bytes) -> None:
        self._nodes[level, index] = node

    def _disagreement(
        self, checkpoint: SignedCheckpoint, entry_hash: str
    ) -> Iterator[ChainFault]:
        """Yield a fault if only the root of a genuine checkpoint is wrong."""
        derived = b64encode(self._range.root()).decode()
        if checkpoint.root == derived or checkpoint.hash != entry_hash:
            return
        if signature_fault(checkpoint, self._keys) is None:
            detail = f"signed root {checkpoint.root!r}, derived {derived!r}"
            yield ChainFault(checkpoint.seq, FaultKind.TREE_MISMATCH, detail)

    def _changed(
        self, level: int, indexes: Iterable[int], stored: Mapping[int, Any]
    ) -> Iterator[ChainFault]:
        for index in indexes:
            if index in stored:
                is_sound = _bytes(stored[index]) == self._nodes[level, index]
                what = "was changed"
            else:
                is_sound = index > self._last_nodes.get(level, -1)
                what = "is missing"
            if not is_sound:
                detail = f"the stored node {index} of level {level} {what}"
                seq = (index + 1) << level
                yield ChainFault(seq, FaultKind.TREE_MISMATCH, detail)


def _last_nodes(team_id: UUID) -> dict[int, int]:
    nodes = TreeNode.objects.for_team(team_id).values("level")
    rows = nodes.annotate(last=Max("index")).values_list("level", "last")
    # SQLite takes text for a number and for bytes.
    return {
        level if isinstance(level, int) else 0: (
            last if isinstance(last, int) else NO_NUMBER
        )
        for level, last in rows
    }


def _bytes(value: Any) -> bytes | None:
    return None if isinstance(value, str) else bytes(value)
