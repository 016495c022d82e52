"""The read model of a run: its events, folded once into rounds, steps and calls.

List rows, API answers, pages and checks of rows are views of it. The same events always
read the same: live, after a reload, or years later. Pure: no ORM, no I/O.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson

from apps.engine import events as ev
from apps.engine.events import RunEnd
from apps.engine.usage import Cost, Usage
from apps.runs.errors import HistoryUnreadable
from apps.runs.missing_plan import TIER_PLANNERS, MissingPlan, missing_plan
from apps.runs.records.round_view import (
    ApprovalView,
    RoundView,
    StepView,
    total_cost,
)
from apps.runs.records.run_fold import RunFold
from apps.runs.types import RecordedEvent, RunError, RunSummary, WaitsFor

CANCELLED = "cancelled"
STATES: dict[type[RunEnd], str] = {
    ev.RunCompleted: "completed",
    ev.RunFailed: "failed",
    ev.RunCancelled: CANCELLED,
}


class RunView(RunFold):
    """One run so far, as lists, APIs and pages read it."""

    @property
    def state(self) -> str:
        """Return where the run stands.

        One of queued, planning, approval (people must approve its plan), running,
        completed, failed and cancelled.
        """
        if self.end is not None:
            return STATES[type(self.end)]
        if not self.rounds:
            return "queued"
        state = self.rounds[-1].state
        return state if state in ("planning", "approval") else "running"

    @property
    def approvals(self) -> list[ApprovalView]:
        """Return the plans that people had to approve, in order."""
        return [each for round_ in self.rounds for each in round_.approvals]

    @property
    def open_approval(self) -> ApprovalView | None:
        """Return the plan that waits for people; None if none does."""
        return self.rounds[-1].approvals[-1] if self.state == "approval" else None

    def waited_ms(self, until: datetime) -> int:
        """Return how long its plans had waited for people by then, in milliseconds."""
        return sum(each.waited_ms(until) for each in self.approvals)

    @property
    def waits_for(self) -> WaitsFor | None:
        """Return what the run waits for; None: it is at work, or has ended."""
        return "approval" if self.state == "approval" else None

    @property
    def is_over(self) -> bool:
        """Say whether the run has ended."""
        return self.end is not None

    @property
    def _step_states(self) -> list[str]:
        return [step.state for step in self._steps.values()]

    @property
    def steps_planned(self) -> int:
        """Return how many steps were to be run: all but skipped ones."""
        states = self._step_states
        return len(states) - states.count("skipped")

    @property
    def steps_done(self) -> int:
        """Return how many steps have an answer."""
        return self._step_states.count("completed")

    @property
    def newest_plan(self) -> list[StepView]:
        """Return the steps of the newest plan."""
        for round_ in reversed(self.rounds):
            if round_.steps:
                return round_.steps
        return []

    @property
    def plan_drawing(self) -> list[dict[str, Any]]:
        """Return the newest plan as small drawings take it."""
        return [
            {"worker": step.worker, "access": step.access, "state": step.state}
            for step in self.newest_plan
        ]

    @property
    def final_step(self) -> StepView | None:
        """Return the step whose text is, or will be, the answer.

        None: there is none yet, or the last step plans the rest.
        """
        last = self.newest_plan[-1] if self.newest_plan else None
        return last if last is not None and last.is_final else None

    @property
    def unplanned(self) -> RoundView | None:
        """Return the round whose fallback plan is in force: no usable one was made."""
        planned = [round_ for round_ in self.rounds if round_.steps]
        return planned[-1] if planned and planned[-1].is_fallback else None

    @property
    def missing_plan(self) -> MissingPlan | None:
        """Return why the tier's plan is missing; None: it is not, or none is needed."""
        given = orjson.loads(self.params or "{}")
        is_by_choice = not given.keys().isdisjoint(("planner", "served"))
        return missing_plan(self.tier, self.planner, is_by_choice=is_by_choice)

    @property
    def is_planned(self) -> bool:
        """Say whether the answer came of a plan that the tier made."""
        return self.state == "completed" and self.planner in TIER_PLANNERS

    @property
    def total_usage(self) -> Usage:
        """Return what the run used, as its end says once there is one."""
        return self.usage if self.end is None else self.end.usage

    @property
    def total_cost(self) -> Cost:
        """Return what the run cost, as its end says once there is one."""
        if self.end is None:
            return self.cost
        return Cost(self.end.cost_micros, self.end.has_unknown_cost)

    @property
    def has_unknown_cost(self) -> bool:
        """Say whether a part of the cost is unknown, by the calls or by the end."""
        end = self.end
        return self.cost.has_unknown or (end is not None and end.has_unknown_cost)

    @property
    def planning_cost(self) -> Cost:
        """Return the conductor's part; unknown if the end of a call is not known."""
        return total_cost(self.planning_calls)

    @property
    def has_spent(self) -> bool:
        """Say whether any call has ended, so that there are figures to show."""
        calls = (*self.planning_calls, *self.step_calls)
        return self.is_over or any(call.state != "running" for call in calls)

    @property
    def latency_ms(self) -> int | None:
        """Return how long the run took; None until it has ended."""
        return None if self.end is None else self.end.latency_ms

    @property
    def overhead_ms(self) -> int | None:
        """Return the time without a call in flight; None until the run has ended."""
        return None if self.end is None else self.end.overhead_ms

    @property
    def answer(self) -> str | None:
        """Return the answer, or the best so far of a failed run; else None.

        Of a run that was refused without a word of it: the reason.
        """
        match self.end:
            case ev.RunCompleted():
                return self.end.said
            case ev.RunFailed():
                return self.end.answer
            case _:
                return None

    @property
    def refusal(self) -> str:
        """Return why there is no more of the answer; empty: it was not refused."""
        return self.end.refusal if isinstance(self.end, ev.RunCompleted) else ""

    @property
    def finish_reason(self) -> str:
        """Return why the answer ended; empty if there is none."""
        return self.end.finish_reason if isinstance(self.end, ev.RunCompleted) else ""

    @property
    def tool_calls(self) -> str:
        """Return the tool calls of the answer, as a JSON array; empty: none."""
        return self.end.tool_calls if isinstance(self.end, ev.RunCompleted) else ""

    @property
    def error(self) -> RunError | None:
        """Return why the run failed or was cancelled; None if it did not."""
        match self.end:
            case ev.RunFailed():
                return RunError(self.end.code, self.end.message)
            case ev.RunCancelled():
                return RunError(CANCELLED, self.end.reason)
            case _:
                return None

    @property
    def answering_round(self) -> RoundView | None:
        """Return the round whose last step wrote the answer that stands; None: none."""
        planned = (round_ for round_ in reversed(self.rounds) if round_.steps)
        return next((each for each in planned if each.is_answered), None)

    @property
    def answering_worker(self) -> str:
        """Return the worker that wrote the answer that stands; empty if none did."""
        found = self.answering_round
        return found.steps[-1].worker if found else ""

    def summary(self, run_id: uuid.UUID) -> RunSummary:
        """Return the finished run. Raises: ValueError while it runs."""
        if self.end is None:
            raise ValueError(f"run {run_id} has not ended")
        return RunSummary(
            run_id,
            self.end,
            tuple(step.summary() for step in self.steps),
            self.planner,
            self.orchestration_usage,
            self.orchestration_cost,
            self.answering_worker,
            self.usage.is_estimated,
        )


def fold(recorded: Iterable[RecordedEvent]) -> RunView:
    """Return the read model of the recorded events of one run, in ledger order.

    Raises: HistoryUnreadable if an event names one that is missing.
    """
    view = RunView()
    for entry in recorded:
        try:
            view.add(entry.event, entry.seq, entry.recorded_at)
        except KeyError as exc:
            raise HistoryUnreadable(
                f"entry {entry.seq} of this run follows one that is missing in the "
                "ledger; an operator can find out more with audit_verify"
            ) from exc
    return view
