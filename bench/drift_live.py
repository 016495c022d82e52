"""Live requests of a world that has shifted, with a model that follows their grades."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from apps.planners.light.exploring import near_best
from apps.planners.light.live.adaptation import Adaptation, GradedObservation, Shortfall
from apps.planners.light.logged_runs import LoggedRun, StepRole
from apps.planners.light.model import LightModel
from apps.planners.light.planner import LightPlanner, Ranking
from apps.planners.light.search import PlanCandidate
from apps.planners.light.templates import TEMPLATES, Template
from apps.training.fitting.light import fit_light
from bench.drift_worlds import World

NEAR_BEST = 8
FOLLOWED = 5
"""Grades after which plans follow them; after an alarm they do so at once."""
HELD_OUT = 300
HELD_OUT_SEED = 424_242


@dataclass(frozen=True)
class Live:
    """How live requests come."""

    requests: int = 600
    graded: float = 0.2
    """Share of the runs whose answer is graded; drafts on the way never are."""
    explored: float = 0.1
    """Share of the runs that try a plan near the best one."""
    every: int = 200
    """Requests between two scores."""
    seed: int = 0
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """Of the models behind the workers."""
    places: dict[str, Any] = field(default_factory=dict)
    """Kinds of the questions that one planner has placed already."""


class Scores(NamedTuple):
    """Exact figures of plans for held-out questions."""

    success: float
    promised: float
    cost_micros: float


@dataclass
class Lived:
    """What came of live requests."""

    scores: list[Scores]
    """Before the first request, and after every so many."""
    promised: list[float] = field(default_factory=list)
    """Success promised for each run."""
    exact: list[float] = field(default_factory=list)
    """Exact success of each run's plan."""
    graded: int = 0
    affected: int = 0
    """Graded runs with the shifted worker in its family, up to the detection."""
    is_detected: bool = False
    broken: list[Shortfall] = field(default_factory=list)


class Planned(NamedTuple):
    """A plan by names, and what is promised of it."""

    template: Template
    names: tuple[str, ...]
    success: float


class Plans:
    """The plans of one state of a model.

    Requests of one kind get the same plans, so each is searched for once.
    """

    def __init__(self, model: LightModel, world: World, places: dict[str, Any]) -> None:
        """Begin with no plan. `places` remembers kinds from one state to the next."""
        self.model, self.world, self.places = model, world, places
        self.planner = LightPlanner(model, 1, world.worth_micros)
        self.found: dict[tuple[int, bool], Ranking] = {}

    def ranking(self, question: str) -> Ranking:
        """Return the best plans for a question."""
        if question not in self.places:
            kind, likeness = self.model.placed(question)
            is_familiar = self.model.is_familiar(question, likeness)
            self.places[question] = kind, is_familiar
        key = self.places[question]
        if key not in self.found:
            asked = self.world.request(question)
            self.found[key] = self.planner.ranking(asked, NEAR_BEST)
        return self.found[key]

    def best(self, question: str) -> Planned:
        """Return the best plan for a question."""
        ranking = self.ranking(question)
        return planned(ranking, ranking.candidates[0])


def planned(ranking: Ranking, candidate: PlanCandidate) -> Planned:
    """Return a candidate with the names of its workers."""
    names = tuple(ranking.workers[place] for place in candidate.workers)
    return Planned(candidate.template, names, candidate.success)


def scores(plans: Plans, world: World) -> Scores:
    """Return the exact figures of a model's plans in a world."""
    rows = []
    for asked in world.questions(HELD_OUT, HELD_OUT_SEED):
        template, names, promised = plans.best(asked.question)
        right = world.success(template, names, asked.family)
        rows.append((right, promised, world.cost(template, names)))
    return Scores(*map(statistics.fmean, zip(*rows, strict=True)))


def learned(world: World, count: int, seed: int) -> LightModel:
    """Return what is learned from `count` runs: half explored, half near the best."""
    runs = list(_explored(world, count // 2, seed))
    first = Plans(fit_light(runs, world.names).model, world, {})
    chance = random.Random(f"near best {seed}")  # nosec B311
    for asked in world.questions(count - len(runs), 1_000 + seed):
        ranking = first.ranking(asked.question)
        template, names, _ = planned(ranking, chance.choice(ranking.candidates))
        runs.append(world.run(chance, asked, template, names))
    return fit_light(runs, world.names).model


def _explored(world: World, count: int, seed: int) -> list[LoggedRun]:
    chance = random.Random(f"exploration {seed}")  # nosec B311
    runs = []
    for index, asked in enumerate(world.questions(count, seed)):
        template = TEMPLATES[index % len(TEMPLATES)]
        names = _drawn(chance, template, world.names)
        runs.append(world.run(chance, asked, template, names))
    return runs


def _drawn(chance: random.Random, template: Template, names: list[str]) -> list[str]:
    """Return a worker for each step; answers to combine are of different ones."""
    drafts = len(template) - 1
    if template[-1].role is StepRole.COMBINE:
        return [*chance.sample(names, drafts), chance.choice(names)]
    return [chance.choice(names) for _ in template]


@dataclass(frozen=True)
class Affected:
    """Where a shift shows: a worker, in some families."""

    worker: str
    families: Sequence[str]


def lived(
    adaptation: Adaptation, world: World, live: Live, affected: Affected | None = None
) -> Lived:
    """Answer live requests, and follow the grades of some of them."""
    chance = random.Random(f"live {live.seed}")  # nosec B311

    def present() -> Plans:
        model = adaptation.current().known_now(live.fingerprints)
        return Plans(model, world, live.places)

    plans = present()
    outcome = Lived([scores(plans, world)])
    for number, asked in enumerate(world.questions(live.requests, 77_000 + live.seed)):
        ranking = plans.ranking(asked.question)
        chosen = planned(ranking, _candidate(chance, ranking, live.explored))
        template, names, promised = chosen
        run = world.run(chance, asked, template, names)
        outcome.promised.append(promised)
        outcome.exact.append(world.success(template, names, asked.family))
        if chance.random() < live.graded:
            observation = GradedObservation(
                str(number),
                ranking.kind,
                _last_graded(run),
                fingerprints=live.fingerprints,
            )
            alarms = len(adaptation.broken)
            adaptation.observe(observation)
            _note(outcome, adaptation, affected, chosen, asked.family)
            is_alarmed = len(adaptation.broken) > alarms
            if is_alarmed or outcome.graded % FOLLOWED == 0:
                plans = present()
        if (number + 1) % live.every == 0:
            outcome.scores.append(scores(present(), world))
    outcome.broken = list(adaptation.broken)
    return outcome


def _candidate(
    chance: random.Random, ranking: Ranking, explored: float
) -> PlanCandidate:
    best, *others = near_best(ranking.candidates)
    if chance.random() < explored and others:
        return chance.choice(others)
    return best


def _last_graded(run: LoggedRun) -> LoggedRun:
    *earlier, last = run.steps
    return replace(run, steps=(*(replace(step, grade=None) for step in earlier), last))


def _note(
    outcome: Lived,
    adaptation: Adaptation,
    affected: Affected | None,
    chosen: Planned,
    family: str,
) -> None:
    """Count graded runs until the shift is noticed."""
    outcome.graded += 1
    if affected is None or outcome.is_detected:
        return
    if affected.worker in chosen.names and family in affected.families:
        outcome.affected += 1
    workers = adaptation.fitted.workers
    outcome.is_detected = any(
        workers[each.cell.worker] == affected.worker for each in adaptation.broken
    )
