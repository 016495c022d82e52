"""The prompts with which a conductor learns to plan once more.

Half of them ask for a first plan, whose reward is discounted, since another round would
follow. The others are those of a second round: they show a plan that really ran while
the conductor learned from its own plans, with its answer, to be kept or done better.

The answer is read from the record of its run when the prompt is made. If it has been
erased, there is no such prompt.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from apps.core.errors import NotFound
from apps.engine.ports import PlanRequest, RoundOutcome, Task
from apps.evaluation.models import StoredTask
from apps.evaluation.suites.storage import task_read
from apps.planners.light.planner import LightPlanner
from apps.pools.types import PoolSnapshot
from apps.runs.selectors import access_run, round_outcomes
from apps.training.conductor.examples import brief_prompt, numbered
from apps.training.conductor.models import (
    ConductorRollout,
    ConductorTraining,
    RolloutState,
)
from apps.training.conductor.prompts import PromptPlace, tier_pool
from apps.training.conductor.settings import ConductorTrainingPlan
from apps.training.conductor.training_folder import RolloutTask

SECOND = "second"


class RoundPrompt(NamedTuple):
    """One prompt, and what it is about."""

    task: RolloutTask
    place: PromptPlace


class RoundPrompts:
    """Makes the prompts of one training that has learned from its own plans."""

    def __init__(
        self,
        training: ConductorTraining,
        planner: LightPlanner,
        snapshot: PoolSnapshot,
        first: Sequence[RoundPrompt],
    ) -> None:
        """`first`: the prompts that it learned from its own plans with."""
        self._training, self._planner, self._first = training, planner, first
        self._plan = ConductorTrainingPlan.model_validate(training.settings)
        self._pool, self._max_steps = tier_pool(snapshot, self._plan.tier)
        self._chance = random.Random(f"{self._plan.seed} rounds")  # nosec B311

    def prompts(self) -> Iterator[RoundPrompt]:
        """Yield the prompts in turn: one of a first plan, one of a second round.

        Reads from the ledger. The same for the same seed, unless a run was erased.
        """
        order = self._chance.sample(self._first, len(self._first))
        ran, count = self._ran(), 0
        for place, each in enumerate(order):
            if 2 * count >= self._plan.recursion_prompts - 1:
                return
            again = self._second(each, ran[each.place.task_id])
            if again is None:
                continue
            # Of another task where there is one: then a batch has more of them.
            other = order[place - len(order) // 2]
            first = replace(other.place, has_next=True)
            yield RoundPrompt(
                replace(other.task, task=f"{other.task.task}-first-{count}"), first
            )
            yield again
            count += 1

    def _ran(self) -> Mapping[int, list[ConductorRollout]]:
        """Return the graded plans of each task."""
        rows = ConductorRollout.objects.for_team(self._training.team_id).filter(
            training=self._training, state=RolloutState.ENDED, grade__isnull=False
        )
        found: dict[int, list[ConductorRollout]] = defaultdict(list)
        for row in rows.order_by("pk"):
            found[row.task_id].append(row)
        return found

    def _second(
        self, first: RoundPrompt, ran: Sequence[ConductorRollout]
    ) -> RoundPrompt | None:
        """Return the prompt after a plan that ran; None: none can be shown."""
        names, known = first.place.workers, set(self._pool.names)
        fitting = [row for row in ran if set(row.workers) <= set(names)]
        if not known.issuperset(names):
            return None  # the pool has lost a worker
        for row in self._chance.sample(fitting, len(fitting)):
            outcome = _outcome(row)
            if outcome is not None:
                return self._after(first, row, outcome)
        return None

    def _after(
        self, first: RoundPrompt, row: ConductorRollout, outcome: RoundOutcome
    ) -> RoundPrompt:
        tasks = StoredTask.objects.for_team(self._training.team_id)
        task = Task(task_read(tasks.get(id=row.task_id)).prompt)
        part = set(first.place.workers)
        workers = tuple(w for w in self._pool.workers if w.name in part)
        pool = replace(
            self._pool, workers=workers, fallback=workers[0].name, substitutes=()
        )
        request = numbered(
            self._planner,
            PlanRequest(task, pool, self._max_steps, rounds=(outcome,), may_keep=True),
        )
        key = f"{first.task.task}-{SECOND}"
        return RoundPrompt(
            RolloutTask(key, brief_prompt(self._planner, request)),
            PromptPlace(row.task_id, request.pool.names, kept=row.digest),
        )


def _outcome(row: ConductorRollout) -> RoundOutcome | None:
    """Return how a plan's run went; None: its texts, or the run, are erased."""
    try:
        run = access_run(team_id=row.team_id, run_id=row.run_id)
    except NotFound:
        return None
    outcome = next(iter(round_outcomes(run)), None)
    # An erased subtask reads as empty, which is another plan.
    if outcome is None or not outcome.answer or outcome.plan.digest != row.digest:
        return None
    return outcome
