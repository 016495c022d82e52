"""Goes on where an answer has called the caller's tools: their results go back."""

from __future__ import annotations

from dataclasses import dataclass, field

from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import Ask, PlanRequest
from apps.planners.stickiness import kept_for_tools


@dataclass(frozen=True, slots=True)
class ToolContinuationPlanner:
    """The worker that asked for the tools answers, from the whole conversation."""

    worker: str
    name: str = field(default="tool_continuation", init=False)

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return a plan of one direct step; later rounds keep its answer."""
        if request.rounds:
            return None
        plan = Plan((PlannedStep(request.task.prompt, self.worker),))
        return kept_for_tools(plan, self.worker)
