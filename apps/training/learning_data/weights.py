"""How much runs that people and API keys asked for count, so that none decides alone.

One person or key has at most the weight of 50 runs, and at most a twentieth of all
weight, but always that of one run. If the team trusts the verifiers of its API clients,
the runs that these verified count apart, with wider bounds. The weight of evaluations,
which are the team's own tests, is part of the whole: a bound of each one's share of
requests alone could not be kept with fewer than twenty people and keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple


class ActorBound(NamedTuple):
    """What the runs of one person or key weigh together, at most."""

    runs: float
    share: float
    """Of all weight, from 0 to 1."""


USUAL_BOUND = ActorBound(50.0, 0.05)
VERIFIED_BOUND = ActorBound(500.0, 0.25)
"""Of runs that a verifier graded which the team trusts."""
LEAST_RUNS = 1.0
"""Else the first rated run of a small team would count nothing."""
HALVINGS = 60
"""Of the interval in which the bound is searched: beyond the digits of a float."""
Actors = frozenset[str]
"""The people and keys who decide what a run teaches: who asked, and who rated."""


class RequestWeights:
    """The weights of runs by their actors."""

    def __init__(
        self,
        groups: Mapping[Actors, int],
        trusted: float,
        most: ActorBound = USUAL_BOUND,
    ) -> None:
        """Take how many runs there are of each group, and the weight of all others."""
        self._counts: Counter[str] = Counter()
        for actors, runs in groups.items():
            self._counts.update(dict.fromkeys(actors, runs))
        self._groups, self._trusted, self._most = groups, trusted, most
        self.bound = max(LEAST_RUNS, self._largest_bound())
        """The weight that all runs of one person or key have together, at most."""

    def of(self, actors: Actors) -> float:
        """Return the weight of one run."""
        return self._weight(actors, self.bound)

    @property
    def total(self) -> float:
        """Return the weight of all runs of the groups."""
        return self._total(self.bound)

    def _weight(self, actors: Actors, bound: float) -> float:
        most = max((self._counts[actor] for actor in actors), default=0)
        return min(1.0, bound / most) if most else 1.0

    def _largest_bound(self) -> float:
        """Return the largest bound that is no more than its share of the whole.

        The whole grows with the bound, but ever less: the search halves an interval.
        """
        if self._is_within(self._most.runs):
            return self._most.runs
        low, high = 0.0, self._most.runs
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._is_within(middle) else (low, middle)
        return low

    def _is_within(self, bound: float) -> bool:
        return bound <= self._most.share * (self._trusted + self._total(bound))

    def _total(self, bound: float) -> float:
        return sum(
            runs * self._weight(actors, bound) for actors, runs in self._groups.items()
        )
