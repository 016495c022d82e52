"""The cost cap of a run: the least of what its request, tier and budgets allow.

A run under budgets gets a cost limit, which the engine holds it to, and sets exactly
that much aside in every daily and monthly budget it counts for, in the commit that
opens it. So what runs in progress may still spend is always set aside already.

It starts only if its likely cost is left. Where less is left than such runs could cost
at most, each takes only a part, so that others that likely fit can run beside it.

The engine reserves a call's output exactly and its input by a cautious estimate: a run
can cross its limit by the error of the estimates in flight, never by more.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.utils import timezone

from apps.budgets.errors import BudgetExceeded, PriceMissing
from apps.budgets.periods import period_end, period_start
from apps.budgets.reservations import Hold, Kept, Share
from apps.budgets.types import Standing
from apps.core.money import usd_text
from apps.engine import events as ev
from apps.runs.execution.async_db import (
    PastRunsLoader,
    StandingLoader,
    kept_reservations,
)
from apps.runs.planning.cost_estimates import PriceRange, price_range, unpriced
from apps.runs.planning.likely_costs import PastRun, likely_cost, order_size
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder

LEAST_DEFAULT_MICROS = 10_000
MOST_DEFAULT_MICROS = 5_000_000
"""Bounds of what is set aside for a run without a cost limit: one cent and five
dollars. Between them it is the upper end of the estimate from prices."""
NO_OWN_LIMIT = "set aside by estimate; ask for a limit of its own"
"""Why such a run may cost no more."""
MAX_SHARES = 4
"""Into so many parts what is left of a budget is divided at most, for runs without a
cost limit of their own."""
SETTLING_S = 5
"""When to come back if only runs in progress stand in the way."""


@dataclass(frozen=True, slots=True)
class CostCap:
    """A cost limit, and what is set aside for it."""

    max_cost_micros: int
    hold: Hold | Kept | None
    """None: only limits of each run bind, so nothing is set aside."""
    reason: str = ""
    """Who set the limit, if it is neither the caller nor the tier."""
    most_micros: int | None = None
    """Up to where the limit can be raised while the run goes on. None: as far as the
    budgets allow."""


class BudgetGate:
    """Asks the budgets, from memory where that will do."""

    def __init__(self) -> None:
        self._standings = StandingLoader()
        self._past = PastRunsLoader()

    async def allow(self, order: RunOrder, resolved: ResolvedModel) -> CostCap | None:
        """Return what a new run may cost; None if no budget binds.

        Raises: BudgetExceeded, PriceMissing.
        """
        standings = await self._standings.load(order.team_id)
        if not standings:
            return None
        try:
            return await self._allow(standings, order, resolved)
        except BudgetExceeded:
            # What is remembered may be seconds old; nobody is refused for that.
            return await self.allow_anew(order, resolved)

    async def allow_anew(
        self, order: RunOrder, resolved: ResolvedModel
    ) -> CostCap | None:
        """Do the same by what the database says now."""
        standings = await self._standings.load_anew(order.team_id)
        return await self._allow(standings, order, resolved)

    async def _allow(
        self, standings: Sequence[Standing], order: RunOrder, resolved: ResolvedModel
    ) -> CostCap | None:
        now = timezone.now()
        binding = binding_now(standings, order, now)
        if not binding:
            return None
        claim = _claim(binding, order, resolved)
        if claim.is_plentiful:
            return claim.cap(claim.wanted_micros)
        likely = claim.cost.low
        if order.served_planner is None:
            size = order_size(order.prompt, order.params, order.messages)
            likely = likely_cost(size, resolved, await self.past_runs(order))
        return claim.share(likely, now)

    async def past_runs(self, order: RunOrder) -> Sequence[PastRun]:
        """Return the team's latest runs of the model that an order names."""
        return await self._past.load(order.team_id, order.model)

    async def binding(self, order: RunOrder) -> list[Standing]:
        """Return the budgets that an order counts for, as they stand now."""
        standings = await self._standings.load_anew(order.team_id)
        return binding_now(standings, order, timezone.now())

    async def keep(
        self,
        order: RunOrder,
        resolved: ResolvedModel,
        run_id: uuid.UUID,
        created: ev.RunCreated,
    ) -> CostCap | None:
        """Return what a run that is resumed was allowed.

        Part of it may have been freed since: that is set aside anew. More than the
        limit that it began with may have been set aside for its plan.
        """
        limit = created.limits.get("max_cost_micros")
        if limit is None:
            return None
        held = await kept_reservations(order.team_id, run_id)
        limit = max(limit, *held.values()) if held else limit
        spends = tuple(held)
        freed = frozenset(spend for spend, micros in held.items() if micros == 0)
        hold = Kept(limit, spends, freed) if held else None
        return CostCap(limit, hold, most_micros=resolved.limits.max_cost_micros)


def binding_now(
    standings: Sequence[Standing], order: RunOrder, now: datetime
) -> list[Standing]:
    """Return the budgets that an order counts for, in the day and month of `now`."""
    return [
        _current(standing, now)
        for standing in standings
        if standing.binds(order.user_id, order.api_key_id)
    ]


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a run asks of the budgets that bind it."""

    binding: Sequence[Standing]
    given_micros: int | None
    """The limit of the caller or the tier."""
    wanted_micros: int
    """What the run shall be able to cost."""
    reason: str
    """Why the run may cost no more."""
    cost: PriceRange

    @property
    def tightest(self) -> Standing:
        """Return the budget of which the least is left."""
        return min(self.binding, key=lambda standing: standing.left_micros)

    @property
    def is_plentiful(self) -> bool:
        """Return whether the run surely fits, whatever it comes to."""
        left = self.tightest.left_micros
        if self.given_micros == self.wanted_micros:
            return left >= self.wanted_micros
        return (
            self.wanted_micros >= self.cost.high
            and left >= MAX_SHARES * self.wanted_micros
        )

    def cap(self, micros: int) -> CostCap:
        """Return a limit of so much."""
        reason = self.reason
        if micros < self.wanted_micros:
            reason = f"the run's part of what is left of {self.tightest.label}"
        shares = tuple(
            Share(standing.budget_id, standing.starts_on)
            for standing in sorted(self.binding, key=lambda s: s.budget_id)
            if standing.starts_on is not None
        )
        hold = Hold(micros, shares) if shares else None
        most = None if self.reason == NO_OWN_LIMIT else self.wanted_micros
        return CostCap(micros, hold, reason, most)

    def share(self, likely: int, now: datetime) -> CostCap:
        """Return a limit that the likely cost fits in. Raises: BudgetExceeded."""
        # A caller's own limit may be as small as they like: the run then ends at it.
        given = self.given_micros
        needed = likely if given is None else min(likely, given)
        left = self.tightest.left_micros
        if left < needed:
            raise _exceeded(self.tightest, needed, now)
        if self.reason == NO_OWN_LIMIT:
            return self.cap(share_of(left, likely, max(self.wanted_micros, likely)))
        if left >= self.wanted_micros:
            return self.cap(self.wanted_micros)
        return self.cap(share_of(left, needed, self.wanted_micros))


def share_of(left: int, likely: int, wanted: int) -> int:
    """Return what one run sets aside of what is left, in micro-dollars.

    What is left is divided among as many runs as likely fit, at most `MAX_SHARES`: each
    then has its likely cost, and the more there is the more beyond it. `likely` is at
    most `left`.
    """
    runs = left // max(likely, 1)
    return min(wanted, left // max(1, min(runs, MAX_SHARES)))


def _current(standing: Standing, now: datetime) -> Standing:
    """Return the budget as of now: a new day or month begins with nothing spent."""
    starts_on = period_start(standing.period, now)
    if starts_on == standing.starts_on:
        return standing
    return replace(standing, starts_on=starts_on, spent_micros=0, reserved_micros=0)


def _price(order: RunOrder, resolved: ResolvedModel) -> PriceRange:
    found = price_range(order.prompt, order.params, resolved, order.messages)
    if found is None:
        *names, last = unpriced(resolved)
        listed = f"{', '.join(names)} and {last}" if names else last
        raise PriceMissing(
            f"a budget binds this run, and the price of {listed} is unknown: fill in "
            "Price on the page of each model; the page Budgets lists them",
            param="model",
        )
    return found


def _claim(
    binding: Sequence[Standing], order: RunOrder, resolved: ResolvedModel
) -> _Claim:
    """Return what a run asks of these budgets. Raises: PriceMissing."""
    cost = _price(order, resolved)
    given = resolved.limits.max_cost_micros
    return _Claim(binding, given, *_wanted(binding, given, cost), cost)


def _wanted(
    binding: Sequence[Standing], given: int | None, cost: PriceRange
) -> tuple[int, str]:
    """Return what the run shall be able to cost, and who says so."""
    limits = [(s.limit_micros, s.label) for s in binding if s.starts_on is None]
    if given is not None:
        limits.append((given, ""))
    if limits:
        return min(limits)
    return min(max(cost.high, LEAST_DEFAULT_MICROS), MOST_DEFAULT_MICROS), NO_OWN_LIMIT


def _exceeded(standing: Standing, likely: int, now: datetime) -> BudgetExceeded:
    """Return the refusal of a run that has not begun."""
    needs = f"this run likely costs ${usd_text(likely)}, so it was not started"
    aside = ""
    if standing.reserved_micros:
        held = usd_text(standing.reserved_micros)
        aside = f", ${held} is set aside for runs in progress"
    return exceeded(standing, standing.left_micros, f"{aside}; {needs}", likely, now)


def exceeded(
    standing: Standing, left: int, needs: str, likely: int, now: datetime
) -> BudgetExceeded:
    """Return a refusal: which limit binds, what is left, when it resets.

    `needs` says for what that is not enough, and `likely` how much it would take.
    """
    limit = f"${usd_text(standing.limit_micros)}"
    if standing.starts_on is None:
        return BudgetExceeded(f"{standing.label} is {limit}{needs}")
    resets_at = period_end(standing.period, standing.starts_on)
    until = resets_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    is_spent = standing.spent_micros + likely > standing.limit_micros
    wait_s = int((resets_at - now).total_seconds()) + 1 if is_spent else SETTLING_S
    return BudgetExceeded(
        f"{standing.label} has ${usd_text(left)} of {limit} left{needs}; "
        f"it resets at {until}",
        retry_after_s=wait_s,
    )
