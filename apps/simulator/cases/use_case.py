"""What a use case is made of, and how its conductor plans.

The conductor recognises kinds of tasks, as one that was taught a team's work would, and
has one plan for each kind. It gives a step to the worker whose description suits it
best: their skills are hidden from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.simulator.benchmark.forms import FORMS, Form
from apps.simulator.benchmark.tasks import recognise
from apps.simulator.benchmark.workers import BenchWorker, Shares
from apps.simulator.briefing import last_turn
from apps.simulator.conductor import (
    Access,
    PlanDraft,
    SimulatedStep,
    single_answer,
)
from apps.simulator.conductor_prompt import ConductorTask
from apps.simulator.suitability import Chooser, Need

ANSWER = "Answer the question. State the answer first, in bold."
CHECK = (
    "Check the earlier answer against the question, correct any mistake, and state the "
    "answer first, in bold."
)


@dataclass(frozen=True, slots=True)
class CaseStep:
    """One step of the conductor's plan for a kind of task."""

    need: Need
    """Decides which worker gets it; each step goes to another one."""
    subtask: str
    access: Access = ()


@dataclass(frozen=True, slots=True)
class CasePlan:
    """The conductor's plan for a kind of task."""

    reasoning: str
    steps: tuple[CaseStep, ...]


@dataclass(frozen=True, slots=True, eq=False)
class UseCase:
    """One use case."""

    name: str
    plans: Mapping[str, CasePlan]
    """By family; its keys are the families of the suite, in their order."""
    forms: tuple[Form, ...]
    workers: tuple[BenchWorker, ...]
    """In the order of the pool."""
    fallback: str
    """The worker that answers alone if a plan can't be used."""
    refused: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By family: the workers that the policy refuses for its tasks."""

    @property
    def families(self) -> tuple[str, ...]:
        """Return the families of the suite."""
        return tuple(self.plans)

    def shaped(self, task: ConductorTask, chooser: Chooser) -> PlanDraft:
        """Return the plan for a question; one step for what is none of the suite."""
        found = recognise(last_turn(task.question), self.forms)
        plan = self.plans[found.family] if found else None
        if plan is None or len(plan.steps) > task.max_steps:
            return single_answer(Need.STRONG, chooser)
        taken: list[int] = []
        for step in plan.steps:
            taken.append(chooser.best(step.need, excluded=tuple(taken)))
        steps = tuple(
            SimulatedStep(model, step.subtask, step.access)
            for model, step in zip(taken, plan.steps, strict=True)
        )
        return PlanDraft(plan.reasoning, steps)


def forms_of(*families: str) -> tuple[Form, ...]:
    """Return the benchmark's wordings of some families."""
    return tuple(form for form in FORMS if form.family in families)


@dataclass(frozen=True, slots=True)
class CaseWorkers:
    """Makes the workers of one use case: all of them know its families and wordings."""

    families: tuple[str, ...]
    forms: tuple[Form, ...]

    def make(
        self,
        name: str,
        description: str,
        *,
        solve: Sequence[float],
        repair: Sequence[float],
        guided: Shares | None = None,
        **others: Any,
    ) -> BenchWorker:
        """Return a worker; `solve` and `repair` are in the order of the families.

        `others`: further fields of `BenchWorker`. Raises: ValueError if a share is
        missing.
        """
        return BenchWorker(
            name=name,
            description=description,
            solve=self._shares(solve),
            repair=self._shares(repair),
            guided=guided or {},
            forms=self.forms,
            **others,
        )

    def _shares(self, values: Sequence[float]) -> Shares:
        return dict(zip(map(str, self.families), values, strict=True))
