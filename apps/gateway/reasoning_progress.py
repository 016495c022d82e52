"""One short line per stage of a run, for clients that show a model's reasoning.

Says who does what and how long it took; never a word of a prompt or an answer beyond
the beginning of a subtask.
"""

from __future__ import annotations

from apps.engine.errors import CallFault
from apps.engine.events import (
    ApprovalRequested,
    ApprovalSettled,
    Event,
    PlanAccepted,
    StepAttemptFailed,
    StepCompleted,
    StepStarted,
)

MAX_SUBTASK = 60
"""Characters of a subtask in a line."""


class ProgressLines:
    """Turns the events of one run into lines. Knows the plans it has heard of."""

    def __init__(self) -> None:
        self._plans: dict[int, PlanAccepted] = {}

    def line(self, event: Event) -> str:
        """Return the line for `event`, with its line end; empty if it deserves none."""
        match event:
            case PlanAccepted():
                self._plans[event.round] = event
                text = _plan_line(event)
            case ApprovalRequested():
                text = f"Waiting for an approval of the plan: {event.reason}"
            case ApprovalSettled():
                text = f"Plan {event.outcome}"
            case StepStarted():
                again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
                text = f"{self._start(event)} → {event.worker}{again}"
            case StepCompleted():
                seconds = event.latency_ms / 1000
                text = f"{self._place(event)} {event.worker}: done in {seconds:.1f} s"
            case StepAttemptFailed(fault=CallFault.CANCELLED):
                text = f"{self._place(event)} {event.worker}: stopped"
            case StepAttemptFailed():
                why = event.fault.replace("_", " ")
                text = f"{self._place(event)} {event.worker}: failed, {why}"
            case _:
                return ""
        return text + "\n"

    def _place(self, event: StepStarted | StepCompleted | StepAttemptFailed) -> str:
        plan = self._plans.get(event.round)
        total = f"/{len(plan.workers)}" if plan else ""
        return f"[{event.step + 1}{total}]"

    def _start(self, event: StepStarted) -> str:
        plan = self._plans.get(event.round)
        if plan is None or event.step >= len(plan.subtasks):
            return self._place(event)
        return f"{self._place(event)} {shorten(plan.subtasks[event.step])}"


def _plan_line(plan: PlanAccepted) -> str:
    count = len(plan.workers)
    steps = "1 step" if count == 1 else f"{count} steps"
    which = "Plan" if plan.round == 0 else f"Plan of round {plan.round + 1}"
    return f"{which}: {steps} ({', '.join(plan.workers)})"


def shorten(text: str) -> str:
    """Return the beginning of a subtask, on one line."""
    line = " ".join(text[: MAX_SUBTASK * 4].split())
    return line if len(line) <= MAX_SUBTASK else line[: MAX_SUBTASK - 1].rstrip() + "…"
