"""The cost cap of a run: the least of what its request, tier and budgets allow.

A run under budgets gets a cost limit, which the engine holds it to, and sets exactly
that much aside in every daily and monthly budget it counts for, in the commit that
opens it. So what runs in progress may still spend is always set aside already.

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
from apps.runs.execution.async_db import StandingLoader, kept_reservations
from apps.runs.planning.cost_estimates import PriceRange, price_range, unpriced
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder

LEAST_DEFAULT_MICROS = 10_000
MOST_DEFAULT_MICROS = 5_000_000
"""Bounds of what is set aside for a run without a cost limit: one cent and five
dollars. Between them it is the upper end of the estimate from prices."""
NO_OWN_LIMIT = "set aside by estimate; ask for a limit of its own"
"""Why such a run may cost no more."""
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


class BudgetGate:
    """Asks the budgets, from memory where that will do."""

    def __init__(self) -> None:
        self._standings = StandingLoader()

    async def allow(self, order: RunOrder, resolved: ResolvedModel) -> CostCap | None:
        """Return what a new run may cost; None if no budget binds.

        Raises: BudgetExceeded, PriceMissing.
        """
        standings = await self._standings.load(order.team_id)
        if not standings:
            return None
        try:
            return allow(standings, order, resolved, timezone.now())
        except BudgetExceeded:
            # What is remembered may be seconds old; nobody is refused for that.
            return await self.allow_anew(order, resolved)

    async def allow_anew(
        self, order: RunOrder, resolved: ResolvedModel
    ) -> CostCap | None:
        """Do the same by what the database says now."""
        standings = await self._standings.load_anew(order.team_id)
        return allow(standings, order, resolved, timezone.now())

    async def keep(
        self, order: RunOrder, run_id: uuid.UUID, created: ev.RunCreated
    ) -> CostCap | None:
        """Return what a run that is resumed was allowed when it began.

        Part of it may have been freed since: that is set aside anew.
        """
        limit = created.limits.get("max_cost_micros")
        if limit is None:
            return None
        held = await kept_reservations(order.team_id, run_id)
        spends = tuple(held)
        freed = frozenset(spend for spend, micros in held.items() if micros == 0)
        return CostCap(limit, Kept(limit, spends, freed) if held else None)


def allow(
    standings: Sequence[Standing],
    order: RunOrder,
    resolved: ResolvedModel,
    now: datetime,
) -> CostCap | None:
    """Return what a run may cost by these budgets; None if none of them binds.

    Raises: BudgetExceeded, PriceMissing.
    """
    binding = [
        _current(standing, now)
        for standing in standings
        if standing.binds(order.user_id, order.api_key_id)
    ]
    if not binding:
        return None
    cost = _price(order, resolved)
    given = resolved.limits.max_cost_micros
    wanted, reason = _wanted(binding, given, cost)
    # A caller's own limit may be as small as they like: the run then ends at it.
    needed = cost.low if given is None else min(cost.low, given)
    tightest = min(binding, key=lambda standing: standing.left_micros)
    if tightest.left_micros < needed:
        raise _exceeded(tightest, needed, now)
    if tightest.left_micros < wanted:
        wanted, reason = tightest.left_micros, f"what is left of {tightest.label}"
    shares = tuple(
        Share(standing.budget_id, standing.starts_on)
        for standing in sorted(binding, key=lambda s: s.budget_id)
        if standing.starts_on is not None
    )
    return CostCap(wanted, Hold(wanted, shares) if shares else None, reason)


def _current(standing: Standing, now: datetime) -> Standing:
    """Return the budget as of now: a new day or month begins with nothing spent."""
    starts_on = period_start(standing.period, now)
    if starts_on == standing.starts_on:
        return standing
    return replace(standing, starts_on=starts_on, spent_micros=0, reserved_micros=0)


def _price(order: RunOrder, resolved: ResolvedModel) -> PriceRange:
    found = price_range(order.prompt, order.params, resolved, order.messages)
    if found is None:
        names = ", ".join(unpriced(resolved))
        raise PriceMissing(
            f"a budget binds this run, and the price of {names} is unknown; "
            "set it on the page of the pool",
            param="model",
        )
    return found


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


def _exceeded(standing: Standing, needed: int, now: datetime) -> BudgetExceeded:
    """Return the refusal: which limit binds, what is left, when it resets."""
    needs = f"this run needs at least ${usd_text(needed)}"
    limit = f"${usd_text(standing.limit_micros)}"
    if standing.starts_on is None:
        return BudgetExceeded(f"{standing.label} is {limit}; {needs}")
    resets_at = period_end(standing.period, standing.starts_on)
    left = f"{standing.label} has ${usd_text(standing.left_micros)} of {limit} left"
    aside = ""
    if standing.reserved_micros:
        held = usd_text(standing.reserved_micros)
        aside = f", ${held} is set aside for runs in progress"
    until = resets_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    is_spent = standing.spent_micros + needed > standing.limit_micros
    wait_s = int((resets_at - now).total_seconds()) + 1 if is_spent else SETTLING_S
    return BudgetExceeded(
        f"{left}{aside}; {needs}; it resets at {until}", retry_after_s=wait_s
    )
