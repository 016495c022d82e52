"""Planners that need no model: the baselines every conductor is compared with.

Each gives its plan in the first round and keeps the answer afterwards; a cascade may
give one more. Sources: arXiv 2303.17651 (self-refinement), arXiv 2406.04692 (mixture of
agents, one layer), arXiv 2311.17311 (several answers of one model, then one with them
in sight; ours is written anew), arXiv 2310.12963 (cascade by a model's confidence).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import Ask, PlanRequest, RoundOutcome
from apps.engine.suitability import suited_worker
from apps.planners.final_answer import is_same_answer
from apps.planners.plan_references import all_earlier

FIRST_ATTEMPT = "Answer the user's question completely. Show the work it takes."
REFLECTION = (
    "Examine the answers so far for mistakes, gaps and unclear passages. Then write "
    "the complete, corrected answer to the user's question."
)
PROPOSAL = "Answer the user's question completely and on your own."
AGGREGATION = (
    "Several answers to the user's question are given. Judge each critically, since "
    "some may be wrong, and write the one best answer from what holds."
)
ANEW = (
    "Answer the user's question completely and on your own: work it out before you "
    "look at the earlier answers, since some may be wrong."
)

SINGLE_WORKER = "single_worker"
"""The planner of a plan in which one worker gets the plain question."""
WHOLE_REST = "Write the plan by which the user's question is answered best."


@dataclass(frozen=True, slots=True)
class SingleWorkerPlanner:
    """One worker answers the plain question."""

    worker: str
    name: str = field(default=SINGLE_WORKER, init=False)
    max_rounds: ClassVar[int] = 1
    """Plans that it gives in one run, at most."""

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return a plan of one step whose subtask is the prompt itself.

        The engine sends such a step as a direct call, with nothing around it. If the
        worker can't take the question's images or tools, another one does it.
        """
        if request.rounds:
            return None
        worker = suited_worker(request.task, request.pool, self.worker)
        return Plan((PlannedStep(request.task.prompt, worker),))


@dataclass(frozen=True, slots=True)
class SelfReflectionPlanner:
    """One worker improves its own answer turn by turn."""

    worker: str
    turns: int
    """Calls in all, the first answer included."""
    name: str = field(default="self_reflection", init=False)
    max_rounds: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.turns < 1:
            raise ValueError(f"turns: expected 1 or more, got {self.turns}")

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return a chain in which each step reads all earlier ones."""
        if request.rounds:
            return None
        steps = tuple(
            PlannedStep(
                REFLECTION if turn else FIRST_ATTEMPT, self.worker, all_earlier(turn)
            )
            for turn in range(self.turns)
        )
        return Plan(steps)


@dataclass(frozen=True, slots=True)
class MixtureOfAgentsPlanner:
    """Several workers answer independently and one makes an answer of theirs."""

    workers: tuple[str, ...]
    aggregator: str
    name: str = field(default="mixture_of_agents", init=False)
    max_rounds: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not self.workers:
            raise ValueError("workers: expected at least one name")

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return independent proposals and a last step that reads them all."""
        if request.rounds:
            return None
        proposals = tuple(PlannedStep(PROPOSAL, worker) for worker in self.workers)
        last = PlannedStep(AGGREGATION, self.aggregator, all_earlier(len(proposals)))
        return Plan((*proposals, last))


@dataclass(frozen=True, slots=True)
class GivenPlanPlanner:
    """A plan that was made before the run."""

    steps: tuple[PlannedStep, ...]
    name: str = field(default="given_plan", init=False)
    max_rounds: ClassVar[int] = 1

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return the plan as it is."""
        return None if request.rounds else Plan(self.steps)


@dataclass(frozen=True, slots=True)
class SamplesPlanner:
    """One worker answers several times; its last answer is given with all in sight."""

    worker: str
    samples: int
    """Calls in all."""
    name: str = field(default="samples", init=False)
    max_rounds: ClassVar[int] = 1

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return independent answers and a last step that reads them all."""
        return None if request.rounds else samples_plan(self.worker, self.samples)


@dataclass(frozen=True, slots=True)
class CascadePlanner:
    """A cheap worker answers several times; a strong one if its answers differ."""

    cheap: str
    samples: int
    """Calls of the cheap worker."""
    strong: str
    least_agreeing: int
    """So many of the earlier answers must agree with the last one, or the strong worker
    is asked. 0: it never is."""
    name: str = field(default="cascade", init=False)
    max_rounds: ClassVar[int] = 2

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return the samples, then a direct question to the strong worker, or nothing.

        The record of the first round decides, so it decides the same after a crash.
        """
        if not request.rounds:
            return samples_plan(self.cheap, self.samples)
        if agreeing_of(request.rounds[0]) >= self.least_agreeing:
            return None
        return Plan((PlannedStep(request.task.prompt, self.strong),))


@dataclass(frozen=True, slots=True)
class DelegatingPlanner:
    """Leaves all planning to a worker."""

    worker: str
    name: str = field(default="delegating", init=False)
    max_rounds: ClassVar[int] = 2
    max_delegations: ClassVar[int] = 1

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return a plan whose one step plans the rest.

        If the worker's plan can't be used there is no other: then the fallback worker
        answers.
        """
        if request.rounds:
            return None
        return Plan((PlannedStep(WHOLE_REST, self.worker),), plans_rest=True)


def samples_plan(worker: str, samples: int) -> Plan:
    """Return a plan in which a worker answers so often. Raises: ValueError."""
    if samples < 2:
        raise ValueError(f"samples: expected 2 or more, got {samples}")
    first = (PlannedStep(PROPOSAL, worker),) * (samples - 1)
    return Plan((*first, PlannedStep(ANEW, worker, all_earlier(samples - 1))))


def agreeing_of(round_: RoundOutcome) -> int:
    """Return how many earlier answers of a round agree with its last one."""
    texts = [each.text for each in round_.outcomes[:-1] if each.state == "completed"]
    return agreeing(texts, round_.answer)


def agreeing(earlier: Iterable[str], last: str) -> int:
    """Return how many of the earlier answers end in the same final answer as `last`."""
    return sum(is_same_answer(text, last) for text in earlier)


FixedPlanner = (
    SingleWorkerPlanner
    | SelfReflectionPlanner
    | MixtureOfAgentsPlanner
    | GivenPlanPlanner
    | SamplesPlanner
    | CascadePlanner
    | DelegatingPlanner
)


def planner_values(planner: FixedPlanner) -> dict[str, Any]:
    """Return a planner as JSON values, from which `planner_read` makes it again."""
    return asdict(planner)


def planner_read(values: Mapping[str, Any]) -> FixedPlanner:
    """Return the planner of recorded values. Raises: KeyError if there is none such."""
    given = dict(values)
    kind = _KINDS[given.pop("name")]
    if kind is GivenPlanPlanner:
        steps = [
            PlannedStep(step["subtask"], step["worker"], tuple(step["access"]))
            for step in given["steps"]
        ]
        return GivenPlanPlanner(tuple(steps))
    if "workers" in given:
        given["workers"] = tuple(given["workers"])
    return kind(**given)


_KINDS: Mapping[str, type[FixedPlanner]] = {
    SINGLE_WORKER: SingleWorkerPlanner,
    "self_reflection": SelfReflectionPlanner,
    "mixture_of_agents": MixtureOfAgentsPlanner,
    "given_plan": GivenPlanPlanner,
    "samples": SamplesPlanner,
    "cascade": CascadePlanner,
    "delegating": DelegatingPlanner,
}
