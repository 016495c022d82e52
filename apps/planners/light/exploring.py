"""A plan near the best one in its place, so that more is learned of it. Pure.

What it may cost is bounded, in success and in money. The draw depends on a seed alone,
so the same run draws the same plan wherever it is repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # brings NumPy with it, which those who count explored runs lack
    from apps.planners.light.search import PlanCandidate

EXPLORED = "light_explored"
"""What the record names as the planner of such a plan."""
NEAR_BEST = 8
"""Plans that are near the best one, itself included."""
MOST_LOSS = 0.05
"""Expected success that such a plan may lose against the best one."""
MOST_COST = 2.0
"""Times the expected cost of the best plan that it may cost."""
ENDINGS = {1: "st", 2: "nd", 3: "rd"}
"""Of the first ranks, in English; the others up to 20 end with th."""
DRAWN_BYTES = 8
"""Of a hash, to draw by."""


class Explored(NamedTuple):
    """Which plan was drawn in place of the best one."""

    candidate: PlanCandidate
    best: PlanCandidate
    rank: int
    """Among the plans that could be drawn and the best one, which has rank 1."""
    of: int
    """How many those are."""

    def values(self, best: dict[str, Any]) -> dict[str, Any]:
        """Return what an explanation says; `best` is the best plan in its form."""
        return {"rank": self.rank, "of": self.of, "best": best}


def near_best(ranked: Sequence[PlanCandidate]) -> list[PlanCandidate]:
    """Return the plans near the best one, which comes first, in their order.

    `ranked` is not empty.
    """
    best = ranked[0]
    least, most = best.success - MOST_LOSS, MOST_COST * best.cost_micros
    others = ranked[1:NEAR_BEST]
    near = [each for each in others if each.success >= least]
    return [best, *(each for each in near if each.cost_micros <= most)]


def drawn(seed: str, left: Sequence[PlanCandidate]) -> Explored | None:
    """Return one of `left` in place of its first, the best one; None: it is alone."""
    if len(left) < 2:
        return None
    digest = hashlib.sha256(f"explored plan {seed}".encode()).digest()
    place = 1 + int.from_bytes(digest[:DRAWN_BYTES]) % (len(left) - 1)
    return Explored(left[place], left[0], place + 1, len(left))


def place_words(rank: int) -> str:
    """Return a rank from 1 to 20 in words: 1st, 2nd, 3rd, 4th."""
    return f"{rank}{ENDINGS.get(rank, 'th')}"
