"""A run as its entries tell it: what was asked, what came of it, and every step."""

from __future__ import annotations

from dataclasses import dataclass

from apps.engine.events import RunCompleted, RunCreated, RunFailed
from apps.runs.models import Run
from apps.runs.records.run_view import RunView, StepView
from apps.runs.selectors import run_events


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A run and what its row does not hold."""

    run: Run
    prompt: str
    """Empty if it has been erased."""
    answer: str | None
    """None while it runs, and if it was stopped."""
    steps: tuple[StepView, ...]


def tell(run: Run) -> RunDetail:
    """Read a run's entries once and return what they tell."""
    prompt, tally = "", RunView()
    for recorded in run_events(run):
        if isinstance(recorded.event, RunCreated):
            prompt = recorded.event.prompt
        tally.add(recorded.event)
    end = tally.end
    answer = end.answer if isinstance(end, RunCompleted | RunFailed) else None
    return RunDetail(run, prompt, answer, tuple(tally.steps.values()))
