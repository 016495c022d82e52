"""How much runs that people and API keys asked for count, so that none decides alone.

One person or key has at most the weight of 50 runs, and at most a twentieth of all
weight, but always that of one run. The weight of evaluations, which are the team's own
tests, is part of the whole: a bound of each one's share of requests alone could not be
kept with fewer than twenty people and keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

MOST_RUNS = 50.0
MOST_SHARE = 0.05
LEAST_RUNS = 1.0
"""Else the first rated run of a small team would count nothing."""
HALVINGS = 60
"""Of the interval in which the bound is searched: beyond the digits of a float."""
Actors = frozenset[str]
"""The people and keys who decide what a run teaches: who asked, and who rated."""


class RequestWeights:
    """The weights of runs by their actors."""

    def __init__(self, groups: Mapping[Actors, int], trusted: float) -> None:
        """Take how many runs there are of each group, and the weight of all others."""
        self._counts: Counter[str] = Counter()
        for actors, runs in groups.items():
            self._counts.update(dict.fromkeys(actors, runs))
        self._groups, self._trusted = groups, trusted
        self.bound = max(LEAST_RUNS, self._largest_bound())
        """The weight that all runs of one person or key have together, at most."""

    def of(self, actors: Actors) -> float:
        """Return the weight of one run."""
        return self._weight(actors, self.bound)

    def _weight(self, actors: Actors, bound: float) -> float:
        most = max((self._counts[actor] for actor in actors), default=0)
        return min(1.0, bound / most) if most else 1.0

    def _largest_bound(self) -> float:
        """Return the largest bound that is no more than its share of the whole.

        The whole grows with the bound, but ever less: the search halves an interval.
        """
        if self._is_within(MOST_RUNS):
            return MOST_RUNS
        low, high = 0.0, MOST_RUNS
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._is_within(middle) else (low, middle)
        return low

    def _is_within(self, bound: float) -> bool:
        requests = sum(
            runs * self._weight(actors, bound) for actors, runs in self._groups.items()
        )
        return bound <= MOST_SHARE * (self._trusted + requests)
