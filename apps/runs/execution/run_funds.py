"""The budgets' word on a plan: whether it can likely be paid to its end.

Checked once a plan is made and before its first step is paid. A plan that likely costs
more than is set aside for its run gets more of the budgets, if they have it.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.utils import timezone

from apps.budgets.types import Standing
from apps.core.money import usd_text
from apps.engine.errors import RunDenied
from apps.engine.limits import Limits
from apps.engine.meter import StepCosts
from apps.engine.plan import Plan
from apps.engine.ports import PlanFunds, Pool
from apps.runs.execution.async_db import reservation_raise
from apps.runs.execution.cost_cap import BudgetGate, CostCap, exceeded
from apps.runs.planning.cost_estimates import step_prices
from apps.runs.planning.likely_costs import likely_step_costs, order_size
from apps.runs.types import RunOrder


@dataclass(frozen=True, slots=True)
class RunFunds:
    """What one run may spend; see `engine.ports.Funds`."""

    run_id: uuid.UUID
    order: RunOrder
    pool: Pool
    cap: CostCap
    gate: BudgetGate

    async def cover(self, plan: Plan, limits: Limits, spent_micros: int) -> PlanFunds:
        """Return the cost limit of a plan that can likely end. Raises: RunDenied."""
        limit, order = limits.max_cost_micros, self.order
        if limit is None:
            return PlanFunds(None)
        highest = step_prices(
            plan, order.prompt, order.params, self.pool, order.messages
        )
        if highest is None or spent_micros + sum(highest) <= limit:
            return PlanFunds(limit)
        size = order_size(order.prompt, order.params, order.messages)
        past = await self.gate.past_runs(order)
        likely = likely_step_costs(plan, size, self.pool, past)
        costs = StepCosts(likely, highest)
        needed = spent_micros + sum(likely)
        # A policy's limit is no question of budgets.
        if needed > limit >= self.cap.max_cost_micros:
            limit = await self._raised(limit, needed, spent_micros)
        return PlanFunds(limit, costs)

    async def _raised(self, limit: int, needed: int, spent: int) -> int:
        """Return a limit that has been raised for a plan. Raises: RunDenied."""
        most = self.cap.most_micros
        # A limit of the caller or the tier may be as small as they like.
        wanted = needed if most is None else min(needed, most)
        standings = await self.gate.binding(self.order)
        for standing in standings:
            if standing.starts_on is None and standing.limit_micros < needed:
                raise self._refusal(standing, standing.limit_micros, needed, spent)
        if wanted <= limit or self.cap.hold is None:
            return limit
        if await reservation_raise(self.order.team_id, self.run_id, wanted):
            return wanted
        periods = [s for s in standings if s.starts_on is not None]
        if not periods:  # nothing is set aside: all budgets have been lifted
            return limit
        tightest = min(periods, key=lambda standing: standing.left_micros)
        left = tightest.left_micros + limit
        raise self._refusal(tightest, left, needed, spent)

    def _refusal(
        self, standing: Standing, left: int, needed: int, spent: int
    ) -> RunDenied:
        needs = (
            f"; the plan of this run likely costs ${usd_text(needed - spent)}, so none "
            "of its steps was started"
        )
        if spent:
            needs = f" for this run, ${usd_text(spent)} of it spent on planning{needs}"
        refusal = exceeded(standing, left, needs, needed, timezone.now())
        return RunDenied(refusal.message, refusal.code)
