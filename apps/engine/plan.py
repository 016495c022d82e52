"""The plan: which worker does which subtask and what it may read.

Owns every rule a plan must keep (`validate`) and the graph questions the scheduler
asks. Does no parsing: that is `apps.planners`.
Source: arXiv 2512.04388, section 3 (workflow representation).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from apps.engine.errors import PlanFault, PlanRejected

PlanPreview = Literal["accepted", "held", "refused"]
"""What would become of a plan; one that is held waits for people."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step: a subtask, its worker, and the earlier steps the worker may read."""

    subtask: str
    """What the worker is asked, in natural language."""
    worker: str
    """Name of a worker in the pool."""
    access: tuple[int, ...] = ()
    """Indices (0-based, ascending) of the earlier steps it may read."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A workflow of one or more steps; the last one answers."""

    steps: tuple[PlannedStep, ...]
    reasoning: str = ""
    """The conductor's own words before the plan; shown, never executed."""
    explanation: str = ""
    """JSON of a planner that can say what else it could have done, and why not."""
    made_by: str = ""
    """What the record names as its planner. Empty: the planner that returned it."""
    plans_rest: bool = False
    """True: the last step does not answer. Its worker plans the rest, as a new plan."""
    stickiness: str = ""
    """In a conversation: kept (as in the turn before) or changed. Empty: there was no
    turn before that is known."""
    stickiness_reason: str = ""
    """Why, in words without content of the conversation."""

    def gives_answer(self, index: int) -> bool:
        """Say whether a step's response is the answer of the plan."""
        return index == len(self.steps) - 1 and not self.plans_rest

    def is_planning(self, index: int) -> bool:
        """Say whether a step's worker is asked for the rest of the plan."""
        return index == len(self.steps) - 1 and self.plans_rest

    def needed(self) -> frozenset[int]:
        """Return the steps the answer can depend on: the last and its ancestors."""
        wanted = {len(self.steps) - 1}
        for index in range(len(self.steps) - 1, -1, -1):
            if index in wanted:
                wanted.update(self.steps[index].access)
        return frozenset(wanted)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the steps in hexadecimal, all reasons left out."""
        steps: list[object] = [
            [s.worker, list(s.access), s.subtask] for s in self.steps
        ]
        if self.plans_rest:  # who approves a plan approves that as well
            steps.append("plans_rest")
        text = json.dumps(steps, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def validate(
    plan: Plan,
    *,
    workers: Collection[str],
    max_steps: int,
    may_delegate: bool = False,
) -> None:
    """Check every rule of a plan.

    `may_delegate`: its last step may plan the rest.
    Raises: PlanRejected naming the first rule broken, counted from step 0.
    """
    if not plan.steps:
        raise PlanRejected(PlanFault.EMPTY_PLAN, "the plan has no steps")
    if len(plan.steps) > max_steps:
        raise PlanRejected(
            PlanFault.TOO_MANY_STEPS,
            f"the plan has {len(plan.steps)} steps, at most {max_steps} are allowed",
        )
    if plan.plans_rest and not may_delegate:
        raise PlanRejected(
            PlanFault.DELEGATION,
            "the plan leaves the rest to a worker, which is not allowed here",
        )
    for index, step in enumerate(plan.steps):
        _validate_step(index, step, workers)


def _validate_step(index: int, step: PlannedStep, workers: Collection[str]) -> None:
    if not step.subtask.strip():
        raise PlanRejected(PlanFault.EMPTY_SUBTASK, f"step {index} has no subtask")
    if step.worker not in workers:
        raise PlanRejected(
            PlanFault.UNKNOWN_WORKER,
            f"step {index} names worker {step.worker!r}, which is not in the pool",
        )
    for earlier in step.access:
        if earlier >= index:
            raise PlanRejected(
                PlanFault.FORWARD_REFERENCE,
                f"step {index} reads step {earlier}; only earlier steps can be read",
            )
    if (
        any(e < 0 for e in step.access)
        or tuple(sorted(set(step.access))) != step.access
    ):
        raise PlanRejected(
            PlanFault.BAD_ACCESS,
            f"step {index} has the access list {list(step.access)!r}; expected "
            "distinct earlier indices in ascending order",
        )
