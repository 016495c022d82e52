"""One run executing in this process: the engine, its ports, and who listens."""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from apps.audit.errors import LedgerUnavailable, StaleWrite
from apps.audit.types import Actor
from apps.budgets.errors import BudgetExceeded
from apps.core.errors import ConductorError, Overloaded
from apps.core.logs import bind
from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.gate import Gate
from apps.engine.limits import Limits
from apps.engine.ports import ModelClient, Ports, Progress, Task
from apps.planners.worker_planning import WorkerPlanning
from apps.runs.coordination.fail_run import Fault, fault_at_work
from apps.runs.coordination.leases import Ownership
from apps.runs.errors import IdempotencyKeyLost
from apps.runs.execution.async_db import key_stands_for, still_owned
from apps.runs.execution.cost_cap import BudgetGate, CostCap
from apps.runs.execution.prefill_refusals import PrefillNotes, PrefillWatch
from apps.runs.execution.recorder import LedgerRecorder
from apps.runs.execution.run_funds import RunFunds
from apps.runs.planning.likely_costs import sole_worker
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.planning.restrictions import restrict_limits
from apps.runs.preset_use import preset_facts
from apps.runs.records.projection import RunProjection
from apps.runs.records.run_params import delivery_of, params_on_record
from apps.runs.telemetry import metrics
from apps.runs.types import (
    CallKey,
    Listener,
    RunOrder,
    RunRestrictions,
    RunSummary,
    Signal,
)

logger = logging.getLogger(__name__)
_jitter = random.Random()  # nosec B311
"""Spreads retries; guards nothing."""

MAX_TRIES = 5
"""How often a run tries to begin while others take what it was about to."""
FREED = (
    "what was set aside for this run was freed while no process executed it, and the "
    "budget has not enough left"
)
KEY_LOST = (
    "this took so long to begin that another request has its Idempotency-Key by now; "
    "ask again"
)
CONTENDED = "other runs take what is left of the budget; try again"


class OwnerLost(Exception):
    """Another process has taken the run; this one has no say in it any more."""


class RunInterrupted(ConductorError):
    """The process could not finish the run; it stays on record as running."""

    code = "interrupted"
    http_status = 503


@dataclass(frozen=True, slots=True)
class ProcessServices:
    """What a run gets of its process."""

    client: ModelClient
    gate: Gate
    budget_gate: BudgetGate
    prefills: PrefillNotes


class RunExecution:
    """A live run. Everything here happens on the process's event loop.

    Implements `runs.types.LiveRun` and the engine's `engine.ports.ProgressSink`.
    """

    def __init__(
        self,
        run_id: uuid.UUID,
        order: RunOrder,
        resolved: ResolvedModel,
        ownership: Ownership,
        cost_cap: CostCap | None = None,
        history: Sequence[ev.Event] = (),
    ) -> None:
        self.id = run_id
        self.order = order
        self._ownership = ownership
        self._created_at = datetime.now(UTC)
        self._history = history
        self._uncapped = resolved
        self._take(cost_cap)
        self._refusal: ConductorError | None = None
        self._listeners: list[Listener] = []
        self._prefill_watch = PrefillWatch()
        self._prefill_notes: PrefillNotes | None = None
        self._stop_reason: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._is_on_record = False
        self._is_opened = False
        """Something has been recorded by this execution."""
        self._has_end_on_record = False
        self.is_waiting = False
        """People have to approve its plan; it uses nothing of this process."""
        self.on_waiting: Callable[[bool], None] | None = None
        """Called when `is_waiting` changes."""
        self.drafts: dict[CallKey, list[str]] = {}
        """Text of the calls in flight, for those who come late."""

    def _take(self, cost_cap: CostCap | None) -> None:
        """Begin a record under this allowance; nothing of a former one is kept."""
        resolved = self._uncapped
        if cost_cap is not None:
            cap = RunRestrictions(max_cost_micros=cost_cap.max_cost_micros)
            limits = restrict_limits(resolved.limits, cap)
            limits = replace(limits, max_cost_reason=cost_cap.reason)
            resolved = replace(resolved, limits=limits)
        self._resolved = resolved
        self._cost_cap = cost_cap
        self._hold = None if cost_cap is None else cost_cap.hold
        self._projection = RunProjection(
            self.id, self.order, self._created_at, self._ownership
        )
        if self._history:
            self._projection.replay(self._history)
        self._recorder = LedgerRecorder(
            self.id, self.order, self._projection, self._hold
        )

    # --- for those who started it ----------------------------------------------------

    @property
    def ignored(self) -> str:
        """Return the names of the request's fields that have no effect."""
        return self.order.ignored

    def listen(self, listener: Listener) -> None:
        """Call `listener` for each signal from now on."""
        self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        """Stop calling `listener`."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def cancel(
        self,
        reason: str,
        *,
        by: Actor | None = None,
        refusal: ConductorError | None = None,
    ) -> None:
        """Cancel the run. Idempotent.

        `refusal`: what `finished` raises if the run never got on record.
        """
        if self._task is None or self._task.done() or self._stop_reason is not None:
            return
        self._stop_reason, self._refusal = reason, refusal
        self._recorder.stopped_by = by
        self._task.cancel()

    def abandon(self) -> None:
        """Stop without ending the run: another process will resume it."""
        if self._task is not None:
            self._task.cancel()

    async def finished(self) -> RunSummary:
        """Return when the last event is durable.

        Raises: RunInterrupted if this process could not finish it; BudgetExceeded,
        IdempotencyKeyLost, RunsSuspended or Overloaded if it never got on record.
        """
        await self._ended.wait()
        if not self._is_on_record:
            raise self._refusal or Overloaded(
                "the ledger does not answer", retry_after_s=5
            )
        if not self._has_end_on_record:
            raise RunInterrupted(
                f"run {self.id} was interrupted; it stays on record", retry_after_s=5
            )
        return self._projection.view.summary(self.id)

    # --- for the executor ------------------------------------------------------------

    @property
    def holds_money(self) -> bool:
        """Say whether something is set aside for this run."""
        return self._hold is not None

    @property
    def used_tokens(self) -> int:
        """Return the tokens of all calls that have ended."""
        return self._projection.view.usage.total_tokens

    def start(self, services: ProcessServices) -> asyncio.Task[None]:
        """Begin on the running loop and return the task."""
        self._wait(self._projection.view.open_approval is not None)
        self._task = asyncio.create_task(self._run(services))
        self._task.add_done_callback(lambda _: self._ended.set())
        return self._task

    async def _run(self, services: ProcessServices) -> None:
        self._is_on_record = bool(self._history)
        self._prefill_notes = services.prefills
        bind(run_id=self.id, team_id=self.order.team_id)
        try:
            await self._conduct_within_budget(services)
        except LedgerUnavailable:
            raise  # the run can go on once the ledger is back
        except OwnerLost:
            logger.warning("run %s is in the hands of another process", self.id)
        except (BudgetExceeded, IdempotencyKeyLost) as exc:
            if self._is_on_record:
                await self._break_off(Fault(exc.code, exc.message))
            else:
                self._refusal = exc
        except Exception as exc:  # the boundary: no run of ours may hang for ever
            if not self._is_on_record:
                raise
            logger.exception("run %s broke", self.id)
            await self._break_off(fault_at_work(exc))

    async def _conduct_within_budget(self, services: ProcessServices) -> None:
        """Conduct; begin anew, with less, if others were quicker to take what was left.

        Raises: BudgetExceeded if nothing is left; IdempotencyKeyLost; what `conduct`
        raises.
        """
        for _ in range(MAX_TRIES):
            try:
                await self._conduct(services)
                return
            except StaleWrite:
                await self._require_ownership()
                await self._require_key()
                if self._hold is None or self._is_opened:
                    raise
                if self._history:
                    raise BudgetExceeded(FREED) from None
            if (task := asyncio.current_task()) and task.cancelling():
                raise asyncio.CancelledError
            budget_gate = services.budget_gate
            self._take(await budget_gate.allow_anew(self.order, self._uncapped))
        raise BudgetExceeded(CONTENDED, retry_after_s=1)

    async def _require_ownership(self) -> None:
        """Raise OwnerLost if the run is on record and in other hands."""
        if self._is_on_record and not await still_owned(self.id, self._ownership):
            raise OwnerLost

    async def _require_key(self) -> None:
        """Raise IdempotencyKeyLost if another request has taken the run's key over."""
        order = self.order
        if self._is_on_record or not order.idempotency_key:
            return
        if not await key_stands_for(order.team_id, order.idempotency_key, self.id):
            raise IdempotencyKeyLost(KEY_LOST, retry_after_s=1)

    async def put_on_record(self, budget_gate: BudgetGate) -> None:
        """Record the run without executing it, for the process that claims it.

        Raises: BudgetExceeded, IdempotencyKeyLost, LedgerUnavailable.
        """
        for _ in range(MAX_TRIES):
            try:
                await self._recorder.record(opening_event(self.order, self._resolved))
                metrics.QUEUED.add()
                return
            except StaleWrite:
                await self._require_key()
                self._take(await budget_gate.allow_anew(self.order, self._uncapped))
        raise BudgetExceeded(CONTENDED, retry_after_s=1)

    async def _conduct(self, services: ProcessServices) -> None:
        order, resolved, history = self.order, self._resolved, self._history
        ports = Ports(
            resolved.planner,
            services.client,
            self._recorder,
            services.gate,
            self,
            lambda: self._stop_reason,
            _jitter,
            WorkerPlanning(),
            self._funds(services.budget_gate),
        )
        await conduct(
            self._task_of_engine(),
            resolved.pool,
            ports,
            resolved.limits,
            history=history,
            opening=None if history else opening_event(order, resolved),
        )

    def _funds(self, gate: BudgetGate) -> RunFunds | None:
        """Return what checks the cost of plans; None: there is nothing to check.

        Where no plan is made, the order's own estimate was the plan's already.
        """
        cap, resolved = self._cost_cap, self._resolved
        if cap is None or sole_worker(resolved) is not None:
            return None
        return RunFunds(self.id, self.order, resolved.pool, cap, gate)

    def _task_of_engine(self) -> Task:
        order = self.order
        is_live = delivery_of(order, self._resolved) == "live"
        return Task(
            order.prompt,
            order.params,
            # Whoever was listening to a run that is resumed has gone.
            is_streamed=order.is_streamed and is_live and not self._history,
            is_watched=order.is_watched,
            messages=order.messages,
            reused=order.reused,
        )

    async def _break_off(self, fault: Fault) -> None:
        view = self._projection.view
        sums = (view.usage, view.cost.micros, True, 0, 0)
        end = ev.RunFailed(fault.code, fault.message, "", *sums)
        await self._recorder.record(end)
        self.event(end)

    # --- for the engine --------------------------------------------------------------

    def emit(self, progress: Progress) -> None:
        """Pass a piece of text on; keep it while its call is in flight."""
        if progress.text:
            place = (progress.round, progress.step, progress.attempt)
            if (draft := self.drafts.get(place)) is None:
                draft = self.drafts[place] = []
            draft.append(progress.text)
        self._tell(progress)

    def event(self, event: ev.Event) -> None:
        """Pass a durable event on."""
        self._is_opened = True
        match event:
            case ev.RunCreated():
                self._is_on_record = True
            case ev.RunCompleted() | ev.RunFailed() | ev.RunCancelled():
                self._has_end_on_record = True
            case ev.ApprovalRequested() | ev.ApprovalSettled():
                self._wait(isinstance(event, ev.ApprovalRequested))
            case ev.StepCompleted() | ev.StepAttemptFailed():
                self.drafts.pop((event.round, event.step, event.attempt), None)
            case ev.PlanReplied() | ev.PlanCallFailed():
                self.drafts.pop((event.round, None, event.attempt), None)
            case _:
                pass
        self._learn(event)
        self._tell(event)

    def _wait(self, is_waiting: bool) -> None:
        if self.is_waiting != is_waiting:
            self.is_waiting = is_waiting
            if self.on_waiting is not None:
                self.on_waiting(is_waiting)

    def _learn(self, event: ev.Event) -> None:
        name = self._prefill_watch.hear(event)
        if name is not None and self._prefill_notes is not None:
            team_id, endpoints = self.order.team_id, self._resolved.endpoints
            self._prefill_notes.begin(team_id, self.id, name, endpoints)

    def _tell(self, signal: Signal) -> None:
        for listener in tuple(self._listeners):
            listener(signal)


def opening_event(order: RunOrder, resolved: ResolvedModel) -> ev.RunCreated:
    """Return the first event of a run."""
    return ev.RunCreated(
        prompt=order.prompt,
        tier=resolved.tier,
        pool=resolved.pool_name,
        pool_version=resolved.pool_version,
        planner=resolved.planner.name,
        is_streamed=order.is_streamed,
        limits=_limits_on_record(resolved.limits),
        params=params_on_record(order, delivery_of(order, resolved)),
        redacted=None if order.redaction is None else dict(order.redaction.findings),
        redacted_class="" if order.redaction is None else order.redaction.data_class,
        ab_test="" if order.arm is None else str(order.arm.test_id),
        ab_arm="" if order.arm is None else order.arm.letter,
        family=order.family,
        **preset_facts(order.preset),
    )


def _limits_on_record(limits: Limits) -> dict[str, int | None]:
    return {
        "max_steps": limits.max_steps,
        "max_rounds": limits.max_rounds,
        **_delegations(limits),
        "max_replans": limits.max_replans,
        "max_plan_attempts": limits.max_plan_attempts,
        "max_parallel": limits.max_parallel,
        "max_calls": limits.max_calls,
        "max_attempts": limits.max_attempts,
        "max_tokens": limits.max_tokens,
        "max_cost_micros": limits.max_cost_micros,
        "wall_time_ms": round(limits.wall_time_s * 1000),
        "step_time_ms": round(limits.step_time_s * 1000),
    }


def _delegations(limits: Limits) -> dict[str, int | None]:
    """Return the limit of delegations where there may be one, for few runs have it."""
    most = limits.max_delegations
    return {"max_delegations": most} if most else {}
