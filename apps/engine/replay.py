"""Reads a run's recorded events back into the state the engine goes on from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from apps.engine import events as ev
from apps.engine.errors import LASTING_FAULTS, CallFault, HistoryMismatch
from apps.engine.meter import Meter, StepCosts
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import (
    CONTENT_FILTER,
    Rejection,
    RoundOutcome,
    StepOutcome,
)
from apps.engine.text import strip_thinking

PLANNING = -1
"""Stands for the conductor's call where a step's index is expected."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended."""

    state: Literal["completed", "failed", "skipped"]
    text: str
    """The visible response, or the reason."""
    finish_reason: str = ""
    fault: str = ""
    tool_calls: str = ""
    """What the response wants called, as a JSON array; empty: nothing."""
    stop_sequence: str = ""
    """Which stop sequence ended the response; empty: none that is known."""
    worker: str = ""
    """Who answered. Empty: nobody did here."""
    listed_workers: tuple[str, ...] = ()
    """As of `StepCompleted`."""
    refusal: str = ""
    """Why there is no more of the response, if it was refused: the reason."""
    retry_at: float | None = None
    """When one of the workers that failed may be asked again, by the clock of this
    process's event loop. None: that is not known, or no longer."""

    @property
    def told(self) -> str:
        """Return what later steps read of it."""
        if self.state != "completed":
            return f"(no response: {self.text})"
        if not self.text and self.finish_reason == CONTENT_FILTER:
            return "(no response: it was refused)"
        return self.text


@dataclass(frozen=True, slots=True)
class Tried:
    """A worker that failed at a step, and why."""

    worker: str
    fault: CallFault


@dataclass(slots=True)
class Round:
    """One plan and what became of it."""

    plan: Plan
    results: dict[int, StepResult] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    """Calls made so far, by step."""
    failures: dict[int, list[Tried]] = field(default_factory=dict)
    """Failed calls, by step."""
    costs: StepCosts | None = None
    """What its steps likely cost, if money is short; not known of a resumed round."""

    @property
    def answer(self) -> StepResult | None:
        """Return the result of the last step if it completed and answers."""
        return None if self.plan.plans_rest else self._completed

    @property
    def planned_rest(self) -> StepResult | None:
        """Return the result of the last step if it completed and planned the rest."""
        return self._completed if self.plan.plans_rest else None

    @property
    def is_unanswered(self) -> bool:
        """Say whether another plan only takes the place of this one."""
        return self._completed is None

    @property
    def _completed(self) -> StepResult | None:
        last = self.results.get(len(self.plan.steps) - 1)
        return last if last is not None and last.state == "completed" else None

    @property
    def fault(self) -> str:
        """Return why the last step failed; empty if it did not."""
        last = self.results.get(len(self.plan.steps) - 1)
        return last.fault if last is not None else ""

    @property
    def has_refusal(self) -> bool:
        """Say whether a step failed because a provider refuses its content."""
        refused = CallFault.CONTENT_FILTERED
        return any(result.fault == refused for result in self.results.values())

    @property
    def has_failure(self) -> bool:
        """Say whether a step failed."""
        return any(r.state == "failed" for r in self.results.values())

    @property
    def has_lasting_failure(self) -> bool:
        """Say whether a step failed that would fail again: all its faults last."""
        return any(
            {result.fault, *(tried.fault for tried in self.failures.get(index, ()))}
            <= LASTING_FAULTS
            for index, result in self.results.items()
            if result.state == "failed"
        )

    def outcome(self) -> RoundOutcome:
        """Return the round as a planner may see it."""
        return RoundOutcome(
            self.plan,
            tuple(
                StepOutcome(step, result.state, result.text)
                for step, result in zip(
                    self.plan.steps, self._results_in_order(), strict=True
                )
            ),
            self.answer.text if self.answer else "",
        )

    def _results_in_order(self) -> list[StepResult]:
        missing = StepResult("skipped", "")
        return [self.results.get(i, missing) for i in range(len(self.plan.steps))]


@dataclass(slots=True)
class ReplayedRun:
    """Where a run stands."""

    rounds: list[Round] = field(default_factory=list)
    """Accepted plans; the last one may be unfinished."""
    is_kept: bool = False
    """The planner has said that the answer stands."""
    plan_calls: int = 0
    """Calls made for the plan that is being asked for."""
    plan_failures: int = 0
    """Rejected or failed answers among them."""
    rejections: list[Rejection] = field(default_factory=list)
    end: ev.RunEnd | None = None
    unknown_calls: int = 0
    approval: ev.ApprovalRequested | None = None
    """The plan that waits for an approval."""
    approval_requests: int = 0
    """Plans that people were asked about since the last one was accepted."""


def plan_on_record(event: ev.PlanAccepted | ev.ApprovalRequested) -> Plan:
    """Return the plan that an event holds."""
    parts = zip(event.subtasks, event.workers, event.access, strict=True)
    steps = tuple(PlannedStep(*part) for part in parts)
    return Plan(
        steps,
        event.reasoning,
        event.explanation,
        plans_rest=event.plans_rest,
        stickiness=event.stickiness,
        stickiness_reason=event.stickiness_reason,
    )


class _Reader:
    """Applies events one by one."""

    def __init__(self, meter: Meter) -> None:
        self.state = ReplayedRun()
        self._meter = meter
        self._open: set[tuple[int, int, int]] = set()
        # by round, step and attempt, for two workers may be asked at once
        self._for_vector: set[tuple[int, int]] = set()
        # by round and attempt: calls of planning that ask for no plan
        self._last_output = ""

    def finish(self) -> ReplayedRun:
        for _ in self._open:
            self._meter.recall_unknown()
        self.state.unknown_calls = len(self._open)
        return self.state

    def read(self, event: ev.Event) -> None:
        match event:
            case ev.RunCompleted() | ev.RunFailed() | ev.RunCancelled():
                self.state.end = event
            case ev.RunResumed():
                for _ in self._open:
                    self._meter.recall_unknown()
                self._open.clear()
            case ev.RunCreated() | ev.PolicyDecided():
                return  # a resumed run is checked again
            case ev.ApprovalRequested():
                self.state.approval = event
                self.state.approval_requests += 1
            case ev.ApprovalSettled():
                self.state.approval = None
            case (
                ev.StepStarted()
                | ev.StepAttemptFailed()
                | ev.StepCompleted()
                | ev.StepReused()
                | ev.StepFailed()
                | ev.StepSkipped()
            ):
                self._read_step(event)
            case _:
                self._read_plan(event)

    def _read_plan(self, event: ev.PlanEvent) -> None:
        match event:
            case ev.PlanRequested():
                self._open.add((event.round, PLANNING, event.attempt))
                self.state.plan_calls = event.attempt
                if event.embedder:
                    self._for_vector.add((event.round, event.attempt))
            case ev.PlanReplied():
                self._settle(PLANNING, event)
                if (event.round, event.attempt) not in self._for_vector:
                    self._last_output = event.output
            case ev.PlanCallFailed():
                self._settle(PLANNING, event)
                if (event.round, event.attempt) not in self._for_vector:
                    self.state.plan_failures += 1
            case ev.PlanRejectedEvent():
                self.state.plan_failures += 1
                rejection = Rejection(self._last_output, event.reason)
                self.state.rejections.append(rejection)
            case ev.PlanAccepted():
                self._accept(event)
            case ev.PlanKept():
                self.state.is_kept = True

    def _read_step(self, event: ev.StepEvent) -> None:
        now = self._round(event.round)
        match event:
            case ev.StepStarted():
                self._open.add((event.round, event.step, event.attempt))
                now.attempts[event.step] = event.attempt
            case ev.StepAttemptFailed():
                self._settle(event.step, event)
                if event.fault != CallFault.CANCELLED:
                    tried = Tried(event.worker, CallFault(event.fault))
                    now.failures.setdefault(event.step, []).append(tried)
            case ev.StepCompleted():
                self._settle(event.step, event)
                text = strip_thinking(event.text)
                now.results[event.step] = StepResult(
                    "completed",
                    text,
                    event.finish_reason,
                    tool_calls=event.tool_calls,
                    stop_sequence=event.stop_sequence,
                    worker=event.worker,
                    listed_workers=event.listed_workers,
                    refusal=event.refusal,
                )
                if now.plan.is_planning(event.step):
                    self._last_output = text
            case ev.StepReused():
                now.results[event.step] = StepResult("completed", event.text, "stop")
            case ev.StepFailed():
                now.results[event.step] = StepResult(
                    "failed", event.message, fault=event.fault
                )
            case ev.StepSkipped():
                now.results[event.step] = StepResult("skipped", event.reason)

    def _accept(self, event: ev.PlanAccepted) -> None:
        self.state.rounds.append(Round(plan_on_record(event)))
        self.state.plan_calls = self.state.plan_failures = 0
        self.state.approval_requests = 0
        self.state.rejections = []

    def _round(self, number: int) -> Round:
        if number != len(self.state.rounds) - 1:
            raise HistoryMismatch(
                f"an event names round {number}, {len(self.state.rounds)} were planned"
            )
        return self.state.rounds[number]

    def _settle(self, step: int, event: ev.CallOutcome) -> None:
        call = (event.round, step, event.attempt)
        if call not in self._open:
            raise HistoryMismatch(f"{event.action} without a start: {call!r}")
        self._open.discard(call)
        self._meter.recall(event.usage, event.cost_micros)


def replay(history: Iterable[ev.Event], meter: Meter) -> ReplayedRun:
    """Return the state after `history`, and count its calls on `meter`.

    Raises: HistoryMismatch if the events contradict each other.
    """
    reader = _Reader(meter)
    for event in history:
        reader.read(event)
    return reader.finish()
