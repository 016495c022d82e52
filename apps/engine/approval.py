"""Holds a plan back until people have approved it.

The wait counts neither against the run's time nor against a worker, and survives a
restart: the request is on record with the whole plan before anyone is asked.
"""

from __future__ import annotations

from apps.engine.errors import RunDenied
from apps.engine.events import ApprovalRequested, ApprovalSettled, PolicyDecided
from apps.engine.plan import Plan
from apps.engine.ports import ApprovalOutcome
from apps.engine.replay import plan_on_record
from apps.engine.run import RunContext

APPROVER = "approver"
"""The planner of a plan that a person edited."""
EXPIRED = "nobody approved the plan in time"


async def request_approval(
    run: RunContext, number: int, plan: Plan, planner: str, decision: PolicyDecided
) -> ApprovalRequested:
    """Put a plan on record as one that waits."""
    request = ApprovalRequested(
        number,
        planner,
        plan.digest,
        decision.approvals_needed,
        decision.approval_expires_at,
        decision.rules,
        decision.reason,
        decision.estimated_cost_micros,
        tuple(step.worker for step in plan.steps),
        tuple(step.access for step in plan.steps),
        tuple(step.subtask for step in plan.steps),
        plan.reasoning,
    )
    await run.journal.commit(request)
    run.state.approval = request
    return request


async def settle_approval(
    run: RunContext, request: ApprovalRequested
) -> tuple[Plan, str]:
    """Wait for a decision; return the plan that is approved, and who made it.

    Raises: RunDenied if it is refused, or nobody decides in time.
    """
    with run.paused():
        outcome = await run.ports.gate.await_approval(request)
    plan = outcome.plan or plan_on_record(request)
    run.state.approval = None
    run.journal.note(
        ApprovalSettled(
            request.round,
            plan.digest,
            outcome.verdict,
            outcome.approvers,
            outcome.plan is not None,
            outcome.reason,
        )
    )
    if outcome.verdict != "approved":
        raise RunDenied(_why(outcome, request), f"approval_{outcome.verdict}")
    return plan, request.planner if outcome.plan is None else APPROVER


def _why(outcome: ApprovalOutcome, request: ApprovalRequested) -> str:
    if outcome.verdict == "expired":
        return f"{EXPIRED}: {request.reason}"
    by = f" by {', '.join(outcome.approvers)}" if outcome.approvers else ""
    return f"the plan was refused{by}: {outcome.reason}"
