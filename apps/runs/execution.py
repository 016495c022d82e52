"""One run executing in this process: the engine, its ports, and who listens."""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields

import orjson

from apps.audit.errors import LedgerUnavailable
from apps.audit.types import Actor
from apps.core.errors import ConductorError, Overloaded
from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.limits import Limits
from apps.engine.ports import Gate, Ports, Progress, Task, WorkerCaller
from apps.runs.adapters import LedgerRecorder
from apps.runs.projection import RunProjection
from apps.runs.recovery import Fault, fault_at_work
from apps.runs.resolution import Resolved
from apps.runs.types import Listener, RunOrder, RunSummary, Signal

logger = logging.getLogger(__name__)
_jitter = random.Random()  # nosec B311
"""Spreads retries; guards nothing."""

Place = tuple[int, int | None, int]
"""Round, step (None: the conductor) and attempt."""


class RunInterrupted(ConductorError):
    """The process could not finish the run; it stays on record as running."""

    code = "interrupted"
    http_status = 503


@dataclass(frozen=True, slots=True)
class Equipment:
    """What runs of one process share."""

    caller: WorkerCaller
    gate: Gate


class Execution:
    """A live run. Everything here happens on the process's event loop.

    Satisfies `runs.types.LiveRun` for callers and `engine.ports.ProgressSink` for the
    engine.
    """

    def __init__(
        self,
        run_id: uuid.UUID,
        order: RunOrder,
        resolved: Resolved,
        projection: RunProjection,
    ) -> None:
        self.id = run_id
        self.order = order
        self._resolved = resolved
        self._projection = projection
        self._recorder = LedgerRecorder(run_id, order, projection)
        self._listeners: list[Listener] = []
        self._stop_reason: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._is_on_record = False
        self._has_end_on_record = False
        self.drafts: dict[Place, list[str]] = {}
        """Text of the calls in flight, for those who come late."""

    # --- for those who started it ----------------------------------------------------

    def listen(self, listener: Listener) -> None:
        """Call `listener` for each signal from now on."""
        self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        """Stop calling `listener`."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def cancel(self, reason: str, *, by: Actor | None = None) -> None:
        """Stop the run; who asks second changes nothing."""
        if self._task is None or self._task.done() or self._stop_reason is not None:
            return
        self._stop_reason = reason
        self._recorder.stopped_by = by
        self._task.cancel()

    def abandon(self) -> None:
        """Stop without ending the run: another process will resume it."""
        if self._task is not None:
            self._task.cancel()

    async def finished(self) -> RunSummary:
        """Return when the last event is durable.

        Raises: RunInterrupted if this process could not finish it; Overloaded if it
        never got on record.
        """
        await self._ended.wait()
        if not self._is_on_record:
            raise Overloaded("the ledger does not answer", retry_after_s=5)
        if not self._has_end_on_record:
            raise RunInterrupted(
                f"run {self.id} was interrupted; it stays on record", retry_after_s=5
            )
        return self._projection.tally.summary(self.id)

    # --- for the executor ------------------------------------------------------------

    def start(
        self, equipment: Equipment, history: Sequence[ev.Event] = ()
    ) -> asyncio.Task[None]:
        """Begin on the running loop and return the task."""
        self._task = asyncio.create_task(self._run(equipment, history))
        self._task.add_done_callback(lambda _: self._ended.set())
        return self._task

    async def _run(self, equipment: Equipment, history: Sequence[ev.Event]) -> None:
        order, resolved = self.order, self._resolved
        ports = Ports(
            resolved.planner,
            equipment.caller,
            self._recorder,
            equipment.gate,
            self,
            lambda: self._stop_reason,
            _jitter,
        )
        is_streamed = order.is_streamed and not history
        task = Task(order.prompt, order.params, is_streamed, order.is_watched)
        opening = None if history else opening_event(order, resolved)
        self._is_on_record = bool(history)
        try:
            await conduct(
                task,
                resolved.pool,
                ports,
                resolved.limits,
                history=history,
                opening=opening,
            )
        except LedgerUnavailable:
            raise  # the run can go on once the ledger is back
        except Exception as exc:  # the boundary: no run of ours may hang for ever
            if not self._is_on_record:
                raise
            logger.exception("run %s broke", self.id)
            await self._break_off(fault_at_work(exc))

    async def _break_off(self, fault: Fault) -> None:
        tally = self._projection.tally
        sums = (tally.usage, tally.cost.micros, True, 0, 0)
        end = ev.RunFailed(fault.code, fault.message, "", *sums)
        await self._recorder.record(end)
        self.event(end)

    # --- for the engine --------------------------------------------------------------

    def emit(self, progress: Progress) -> None:
        """Pass a piece of text on; keep it while its call is in flight."""
        if not progress.is_answer:
            place = (progress.round, progress.step, progress.attempt)
            self.drafts.setdefault(place, []).append(progress.text)
        self._tell(progress)

    def event(self, event: ev.Event) -> None:
        """Pass a durable event on."""
        match event:
            case ev.RunCreated():
                self._is_on_record = True
            case ev.RunCompleted() | ev.RunFailed() | ev.RunCancelled():
                self._has_end_on_record = True
            case ev.StepCompleted() | ev.StepAttemptFailed():
                self.drafts.pop((event.round, event.step, event.attempt), None)
            case ev.PlanReplied() | ev.PlanCallFailed():
                self.drafts.pop((event.round, None, event.attempt), None)
            case _:
                pass
        self._tell(event)

    def _tell(self, signal: Signal) -> None:
        for listener in tuple(self._listeners):
            listener(signal)


def opening_event(order: RunOrder, resolved: Resolved) -> ev.RunCreated:
    """Return the first event of a run."""
    given = {
        field.name: value
        for field in fields(order.params)
        if (value := getattr(order.params, field.name)) not in (None, ())
    }
    return ev.RunCreated(
        prompt=order.prompt,
        tier=resolved.tier,
        pool=resolved.pool_name,
        pool_version=resolved.pool_version,
        planner=resolved.planner.name,
        is_streamed=order.is_streamed,
        limits=_limits_on_record(resolved.limits),
        params=orjson.dumps(given).decode() if given else "",
    )


def _limits_on_record(limits: Limits) -> dict[str, int | None]:
    return {
        "max_steps": limits.max_steps,
        "max_rounds": limits.max_rounds,
        "max_replans": limits.max_replans,
        "max_plan_attempts": limits.max_plan_attempts,
        "max_parallel": limits.max_parallel,
        "max_calls": limits.max_calls,
        "max_attempts": limits.max_attempts,
        "max_tokens": limits.max_tokens,
        "max_cost_micros": limits.max_cost_micros,
        "wall_time_ms": round(limits.wall_time_s * 1000),
    }
