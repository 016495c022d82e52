"""What a right answer is worth, in micro-dollars: what a plan may cost for success.

A plan's value is its success less its cost divided by that worth. Pure.
"""

from __future__ import annotations

import math

ANSWERS = 25
"""Answers of the dearest worker that a right answer is worth if nobody says."""
MOST_MICROS = 10_000_000_000
"""From this worth on cost does not count at all."""


def worth_in_force(*said: int | None) -> float | None:
    """Return the first of the worths that somebody said; None: nobody did."""
    micros = next((each for each in said if each is not None), None)
    if micros is None:
        return None
    return math.inf if micros >= MOST_MICROS else float(micros)


def worth_by_answers(dearest_micros: float) -> float:
    """Return the worth if nobody says, from what the dearest worker's answer costs.

    Infinite if that costs nothing: then no plan costs anything.
    """
    return ANSWERS * dearest_micros or math.inf
