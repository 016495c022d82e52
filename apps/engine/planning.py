"""Asks the planner for a plan until one can be used, or falls back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial

from apps.engine.calls import AttemptFailed, Target
from apps.engine.delegation import DELEGATED, planned_by, rest_of
from apps.engine.errors import CallFailed, PlanFault, PlanRejected, RunDenied
from apps.engine.events import (
    ApprovalRequested,
    PlanAccepted,
    PlanKept,
    PlanRejectedEvent,
    PlanRequested,
    StepReused,
    StepSkipped,
)
from apps.engine.gate import (
    APPROVER,
    check_plan,
    check_run,
    messages_redacted,
    preview_plan,
    refuse_denied_workers,
    request_approval,
    settle_approval,
)
from apps.engine.journal import plan_call_failed, plan_replied
from apps.engine.messages import messages_json
from apps.engine.meter import StepCosts
from apps.engine.plan import Plan, PlannedStep, PlanPreview, validate
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
from apps.engine.steps import wait_s
from apps.engine.suitability import suited_worker, unsuited
from apps.engine.vectors.embedding import prompt_vector

FALLBACK_PLANNER = "fallback"
MAX_APPROVAL_REQUESTS = 6
"""Plans of one round, whoever made them, after which people are asked about no more."""


async def make_plan(run: RunContext) -> Round | None:
    """Return the next round with its plan recorded, None if the answer stands.

    Raises: LimitReached, RunDenied, whatever the recorder raises.
    """
    number = len(run.state.rounds)
    if number:
        await check_run(run)  # the planner is told what the steps have answered
    may_keep = any(r.answer for r in run.state.rounds)
    plan, planner = await _ask_until_usable(run, number, may_keep)
    if plan is None and may_keep:
        run.journal.note(PlanKept(number))
        run.state.is_kept = True
        return None
    if plan is None:
        plan, planner = await _fallback_plan(run, number)
    try:
        costs = await _covered(run, plan)
    except RunDenied:
        if not may_keep:
            raise
        # A better answer cannot be paid: the one that there is stands.
        run.journal.note(PlanKept(number))
        run.state.is_kept = True
        return None
    round_ = _accept(run, number, plan, planner)
    round_.costs = costs
    return round_


async def _covered(run: RunContext, plan: Plan) -> StepCosts | None:
    """Have what a plan likely costs set aside; return how its steps divide it.

    Raises: RunDenied.
    """
    if run.ports.funds is None:
        return None
    spent = run.meter.cost.micros
    funds = await run.ports.funds.cover(plan, run.limits, spent)
    if funds.limit_micros != run.limits.max_cost_micros:
        run.limits = replace(run.limits, max_cost_micros=funds.limit_micros)
        run.meter.restrict(run.limits)
    return funds.costs


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
            partial(_preview, run, number),
            run.may_delegate,
            partial(prompt_vector, run, number),
        )
        try:
            if state.approval is not None:  # since before a restart
                return await _approved(run, number, state.approval)
            answer = _planned_rest(run)
            if answer is not None and state.plan_failures == 0:
                asking.last_output = answer.text
                rest = _delegated_plan(run, answer)
                return await _allowed(run, number, rest, DELEGATED)
            plan = await planner.plan(request, asking.ask)
            _check(run, plan, may_keep)
            if plan is None:
                return None, planner.name
            return await _allowed(run, number, plan, plan.made_by or planner.name)
        except PlanRejected as exc:
            _note_rejection(run, number, exc, asking.last_output)
        except CallFailed as exc:
            state.plan_failures += 1
            if not exc.is_transient:
                break
            if state.plan_failures < run.limits.max_plan_attempts:
                failures = state.plan_failures
                wait = wait_s(run.limits, run.ports.random, failures, exc)
                await asyncio.sleep(wait)
    return None, planner.name


def _planned_rest(run: RunContext) -> StepResult | None:
    """Return a worker's answer that holds the next plan; None: the planner is asked.

    It is asked too if the limits allow that plan no more.
    """
    rounds = run.state.rounds
    return rounds[-1].planned_rest if rounds and run.may_recurse else None


def _delegated_plan(run: RunContext, answer: StepResult) -> Plan:
    """Return the plan in a worker's answer. Raises: PlanRejected.

    Its numbers are those of the prompt, so a worker that has gone since is named in the
    refusal. Records from before the list was kept have the pool of now.
    """
    listed = answer.listed_workers or run.pool.names
    plan = rest_of(run, run.state.rounds[-1]).plan(answer.text, listed)
    refuse_denied_workers(run, plan)
    _check(run, plan, may_keep=False)
    return plan


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
    validate(
        plan,
        workers=run.pool.names,
        max_steps=run.limits.max_steps,
        may_delegate=run.may_delegate,
    )
    for index in range(len(plan.steps)):
        _check_worker(run, plan, index)


async def _preview(run: RunContext, number: int, plan: Plan) -> PlanPreview:
    """Say what would become of a plan; see `PlanRequest.preview`."""
    try:
        _check(run, plan, may_keep=False)
    except PlanRejected:
        return "refused"
    return await preview_plan(run, number, plan)


def _check_worker(run: RunContext, plan: Plan, index: int) -> None:
    name = plan.steps[index].worker
    worker = run.pool.worker(name)
    is_last = plan.gives_answer(index)
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
            plans_rest=plan.plans_rest,
            planned_by=planned_by(run, planner),
            stickiness=plan.stickiness,
            stickiness_reason=plan.stickiness_reason,
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
        messages = messages_redacted(run, messages)

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
            place = (self.number, state.plan_calls)
            run.journal.post(plan_call_failed(*place, exc.attempt, exc.failure))
            raise exc.reason() from None
        self.last_output = attempt.text
        run.journal.note(plan_replied(self.number, state.plan_calls, attempt))
        return ConductorReply(attempt.text, attempt.finish_reason)

    def _show(self, delta: Delta) -> None:
        if self.run.task.is_watched:
            place = (self.number, None, self.run.state.plan_calls)
            progress = Progress(*place, delta.text, delta.reasoning)
            self.run.ports.progress.emit(progress)
