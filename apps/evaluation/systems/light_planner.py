"""A version of the pool's light planner, be it in use or not, or plans to learn from.

Its plans are made before the runs, from what the version knows; so a run is the same
whatever becomes of the version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from apps.core.money import micros_of_usd, usd_text
from apps.engine.ports import Pool, PoolWorker
from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    PoolNames,
    RoundShape,
    TaskContext,
    Values,
    WorkerName,
)
from apps.planners.answer_worth import MOST_MICROS, worth_in_force
from apps.planners.fixed import GivenPlanPlanner

FEWEST_WORKERS = 4
"""Of the part of a pool that an exploration draws, if the pool has so many."""


class LightPlannerSystem(BaseSystem):
    """What the light planner would do, or one of the best things it could do."""

    short_form: ClassVar[str] = (
        "light:VERSION[:DOLLARS] (what a right answer is worth), or "
        "near-best:VERSION:PLANS (one of so many best plans of a part of the pool, to "
        "learn from), or near-best:VERSION:PLANS:WORKER (of the whole pool, with that "
        "worker in each)"
    )

    kind: Literal["light_planner"]
    version: Annotated[int, Field(ge=1)]
    """Of the pool's light planner."""
    answer_worth_micros: Annotated[int, Field(ge=1, le=MOST_MICROS)] | None = None
    """What a right answer is worth. None: as the version was trained."""
    former_cost_weight: Annotated[int, Field(ge=0, le=100)] | None = None
    """Of evaluations from before answers had a worth in money: what cost weighed, in
    percent. It tells systems apart; no plan is made by it any more."""
    plan: Annotated[int, Field(ge=1, le=50)] = 1
    """Number of the plan among those of a task that are drawn."""
    near_best: Annotated[int, Field(ge=0, le=16)] = 0
    """One of so many best plans is drawn, for a part of the pool that is drawn as well.
    0: the best plan for the whole pool."""
    newcomer: WorkerName | None = None
    """A worker that each of those plans has, from the whole pool. How good it is, is
    drawn from what is still possible. None: there is no such worker."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return a version, or an exploration of plans near its best ones."""
        given: Values = {"kind": "light_planner"}
        match parts:
            case ["light", version]:
                return [{**given, "version": version}]
            case ["light", version, dollars]:
                # What is no amount is refused by its field.
                worth = micros_of_usd(dollars) or dollars
                return [{**given, "version": version, "answer_worth_micros": worth}]
            case ["near-best", version, plans]:
                return [{**given, "version": version, "near_best": plans}]
            case ["near-best", version, plans, worker]:
                probing = {"near_best": plans, "newcomer": worker}
                return [{**given, "version": version, **probing}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        words = f"version {self.version}"
        if self.answer_worth_micros is not None:
            words += f", a right answer for ${usd_text(self.answer_worth_micros)}"
        if self.former_cost_weight is not None:
            words += f", worth of cost {self.former_cost_weight} %"
        if self.near_best:
            several = self.near_best > 1
            words += ", " + (f"one of its {self.near_best} " if several else "its ")
            words += "best plans" if several else "best plan"
        if self.newcomer:
            words += f" with {self.newcomer}"
        if self.plan > 1:
            words += f", plan {self.plan}"
        return f"light planner ({words})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.newcomer,) if self.newcomer else ()

    @property
    def steps(self) -> int:
        """Return the steps that its plans have, at least."""
        return 1

    @property
    def is_exploration(self) -> bool:
        """Say whether planners learn from its plans, so that it is no comparison."""
        return self.near_best > 0

    def arrange(self, task: TaskContext) -> Arrangement:
        """Return the plan for the task. Raises: ValueError if the version has none."""
        # Brings NumPy with it, which a process without light planners does not need.
        from apps.planners.light.planner import LightPlanner
        from apps.planners.light.probes import drawn_belief

        found = task.known_planner(self.version)
        model = found.model
        chance = task.random(f"near best {self.version} {self.plan}")
        workers = task.workers
        if self.newcomer:
            model = drawn_belief(model, self.newcomer, chance)
        elif self.near_best:
            fewest = min(FEWEST_WORKERS, len(workers))
            workers = tuple(
                chance.sample(workers, chance.randint(fewest, len(workers)))
            )
        worth = worth_in_force(self.answer_worth_micros, found.answer_worth_micros)
        planner = LightPlanner(model, self.version, worth)
        plans = planner.plans(
            task.prompt,
            _pool(workers),
            task.max_steps,
            max(1, self.near_best),
            self.newcomer,
        )
        if not plans:
            raise ValueError(f"{self.label}: it knows no worker of the pool")
        steps = chance.choice(plans).steps if self.near_best else plans[0].steps
        names = tuple(step.worker for step in steps)
        return Arrangement(
            task.carrier,
            GivenPlanPlanner(steps),
            rounds=(RoundShape(len(steps), names),),
        )


def _pool(workers: Sequence[PoolWorker]) -> Pool:
    return Pool(tuple(workers), fallback=workers[0].name)
