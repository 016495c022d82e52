"""Tests, answer by answer, whether promised success still holds.

Each answer multiplies a bet against the promise: by (1 - q) / (1 - p) if it is wrong
and by q / p if it is right, where p is the promised success less a tolerance and q a
lower one. As long as success is p or more, no bet is expected to grow. The sum of the
bets that begin at each answer is an e-detector: its expected number of answers up to a
false alarm is at least `ALARM`, however often one looks.
Source: J. Shin, A. Ramdas and A. Rinaldo, "E-detectors: a nonparametric framework for
sequential change detection" (arXiv 2203.03532, 2022). Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

TOLERANCE = 0.10
"""Success that a promise may lack before it counts as broken."""
LEAST_PROMISED = 0.05
"""Of success, less the tolerance: whoever promises less cannot break it."""
ODDS_DIVISORS = (2.0, 5.0, 20.0)
"""How much worse the odds are on which is bet: success of 0.8 would be 0.67, 0.44 and
0.17."""
ALARM = 1_000.0
"""Expected answers up to a false alarm, at least, of one promise that is kept."""


@dataclass(slots=True)
class PromiseDetector:
    """Watches one promise."""

    bets: list[float] = field(default_factory=lambda: [0.0] * len(ODDS_DIVISORS))
    excess: float = 0.0
    """Logarithm of the mildest bet since success was last as promised: as long as any
    wins, it does."""
    seen: float = 0.0
    """Answers since then, by weight."""
    promised: float = 0.0
    """Sum of the success promised for them."""
    right: float = 0.0

    def observe(self, promised: float, right: float, weight: float = 1.0) -> bool:
        """Take one answer in, and return whether the promise is broken.

        `promised` and `right` are from 0 to 1, `weight` above 0 and at most 1. The
        promise has to be from before the answer.
        """
        least = promised - TOLERANCE
        if least < LEAST_PROMISED:
            return False
        factors = [1 + weight * (bet - 1) for bet in _bets(least, right)]
        self.bets = [
            (1 + bet) * factor for bet, factor in zip(self.bets, factors, strict=True)
        ]
        self._follow(promised, right, weight, factors[0])
        return self.is_broken

    @property
    def evidence(self) -> float:
        """Return the mean of the bets against the promise."""
        return sum(self.bets) / len(self.bets)

    @property
    def is_broken(self) -> bool:
        """Say whether the bets against the promise have won."""
        return self.evidence >= ALARM

    def _follow(
        self, promised: float, right: float, weight: float, factor: float
    ) -> None:
        """Keep the sums of the answers since success was last as promised."""
        self.excess += math.log(factor)
        if self.excess <= 0:
            self.excess = self.seen = self.promised = self.right = 0.0
            return
        self.seen += weight
        self.promised += weight * promised
        self.right += weight * right


def _bets(least: float, right: float) -> list[float]:
    odds = least / (1 - least)
    lower = [odds / divisor / (1 + odds / divisor) for divisor in ODDS_DIVISORS]
    return [
        right * share / least + (1 - right) * (1 - share) / (1 - least)
        for share in lower
    ]
