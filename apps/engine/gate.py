"""The gate of a site without policies."""

from __future__ import annotations

from apps.engine.plan import Plan, PlannedStep


class OpenGate:
    """Allows everything."""

    async def check_plan(self, plan: Plan) -> None:
        """Allow `plan`."""

    async def check_step(self, step: PlannedStep) -> None:
        """Allow `step`."""
