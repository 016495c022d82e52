"""A cascade of planners: the quick one, and the conductor where it is unsure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

from apps.engine.plan import Plan
from apps.engine.ports import Ask, Planner, PlanRequest
from apps.planners.exploration import Explorer
from apps.planners.stickiness import Appraised, Appraiser


class SelfDoubtingPlanner(Planner, Protocol):
    """A planner that can say when it should not be trusted."""

    async def is_unsure(self, request: PlanRequest) -> bool:
        """Say whether too little is known for a plan."""
        ...

    def exploring(self, seed: str) -> Self:
        """Return the planner that tries a plan near the best one, drawn by `seed`."""
        ...


@dataclass(frozen=True, slots=True)
class PlannerCascade(Explorer, Appraiser):
    """Asks `second` where `first` is unsure, and after each plan that was refused."""

    first: SelfDoubtingPlanner
    second: Planner

    @property
    def name(self) -> str:
        """Return what plans are recorded under."""
        return f"{self.first.name}_cascade"

    def exploring(self, seed: str) -> Self:
        """Return the cascade whose first planner explores."""
        return replace(self, first=self.first.exploring(seed))

    async def appraise(
        self, request: PlanRequest, last: Plan, new: Plan
    ) -> Appraised | None:
        """Return what the first planner expects of two plans, whoever made them."""
        if not isinstance(self.first, Appraiser):
            return None
        return await self.first.appraise(request, last, new)

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return the plan of whichever planner knows better."""
        if request.may_keep or request.rounds or request.rejections:
            return await self.second.plan(request, ask)
        if await self.first.is_unsure(request):
            return await self.second.plan(request, ask)
        return await self.first.plan(request, ask)
