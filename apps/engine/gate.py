"""Applies what the policies decide to a run: its workers, its limits, or its end.

A decision only ever takes away. A worker that is refused leaves the pool of the run, so
no plan, fallback, hedge or later round can use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apps.engine.errors import PlanFault, PlanRejected, RunDenied
from apps.engine.events import ApprovalRequested, PolicyDecided
from apps.engine.limits import Limits
from apps.engine.plan import Plan
from apps.engine.ports import ApprovalOutcome, Pool
from apps.engine.run import RunContext


class OpenGate:
    """The gate of a site without policies. Allows everything."""

    async def check_run(self) -> PolicyDecided | None:
        """Allow the run."""
        return None

    async def check_plan(self, number: int, plan: Plan) -> PolicyDecided | None:
        """Allow `plan`."""
        return None

    async def check_step(
        self, number: int, plan: Plan, index: int
    ) -> PolicyDecided | None:
        """Allow the step."""
        return None

    async def await_approval(self, request: ApprovalRequested) -> ApprovalOutcome:
        """Refuse: a plan waits, and this site has no policies that could release it."""
        reason = "this site has no approvals any more"
        return ApprovalOutcome("refused", reason=reason)


async def check_run(run: RunContext) -> None:
    """Check the run before anything leaves. Raises: RunDenied."""
    _apply(run, await run.ports.gate.check_run())


async def check_plan(run: RunContext, number: int, plan: Plan) -> PolicyDecided | None:
    """Check a plan of round `number` before it is accepted; return what was decided.

    Raises: RunDenied; PlanRejected if the plan uses what is refused to it, so that the
    conductor can make another one.
    """
    decision = await run.ports.gate.check_plan(number, plan)
    _apply(run, decision)
    if decision is None:
        return None
    for index, step in enumerate(plan.steps):
        if step.worker in run.refused:
            raise PlanRejected(
                PlanFault.POLICY_DENIED,
                f"step {index}: worker {step.worker!r} may not be used: "
                f"{run.refused[step.worker]}",
            )
    if len(plan.steps) > run.limits.max_steps:
        raise PlanRejected(
            PlanFault.POLICY_DENIED,
            f"the plan has {len(plan.steps)} steps; {run.limits.max_steps} are "
            f"allowed: {decision.reason}",
        )
    return decision


async def check_step(run: RunContext, number: int, plan: Plan, index: int) -> None:
    """Check a step before each of its calls. Raises: RunDenied."""
    _apply(run, await run.ports.gate.check_step(number, plan, index))


def _apply(run: RunContext, decision: PolicyDecided | None) -> None:
    if decision is None:
        return
    run.journal.note(decision)
    if decision.outcome == "denied":
        raise RunDenied(decision.reason)
    if decision.limits:
        run.limits = _capped(run.limits, decision.limits, decision.reason)
        run.meter.restrict(run.limits)
    refused = set(run.pool.names) & set(decision.refused_workers)
    if not refused:
        return
    run.refused |= dict.fromkeys(refused, decision.reason)
    run.pool = _without(run.pool, refused)
    if not run.pool.workers:
        raise RunDenied(f"no worker of the pool may be used: {decision.reason}")


def _without(pool: Pool, refused: set[str]) -> Pool:
    """Return a pool without some workers; the first substitute becomes the fallback."""
    workers = tuple(w for w in pool.workers if w.name not in refused)
    substitutes = tuple(name for name in pool.substitutes if name not in refused)
    fallback = pool.fallback
    if fallback in refused and workers:
        fallback = next(iter(substitutes), workers[0].name)
        substitutes = tuple(name for name in substitutes if name != fallback)
    return replace(pool, workers=workers, fallback=fallback, substitutes=substitutes)


def _capped(limits: Limits, caps: Mapping[str, int], reason: str) -> Limits:
    """Return the smaller of each limit."""
    changed: dict[str, Any] = {}
    for name, most in caps.items():
        present = getattr(limits, name)
        if present is None or most < present:
            changed[name] = most
    if "max_cost_micros" in changed:
        changed["max_cost_reason"] = reason
    return replace(limits, **changed)
