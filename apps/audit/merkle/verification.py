"""Compares the tree over a team's entries with what is signed and stored of it.

Goes along while a chain is walked, and stops at its first fault: what comes after it
would only follow from it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from apps.audit import chain
from apps.audit.chain import ChainFault, FaultKind
from apps.audit.checkpoints.format import SignedCheckpoint
from apps.audit.checkpoints.verification import signature_fault, signed_roots
from apps.audit.merkle.hashing import CompactRange, leaf_hash
from apps.audit.models import TreeNode
from apps.audit.signing import PublicKeys

NODES_AT_ONCE = 64
"""Derived nodes that are compared with one query."""


class TreeWalk:
    """Derives the tree again, entry by entry."""

    def __init__(self, team_id: UUID, keys: PublicKeys) -> None:
        self._team_id = team_id
        self._keys = keys
        self._range = CompactRange(self._keep)
        self._nodes: dict[tuple[int, int], bytes] = {}
        """Derived and not compared yet, by level and index."""

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
            rows = stored.filter(index__in=indexes).order_by("index")
            yield from self._changed(level, rows.values_list("index", "hash"))
        self._nodes.clear()

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
        self, level: int, rows: Iterable[tuple[int, bytes | memoryview]]
    ) -> Iterator[ChainFault]:
        for index, stored in rows:
            if bytes(stored) != self._nodes[level, index]:
                detail = f"the stored node {index} of level {level} was changed"
                seq = (index + 1) << level
                yield ChainFault(seq, FaultKind.TREE_MISMATCH, detail)
