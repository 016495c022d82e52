"""Asks the planner for a plan until one can be used, or falls back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from apps.engine.calls import AttemptFailed, Target
from apps.engine.errors import CallFailed, PlanFault, PlanRejected, RunDenied
from apps.engine.events import (
    ApprovalRequested,
    PlanAccepted,
    PlanCallFailed,
    PlanKept,
    PlanRejectedEvent,
    PlanReplied,
    PlanRequested,
    StepReused,
    StepSkipped,
)
from apps.engine.gate import (
    APPROVER,
    check_plan,
    request_approval,
    settle_approval,
)
from apps.engine.messages import messages_json
from apps.engine.plan import Plan, PlannedStep, validate
from apps.engine.ports import (
    CONDUCTOR,
    Call,
    CallParams,
    ConductorReply,
    Delta,
    Messages,
    PlanRequest,
    Progress,
    Rejection,
    ReusedAnswer,
)
from apps.engine.replay import Round, StepResult
from apps.engine.rounds import UNNEEDED
from apps.engine.run import RunContext
from apps.engine.steps import backoff_s
from apps.engine.suitability import suited_worker, unsuited

FALLBACK_PLANNER = "fallback"
MAX_APPROVAL_REQUESTS = 6
"""Plans of one round, whoever made them, after which people are asked about no more."""


async def make_plan(run: RunContext) -> Round | None:
    """Return the next round with its plan recorded, None if the answer stands.

    Raises: LimitReached, RunDenied, whatever the recorder raises.
    """
    number = len(run.state.rounds)
    may_keep = any(r.answer for r in run.state.rounds)
    plan, planner = await _ask_until_usable(run, number, may_keep)
    if plan is None and may_keep:
        run.journal.note(PlanKept(number))
        run.state.is_kept = True
        return None
    if plan is None:
        plan, planner = await _fallback_plan(run, number)
    return _accept(run, number, plan, planner)


async def _fallback_plan(run: RunContext, number: int) -> tuple[Plan, str]:
    """Return a plan of one step that policies and people allow.

    If a policy refuses its worker, that has left the pool, and another one is next.
    If people approve a plan that breaks a rule, they are asked again, but not without
    end. Raises: RunDenied.
    """
    while run.state.approval_requests < MAX_APPROVAL_REQUESTS:
        pool = run.pool
        worker = suited_worker(run.task, pool, pool.fallback)
        plan = Plan((PlannedStep(run.task.prompt, worker),))
        try:
            return await _allowed(run, number, plan, FALLBACK_PLANNER)
        except PlanRejected as exc:
            if run.pool is pool:  # else PolicyDecided says which workers left, and why
                _note_rejection(run, number, exc, "")
    raise RunDenied(
        f"people were asked about {MAX_APPROVAL_REQUESTS} plans, and none can be used"
    )


async def _ask_until_usable(
    run: RunContext, number: int, may_keep: bool
) -> tuple[Plan | None, str]:
    """Return a valid plan, or None to keep the answer or because there is none."""
    planner, state = run.ports.planner, run.state
    asking = _Asking(run, number)
    while state.approval or state.plan_failures < run.limits.max_plan_attempts:
        request = PlanRequest(
            run.task,
            run.pool,
            run.limits.max_steps,
            tuple(r.outcome() for r in state.rounds),
            tuple(state.rejections),
            may_keep,
        )
        try:
            if state.approval is not None:  # since before a restart
                return await _approved(run, number, state.approval)
            plan = await planner.plan(request, asking.ask)
            _check(run, plan, may_keep)
            if plan is None:
                return None, planner.name
            return await _allowed(run, number, plan, planner.name)
        except PlanRejected as exc:
            _note_rejection(run, number, exc, asking.last_output)
        except CallFailed as exc:
            state.plan_failures += 1
            if not exc.is_transient:
                break
            if state.plan_failures < run.limits.max_plan_attempts:
                await asyncio.sleep(backoff_s(run, state.plan_failures, exc))
    return None, planner.name


def _note_rejection(
    run: RunContext, number: int, rejected: PlanRejected, output: str
) -> None:
    """Put a rejected plan on record; `output` is the text that it was read from."""
    run.journal.note(PlanRejectedEvent(number, rejected.fault, rejected.message))
    run.state.rejections.append(Rejection(output, rejected.message))
    run.state.plan_failures += 1


async def _allowed(
    run: RunContext, number: int, plan: Plan, planner: str
) -> tuple[Plan, str]:
    """Return a plan that policies and people allow, and who made it.

    Raises: RunDenied, PlanRejected.
    """
    decision = await check_plan(run, number, plan)
    if decision is None or not decision.approvals_needed:
        return plan, planner
    request = await request_approval(run, number, plan, planner, decision)
    return await _approved(run, number, request)


async def _approved(
    run: RunContext, number: int, request: ApprovalRequested
) -> tuple[Plan, str]:
    """Wait for an approval. A plan that a person edited keeps all other rules."""
    plan, planner = await settle_approval(run, request)
    if planner == APPROVER:
        _check(run, plan, may_keep=False)
        await check_plan(run, number, plan)
    return plan, planner


def _check(run: RunContext, plan: Plan | None, may_keep: bool) -> None:
    if plan is None:
        if not may_keep:
            raise PlanRejected(
                PlanFault.EMPTY_PLAN, "the plan is empty and there is no answer to keep"
            )
        return
    validate(plan, workers=run.pool.names, max_steps=run.limits.max_steps)
    for index in range(len(plan.steps)):
        _check_worker(run, plan, index)


def _check_worker(run: RunContext, plan: Plan, index: int) -> None:
    name = plan.steps[index].worker
    worker = run.pool.worker(name)
    is_last = index == len(plan.steps) - 1
    if reason := unsuited(run.task, worker, is_last=is_last):
        raise PlanRejected(
            PlanFault.UNSUITED_WORKER, f"step {index}: worker {name!r} {reason}"
        )
    if run.limits.max_cost_micros is not None and worker.price is None:
        raise PlanRejected(
            PlanFault.UNPRICED_WORKER,
            f"step {index} names worker {name!r}, whose price is unknown, "
            "and the run has a cost limit",
        )


def _accept(run: RunContext, number: int, plan: Plan, planner: str) -> Round:
    needed = plan.needed()
    skipped = tuple(sorted(set(range(len(plan.steps))) - needed))
    is_first = number == 0 and planner != APPROVER
    reused = [each for each in run.task.reused if is_first and each.step in needed]
    run.journal.note(
        PlanAccepted(
            round=number,
            planner=planner,
            workers=tuple(s.worker for s in plan.steps),
            access=tuple(s.access for s in plan.steps),
            skipped=skipped,
            subtasks=tuple(s.subtask for s in plan.steps),
            reasoning=plan.reasoning,
            explanation=plan.explanation,
        ),
        *(StepSkipped(number, index, UNNEEDED) for index in skipped),
        *(_reused(number, answer) for answer in reused),
    )
    round_ = Round(plan)
    for answer in reused:
        round_.results[answer.step] = StepResult("completed", answer.text, "stop")
    run.state.rounds.append(round_)
    run.state.plan_calls = run.state.plan_failures = 0
    run.state.approval_requests = 0
    run.state.rejections = []
    return round_


def _reused(number: int, answer: ReusedAnswer) -> StepReused:
    return StepReused(
        number,
        answer.step,
        answer.worker,
        answer.text,
        answer.run_id,
        answer.is_edited,
    )


@dataclass(slots=True)
class _Asking:
    """The `ask` a planner gets: calls the conductor model, on the record."""

    run: RunContext
    number: int
    last_output: str = ""

    async def ask(self, messages: Messages, params: CallParams) -> ConductorReply:
        """Call the conductor model. Raises: CallFailed, LimitReached."""
        run, state, pool = self.run, self.run.state, self.run.pool

        async def announce() -> None:
            state.plan_calls += 1
            sent = messages_json(messages)
            await run.journal.commit(PlanRequested(self.number, state.plan_calls, sent))

        try:
            attempt = await run.calls.call(
                Call(CONDUCTOR, messages, params, run.is_call_streamed),
                Target(pool.conductor_price, pool.conductor_max_output_tokens),
                announce,
                self._show,
            )
        except AttemptFailed as exc:
            raise self._note_failure(exc) from None
        self.last_output = attempt.text
        run.journal.note(
            PlanReplied(
                self.number,
                state.plan_calls,
                attempt.text,
                attempt.finish_reason,
                attempt.model,
                attempt.usage,
                attempt.cost_micros,
                attempt.latency_ms,
            )
        )
        return ConductorReply(attempt.text, attempt.finish_reason)

    def _show(self, delta: Delta) -> None:
        if self.run.task.is_watched:
            place = (self.number, None, self.run.state.plan_calls)
            progress = Progress(*place, delta.text, delta.reasoning)
            self.run.ports.progress.emit(progress)

    def _note_failure(self, exc: AttemptFailed) -> BaseException:
        failure, attempt = exc.failure, exc.attempt
        self.run.journal.post(
            PlanCallFailed(
                self.number,
                self.run.state.plan_calls,
                failure.fault,
                failure.message,
                attempt.usage,
                attempt.cost_micros,
                attempt.latency_ms,
            )
        )
        return exc.reason()
