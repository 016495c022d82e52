"""Roots over the first entries of a chain, derived from the entries alone.

Stored nodes are not read: what is compared with these roots may have been signed by
somebody who changed them.
"""

from __future__ import annotations

from uuid import UUID

from apps.audit.merkle.hashing import CompactRange
from apps.audit.merkle.stored_tree import TreeUnavailable, stored_leaves

PAGE = 5_000
"""Leaves read at once."""


class PrefixRoots:
    """Roots of growing sizes cost one pass over a chain; a smaller size begins anew."""

    def __init__(self, team_id: UUID) -> None:
        self._team_id = team_id
        self._range = CompactRange()

    def root(self, size: int) -> bytes | None:
        """Return the root of the first `size` entries; None if one of them is missing
        or has no hash, which the walk through the chain names.
        """
        if size < self._range.size:
            self._range = CompactRange()
        try:
            while self._range.size < size:
                begin = self._range.size
                for leaf in stored_leaves(
                    self._team_id, begin, min(size, begin + PAGE)
                ):
                    self._range.append(leaf)
        except TreeUnavailable:
            return None
        return self._range.root()
