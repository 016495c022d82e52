"""Plans that leave the rest to a worker: what it is asked, and the plan that it makes.

Only a step that an accepted plan marks is asked for a plan, and only its answer is read
as one. That plan passes every check of a conductor's plan before it is in force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from apps.engine.errors import HistoryMismatch, PlanRejected
from apps.engine.plan import Plan, validate
from apps.engine.ports import Messages, Pool, PoolWorker, Task
from apps.engine.replay import Round
from apps.engine.run import RunContext

DELEGATED = "delegated"
"""The planner of a plan that a worker made."""
CUT_OFF = "it was cut off at the limit of tokens"


@dataclass(frozen=True, slots=True)
class RestRequest:
    """Everything a worker may know that is asked to plan the rest."""

    task: Task
    pool: Pool
    """Without the workers that the policies took out."""
    max_steps: int
    """Of the plan that it makes."""
    subtask: str
    """What the planner asked it."""
    read: tuple[tuple[str, str], ...] = ()
    """Subtask and response of each earlier step that it may read."""


class RestPlanner(Protocol):
    """Asks a worker for the rest of a plan, and reads its answer as one."""

    def messages(self, request: RestRequest, worker: PoolWorker) -> Messages:
        """Return what `worker` is sent, cut to its context."""
        ...

    def read(self, text: str, workers: Sequence[str]) -> Plan:
        """Return the plan in an answer; `workers` by number. Raises: PlanRejected."""
        ...


@dataclass(frozen=True, slots=True)
class Rest:
    """The rest of a plan, which a worker is to make."""

    planner: RestPlanner
    request: RestRequest

    def messages(self, worker: PoolWorker) -> Messages:
        """Return what `worker` is asked."""
        return self.planner.messages(self.request, worker)

    @property
    def listed_workers(self) -> tuple[str, ...]:
        """Return the workers that the prompt lists, in the order of their numbers."""
        return self.request.pool.names

    def plan(self, text: str, listed: Sequence[str]) -> Plan:
        """Return the plan in an answer, within its limits. Raises: PlanRejected.

        `listed` are the workers that its prompt listed, whoever has gone since.
        """
        plan = self.planner.read(text, listed)
        validate(plan, workers=listed, max_steps=self.request.max_steps)
        return plan

    def problem(self, text: str, finish_reason: str) -> str | None:
        """Return why an answer holds no plan; None: it holds one."""
        if finish_reason == "length":
            return CUT_OFF
        try:
            self.plan(text, self.listed_workers)
        except PlanRejected as exc:
            return exc.message
        return None


def rest_of(run: RunContext, round_: Round) -> Rest:
    """Return the rest that the last step of a round plans.

    The steps of both plans together are as many as one plan may have, and the step that
    plans is none of them. Raises: HistoryMismatch where no worker can be asked.
    """
    planner, plan = run.ports.rest_planner, round_.plan
    if planner is None:
        raise HistoryMismatch("a plan leaves the rest to a worker, and nobody asks it")
    last = plan.steps[-1]
    read = tuple((plan.steps[i].subtask, round_.results[i].told) for i in last.access)
    most = max(1, run.limits.max_steps - len(plan.steps) + 1)
    return Rest(planner, RestRequest(run.task, run.pool, most, last.subtask, read))


def planned_by(run: RunContext, planner: str) -> str:
    """Return the worker that made the next plan; empty: no worker did."""
    rounds = run.state.rounds
    answer = rounds[-1].planned_rest if rounds else None
    return answer.worker if answer is not None and planner == DELEGATED else ""
