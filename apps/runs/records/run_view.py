"""Follows a run's events and knows at any time where it stands and what it cost.

List rows and API answers take their sums here. The page of a run adds up the calls that
it shows by itself (`apps/playground/run_view_builder.py`). Pure: no ORM, no I/O.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from apps.engine import events as ev
from apps.engine.usage import Cost, Usage
from apps.runs.types import RunSummary, StepSummary

Outcome = ev.PlanReplied | ev.PlanCallFailed | ev.StepAttemptFailed | ev.StepCompleted
"""Events that end a call: they carry its usage and cost."""


@dataclass(slots=True)
class StepView:
    """One step so far."""

    round: int
    index: int
    worker: str
    subtask: str
    access: tuple[int, ...]
    state: str = "waiting"
    """waiting, running, completed, failed, skipped or cancelled."""
    attempts: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    latency_ms: int = 0

    @property
    def is_over(self) -> bool:
        """Say whether the step has ended."""
        return self.state in {"completed", "failed", "skipped"}


class RunView:
    """One run so far."""

    def __init__(self) -> None:
        self.steps: dict[tuple[int, int], StepView] = {}
        self.planner = ""
        self.rounds = 0
        self.usage = Usage()
        """Of all calls."""
        self.cost = Cost()
        self.orchestration_usage = Usage()
        """The conductor's part."""
        self.orchestration_cost = Cost()
        self.end: ev.RunCompleted | ev.RunFailed | ev.RunCancelled | None = None

    def add(self, event: ev.Event) -> StepView | None:
        """Take an event; return the step it is about, if it is about one."""
        match event:
            case ev.PlanAccepted():
                self._accept(event)
            case ev.PlanReplied() | ev.PlanCallFailed():
                cost = self._count(event)
                self.orchestration_usage += event.usage
                self.orchestration_cost += cost
            case ev.RunCompleted() | ev.RunFailed() | ev.RunCancelled():
                self.end = event
                self._close_open_steps()
            case (
                ev.StepStarted()
                | ev.StepAttemptFailed()
                | ev.StepCompleted()
                | ev.StepFailed()
                | ev.StepSkipped()
            ):
                return self._add_to_step(event)
            case _:
                return None
        return None

    @property
    def newest_plan(self) -> list[StepView]:
        """Return the steps of the newest plan."""
        return [s for s in self.steps.values() if s.round == self.rounds - 1]

    @property
    def answering_worker(self) -> str:
        """Return who wrote the answer that stands; empty if there is none."""
        finals: dict[int, StepView] = {}
        for step in self.steps.values():
            finals[step.round] = step
        for round_ in sorted(finals, reverse=True):
            if finals[round_].state == "completed":
                return finals[round_].worker
        return ""

    def summary(self, run_id: uuid.UUID) -> RunSummary:
        """Return the finished run. Raises: ValueError while it runs."""
        if self.end is None:
            raise ValueError(f"run {run_id} has not ended")
        steps = tuple(
            StepSummary(
                step.round,
                step.index,
                step.worker,
                step.subtask,
                step.access,
                step.state,
                step.attempts,
                step.usage,
                step.cost,
                step.latency_ms,
            )
            for step in self.steps.values()
        )
        return RunSummary(
            run_id,
            self.end,
            steps,
            self.planner,
            self.orchestration_usage,
            self.orchestration_cost,
            self.answering_worker,
            self.usage.is_estimated,
        )

    def _accept(self, event: ev.PlanAccepted) -> None:
        self.planner = event.planner
        self.rounds = event.round + 1
        parts = zip(event.workers, event.subtasks, event.access, strict=True)
        for index, (worker, subtask, access) in enumerate(parts):
            self.steps[event.round, index] = StepView(
                event.round, index, worker, subtask, access
            )

    def _add_to_step(
        self,
        event: ev.StepStarted
        | ev.StepAttemptFailed
        | ev.StepCompleted
        | ev.StepFailed
        | ev.StepSkipped,
    ) -> StepView:
        step = self.steps[event.round, event.step]
        match event:
            case ev.StepStarted():
                step.state, step.worker = "running", event.worker
                step.attempts = event.attempt
            case ev.StepAttemptFailed() | ev.StepCompleted():
                step.usage += event.usage
                step.cost += self._count(event)
                step.latency_ms += event.latency_ms
                if isinstance(event, ev.StepCompleted):
                    # Of two asked at once, this may be the first.
                    step.state, step.worker = "completed", event.worker
            case ev.StepFailed():
                step.state = "failed"
            case ev.StepSkipped():
                step.state = "skipped"
        return step

    def _count(self, event: Outcome) -> Cost:
        micros = event.cost_micros
        cost = Cost(0, has_unknown=True) if micros is None else Cost(micros)
        self.usage += event.usage
        self.cost += cost
        return cost

    def _close_open_steps(self) -> None:
        for step in self.steps.values():
            if not step.is_over:
                step.state = "cancelled"
