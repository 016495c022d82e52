"""Fills in the grades of answers on the way to a graded answer, by their likelihood.

Of a live request only the last answer is graded. Whether a draft was right that a later
step checked or combined is unknown, but not unknowable: a wrong result of a checker
that keeps nearly all right drafts makes a wrong draft likely. This is the expectation
step of A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum Likelihood from Incomplete
Data via the EM Algorithm" (Journal of the Royal Statistical Society B, 1977), for one
run. Pure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.situations import ANSWERS, Situation, situations

MAX_HIDDEN = 3
"""Answers without a grade, at most; each doubles the ways that a run may have gone."""


class Possibility(NamedTuple):
    """One way that a run may have gone."""

    share: float
    """How likely it is, given the grades that are known: all sum to 1."""
    situations: tuple[Situation, ...]


def possibilities(
    run: LoggedRun,
    index_of: Mapping[str, int],
    success: Callable[[Situation], float],
) -> list[Possibility]:
    """Return the ways that a run may have gone, with all its answers graded.

    `success` gives the probability of a right answer in a situation. A run whose last
    answer has no grade, or that has too many answers without one, has a single way:
    what its grades alone say.
    """
    hidden = [
        place
        for place, step in enumerate(run.steps)
        if step.role in ANSWERS and step.grade is None
    ]
    if not hidden or len(hidden) > MAX_HIDDEN or hidden[-1] == len(run.steps) - 1:
        return [Possibility(1.0, tuple(situations(run, index_of)))]
    ways = [
        tuple(situations(_graded(run, hidden, grades), index_of))
        for grades in itertools.product((0.0, 1.0), repeat=len(hidden))
    ]
    odds = [math.prod(_likelihood(found, success) for found in way) for way in ways]
    total = sum(odds)
    return [
        Possibility(share / total, way) for share, way in zip(odds, ways, strict=True)
    ]


def _graded(run: LoggedRun, hidden: list[int], grades: tuple[float, ...]) -> LoggedRun:
    steps = list(run.steps)
    for place, grade in zip(hidden, grades, strict=True):
        steps[place] = replace(steps[place], grade=grade)
    return replace(run, steps=tuple(steps))


def _likelihood(found: Situation, success: Callable[[Situation], float]) -> float:
    share = min(max(success(found), 1e-3), 1 - 1e-3)
    return share if found.is_right else 1 - share
