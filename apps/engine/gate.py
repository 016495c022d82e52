"""Applies what the policies decide to a run: its workers, its limits, a wait, its end.

A decision only ever takes away. A worker that is refused leaves the pool of the run, so
no plan, fallback, hedge or later round can use it.

A plan that people must approve waits. The wait counts neither against the run's time
nor against a worker, and survives a restart: the request is on record with the whole
plan before anyone is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from apps.engine.delegation import planned_by
from apps.engine.errors import PlanFault, PlanRejected, RunDenied
from apps.engine.events import ApprovalRequested, ApprovalSettled, PolicyDecided
from apps.engine.limits import Limits
from apps.engine.plan import Plan, PlanPreview
from apps.engine.ports import Messages, Pool, Task
from apps.engine.replay import plan_on_record
from apps.engine.run import RunContext

APPROVER = "approver"
"""The planner of a plan that a person edited."""
EXPIRED = "nobody approved the plan in time"


@dataclass(frozen=True, slots=True)
class ApprovalOutcome:
    """What people decided about a plan that waited for them."""

    verdict: Literal["approved", "refused", "expired"]
    approvers: tuple[str, ...] = ()
    """Names of those who decided."""
    plan: Plan | None = None
    """The plan as they changed it. None: as it was."""
    reason: str = ""
    """Why it is refused, in their words."""


class Gate(Protocol):
    """Checks one run against the policies.

    Each check returns a decision, which the engine records and applies, or None if
    nothing applies or nothing has changed since the check before. A check judges all
    texts of the run: those it was ordered with, and those that `add_texts` has named.
    """

    def add_texts(self, texts: Iterable[str]) -> None:
        """Name texts that were written in the run and may be sent to its models.

        Those of the task itself need not be named. Texts that are known already change
        nothing.
        """
        ...

    async def check_run(self) -> PolicyDecided | None:
        """Decide on the run before anything leaves, and before each later round."""
        ...

    async def check_plan(self, number: int, plan: Plan) -> PolicyDecided | None:
        """Decide on a plan of round `number` before it is accepted."""
        ...

    async def preview_plan(self, number: int, plan: Plan) -> PolicyDecided | None:
        """Return what `check_plan` would decide; no later check depends on it."""
        ...

    async def check_step(
        self, number: int, plan: Plan, index: int
    ) -> PolicyDecided | None:
        """Decide on step `index` of round `number` before each of its calls."""
        ...

    def redact(self, task: Task, kinds: tuple[str, ...]) -> Task:
        """Return a task with placeholders in place of sensitive data of these kinds.

        The same task always gets the same placeholders.
        """
        ...

    def redact_messages(self, messages: Messages, kinds: tuple[str, ...]) -> Messages:
        """Return messages with placeholders, as `redact` does it. Raises: RunDenied."""
        ...

    def restore(self, text: str, *, in_json: bool = False) -> str:
        """Return a text with the values in place of their placeholders.

        `in_json`: the text is JSON, so values are escaped as in its strings.
        """
        ...

    async def await_approval(self, request: ApprovalRequested) -> ApprovalOutcome:
        """Return what people decided about a plan, when they have.

        `request` is on record by then. Asked again after a crash, it returns what has
        been decided meanwhile, and keeps waiting if nothing has.
        """
        ...


class OpenGate:
    """The gate of a site without policies. Allows everything."""

    def add_texts(self, texts: Iterable[str]) -> None:
        """Look at nothing."""

    async def check_run(self) -> PolicyDecided | None:
        """Allow the run."""
        return None

    async def check_plan(self, number: int, plan: Plan) -> PolicyDecided | None:
        """Allow `plan`."""
        return None

    async def preview_plan(self, number: int, plan: Plan) -> PolicyDecided | None:
        """Allow `plan`."""
        return None

    async def check_step(
        self, number: int, plan: Plan, index: int
    ) -> PolicyDecided | None:
        """Allow the step."""
        return None

    def redact(self, task: Task, kinds: tuple[str, ...]) -> Task:
        """Return the task as it is."""
        return task

    def redact_messages(self, messages: Messages, kinds: tuple[str, ...]) -> Messages:
        """Return the messages as they are."""
        return messages

    def restore(self, text: str, *, in_json: bool = False) -> str:
        """Return the text as it is."""
        return text

    async def await_approval(self, request: ApprovalRequested) -> ApprovalOutcome:
        """Refuse: a plan waits, and this site has no policies that could release it."""
        reason = "this site has no approvals any more"
        return ApprovalOutcome("refused", reason=reason)


async def check_run(run: RunContext) -> None:
    """Check the run at its beginning and before each later round. Raises: RunDenied."""
    run.ports.gate.add_texts(_texts_of(run))
    _apply(run, await run.ports.gate.check_run())


async def check_plan(run: RunContext, number: int, plan: Plan) -> PolicyDecided | None:
    """Check a plan of round `number` before it is accepted; return what was decided.

    Raises: RunDenied; PlanRejected if the plan uses what is refused to it, so that the
    conductor can make another one.
    """
    run.ports.gate.add_texts(step.subtask for step in plan.steps)
    decision = await run.ports.gate.check_plan(number, plan)
    _apply(run, decision)
    if decision is None:
        return None
    refuse_denied_workers(run, plan)
    if len(plan.steps) > run.limits.max_steps:
        raise PlanRejected(
            PlanFault.POLICY_DENIED,
            f"the plan has {len(plan.steps)} steps; {run.limits.max_steps} are "
            f"allowed: {decision.reason}",
        )
    return decision


def refuse_denied_workers(run: RunContext, plan: Plan) -> None:
    """Refuse a plan with a worker that policies took out. Raises: PlanRejected."""
    for index, step in enumerate(plan.steps):
        if step.worker in run.refused:
            raise PlanRejected(
                PlanFault.POLICY_DENIED,
                f"step {index}: worker {step.worker!r} may not be used: "
                f"{run.refused[step.worker]}",
            )


async def preview_plan(run: RunContext, number: int, plan: Plan) -> PlanPreview:
    """Say what the policies would make of a plan now.

    It is no proposal: nothing is recorded, and the run keeps its workers and limits.
    """
    decision = await run.ports.gate.preview_plan(number, plan)
    if decision is None:
        return "accepted"
    workers = {step.worker for step in plan.steps}
    most = decision.limits.get("max_steps", run.limits.max_steps)
    is_refused = (
        decision.outcome == "denied"
        or not workers.isdisjoint(decision.refused_workers)
        or len(plan.steps) > most
    )
    if is_refused:
        return "refused"
    return "held" if decision.approvals_needed else "accepted"


async def check_step(run: RunContext, number: int, plan: Plan, index: int) -> None:
    """Check a step before each of its calls. Raises: RunDenied."""
    run.ports.gate.add_texts(_texts_of(run))
    _apply(run, await run.ports.gate.check_step(number, plan, index))


def messages_redacted(run: RunContext, messages: Messages) -> Messages:
    """Return what a model is sent, without what the policies redact.

    The task is without it already; subtasks and answers of steps are not. Raises:
    RunDenied.
    """
    if not run.redacted:
        return messages
    return run.ports.gate.redact_messages(messages, run.redacted)


def _texts_of(run: RunContext) -> Iterator[str]:
    """Yield the texts that were written in a run so far."""
    for answer in run.task.reused:
        yield answer.text
    for round_ in run.state.rounds:
        yield from (step.subtask for step in round_.plan.steps)
        yield from (result.told for result in round_.results.values())


def _apply(run: RunContext, decision: PolicyDecided | None) -> None:
    if decision is None:
        return
    run.journal.note(decision)
    if decision.outcome == "denied":
        raise RunDenied(decision.reason)
    if new := tuple(kind for kind in decision.redacts if kind not in run.redacted):
        run.task = run.ports.gate.redact(run.task, new)
        run.redacted += new
        run.restores = decision.restores
    if decision.limits:
        run.limits = _capped(run.limits, decision.limits, decision.reason)
        run.meter.restrict(run.limits)
    present = {worker.name for worker in run.pool.callable_workers}
    refused = present & set(decision.refused_workers)
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
    embedder, fallback = pool.embedder, pool.fallback
    if embedder is not None and embedder.name in refused:
        embedder = None
    if fallback in refused and workers:
        fallback = next(iter(substitutes), workers[0].name)
        substitutes = tuple(name for name in substitutes if name != fallback)
    return replace(
        pool,
        workers=workers,
        fallback=fallback,
        substitutes=substitutes,
        embedder=embedder,
    )


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


# --- approvals -----------------------------------------------------------------------


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
        decision.data_class,
        plan.explanation,
        plan.plans_rest,
        planned_by(run, planner),
        plan.stickiness,
        plan.stickiness_reason,
    )
    await run.journal.commit(request)
    run.state.approval = request
    run.state.approval_requests += 1
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
