"""How sure the success that is promised of a plan is, from how much was seen. Pure.

A plan's success is linear in the success of each of its situations, so what it changes
with one of them is known exactly; variances are those of beta distributions, and add up
(the delta method).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from apps.planners.light.logged_runs import StepRole
from apps.planners.light.model import SuccessTables
from apps.planners.light.situation_counts import STRENGTH
from apps.planners.light.templates import Template

Z = 1.959963984540054
"""The standard normal distribution has 95 % of its mass within so many deviations."""


class SituationPlace(NamedTuple):
    """Where the success of one situation stands in `SuccessTables`."""

    table: str
    """The name of a field."""
    place: tuple[int, ...]

    def of(self, tables: SuccessTables) -> float:
        """Return what the tables have there."""
        return float(getattr(tables, self.table)[self.place])


Way = tuple[tuple[SituationPlace, bool], ...]
"""One way to a right answer: each situation, and whether its answer is right."""


def success_interval(
    template: Template,
    workers: Sequence[int],
    tables: SuccessTables,
    answers: SuccessTables,
) -> tuple[float, float]:
    """Return bounds of a plan's success that hold in 95 % of cases, from 0 to 1.

    `tables` are success and `answers` the weight of the answers seen, both by the
    places that `workers` are.
    """
    ways = list(_ways(template, workers))
    places = {place for way in ways for place, _ in way}
    success = {place: place.of(tables) for place in places}
    expected = _sum(ways, success.__getitem__)
    variance = 0.0
    for place, share in success.items():
        if_right, if_wrong = (
            _sum(ways, {**success, place: value}.__getitem__) for value in (1.0, 0.0)
        )
        spread = share * (1 - share) / (place.of(answers) + STRENGTH + 1)
        variance += (if_right - if_wrong) ** 2 * spread
    margin = Z * math.sqrt(variance)
    return max(0.0, expected - margin), min(1.0, expected + margin)


def _sum(ways: Sequence[Way], success: Callable[[SituationPlace], float]) -> float:
    return sum(
        math.prod(
            success(place) if is_right else 1 - success(place)
            for place, is_right in way
        )
        for way in ways
    )


def _ways(template: Template, workers: Sequence[int]) -> Iterator[Way]:
    """Yield all ways to a right answer, by which drafts are right on the way."""
    last = template[-1]
    if last.role is StepRole.SOLVE:
        yield ((_answered(template, len(template) - 1, workers), True),)
        return
    drafts = [at for at in last.access if template[at].role is StepRole.SOLVE]
    answered = [_answered(template, at, workers) for at in drafts]
    for rights in itertools.product((False, True), repeat=len(drafts)):
        final = _final(template, workers, drafts, rights)
        yield (*zip(answered, rights, strict=True), (final, True))


def _answered(template: Template, at: int, workers: Sequence[int]) -> SituationPlace:
    plans = [p for p in template[at].access if template[p].role is StepRole.PLAN]
    if plans:
        return SituationPlace("guided", (workers[plans[0]], workers[at]))
    return SituationPlace("solve", (workers[at],))


def _final(
    template: Template,
    workers: Sequence[int],
    drafts: Sequence[int],
    rights: Sequence[bool],
) -> SituationPlace:
    last, worker = template[-1], workers[-1]
    if last.role is StepRole.COMBINE:
        table = "combine_two" if len(drafts) == 2 else "combine_three"
        return SituationPlace(table, (sum(rights), worker))
    planned = int(any(template[at].role is StepRole.PLAN for at in last.access))
    drafter = workers[drafts[-1]]
    return SituationPlace("check", (planned, int(rights[-1]), drafter, worker))
