"""Two worlds that can shift: the simulated benchmark, and an office of its own make."""

from __future__ import annotations

import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

from apps.engine.ports import PlanRequest, Pool, PoolWorker, Task
from apps.engine.usage import Price
from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.search import choices
from apps.planners.light.templates import TEMPLATES, Template
from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.workers import ROSTERS, BenchWorker
from bench import office_world
from bench.learning_world import (
    MAX_STEPS,
    MILLION,
    Asked,
    bench_plan,
    executed,
    scored,
    step_tokens,
    tasks,
)
from bench.office_world import (
    OUTPUT_TIMES,
    STAFF,
    OfficeWorker,
    office_questions,
    office_run,
    office_success,
)

DEAD = 0.05
"""What is left of a skill that is lost."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """The template plan that is right most often, for one family."""

    template: Template
    names: tuple[str, ...]
    success: float


@dataclass(frozen=True)
class World(ABC):
    """Workers with hidden skills, and questions for them."""

    workers: tuple[Any, ...]
    worth_micros: float
    """What a right answer is worth; prices that change do not move it."""
    name: ClassVar[str]
    families: ClassVar[tuple[str, ...]]

    @property
    def names(self) -> list[str]:
        """Return the workers' names."""
        return [worker.name for worker in self.workers]

    def chosen(self, names: Sequence[str]) -> tuple[Any, ...]:
        """Return workers by their names."""
        by_name = {worker.name: worker for worker in self.workers}
        return tuple(by_name[name] for name in names)

    @classmethod
    @abstractmethod
    def drawn(cls, count: int, seed: int) -> Iterator[Any]:
        """Yield questions of families drawn at random."""

    @classmethod
    def questions(cls, count: int, seed: int) -> tuple[Any, ...]:
        """Return the questions of a seed: the same, whatever shifts."""
        return _questions(cls, count, seed)

    @abstractmethod
    def run(
        self,
        chance: random.Random,
        asked: Any,
        template: Template,
        names: Sequence[str],
    ) -> LoggedRun:
        """Return the run of a plan, its answers drawn."""

    @abstractmethod
    def success(self, template: Template, names: Sequence[str], family: str) -> float:
        """Return how often a plan is right, exactly."""

    @abstractmethod
    def prices(self, worker: Any) -> Price:
        """Return the price of a worker."""

    @abstractmethod
    def weakened(self, name: str, families: Sequence[str], kept: float) -> Self:
        """Return the world in which a worker keeps a share of some skills."""

    @abstractmethod
    def strengthened(self, name: str) -> Self:
        """Return the world in which a worker answers each family like the best."""

    @abstractmethod
    def dearer(self, name: str, times: int) -> Self:
        """Return the world in which a worker costs so many times more."""

    def request(self, question: str) -> PlanRequest:
        """Return what a planner gets to know of a question and the pool."""
        pool = tuple(PoolWorker(w.name, self.prices(w)) for w in self.workers)
        return PlanRequest(Task(question), Pool(pool, self.names[0]), MAX_STEPS)

    def cost(self, template: Template, names: Sequence[str]) -> float:
        """Return what a plan costs, in micro-dollars."""
        total = 0.0
        for step, worker in zip(template, self.chosen(names), strict=True):
            read, written = step_tokens(step.role, len(step.access))
            price = self.prices(worker)
            total += read * price.input_micros + written * price.output_micros
        return total / MILLION

    def oracle(self, family: str) -> Oracle:
        """Return the plan of the templates that is right most often."""
        return _oracle(self, family)

    def _with(self, name: str, worker: Any) -> Self:
        workers = (worker if each.name == name else each for each in self.workers)
        return replace(self, workers=tuple(workers))


@lru_cache(maxsize=16)
def _questions(world: type[World], count: int, seed: int) -> tuple[Any, ...]:
    return tuple(world.drawn(count, seed))


@lru_cache(maxsize=10_000)
def _oracle(world: World, family: str) -> Oracle:
    names = world.names
    plans = itertools.chain.from_iterable(
        (
            (template, tuple(names[w] for w in row))
            for row in choices(template, len(names))
        )
        for template in TEMPLATES
    )
    found = ((world.success(*plan, family), *plan) for plan in plans)
    success, template, chosen = max(found, key=lambda each: each[0])
    return Oracle(template, chosen, success)


class BenchmarkWorld(World):
    """The simulated benchmark with the strong generalist."""

    name = "simulated benchmark"
    families = tuple(map(str, TaskFamily))

    @classmethod
    def drawn(cls, count: int, seed: int) -> Iterator[Asked]:
        """Yield tasks of the benchmark."""
        return tasks(count, seed)

    def run(
        self,
        chance: random.Random,
        asked: Any,
        template: Template,
        names: Sequence[str],
    ) -> LoggedRun:
        """Return the run of a plan, its answers drawn."""
        return executed(chance, asked, template, self.chosen(names))

    def success(self, template: Template, names: Sequence[str], family: str) -> float:
        """Return how often a plan is right, exactly."""
        return scored(bench_plan(template, self.chosen(names)), family).success

    def prices(self, worker: BenchWorker) -> Price:
        """Return the price of a worker."""
        return Price(worker.input_micros, worker.output_micros)

    def weakened(self, name: str, families: Sequence[str], kept: float) -> Self:
        """Return the world in which a worker keeps a share of some skills."""
        (worker,) = self.chosen([name])

        def less(shares: Any) -> dict[str, float]:
            return {f: s * kept if f in families else s for f, s in shares.items()}

        plans = kept if TaskFamily.WORD_PROBLEMS in families else 1.0
        weaker = replace(
            worker,
            solve=less(worker.solve),
            guided=less(worker.guided),
            repair=less(worker.repair),
            planning=worker.planning * plans,
        )
        return self._with(name, weaker)

    def strengthened(self, name: str) -> Self:
        """Return the world in which a worker answers each family like the best."""
        (worker,) = self.chosen([name])
        best = {
            family: max(each.solve[family] for each in self.workers)
            for family in worker.solve
        }
        guided = max(each.guided[TaskFamily.WORD_PROBLEMS] for each in self.workers)
        stronger = replace(
            worker, solve=best, guided={TaskFamily.WORD_PROBLEMS: guided}
        )
        return self._with(name, stronger)

    def dearer(self, name: str, times: int) -> Self:
        """Return the world in which a worker costs so many times more."""
        (worker,) = self.chosen([name])
        return self._with(name, replace(worker, price=worker.price * times))


class OfficeWorld(World):
    """The office, in which workers err together."""

    name = "office"
    families = office_world.FAMILIES

    @classmethod
    def drawn(cls, count: int, seed: int) -> Iterator[Asked]:
        """Yield questions of the office."""
        return office_questions(count, seed)

    def run(
        self,
        chance: random.Random,
        asked: Any,
        template: Template,
        names: Sequence[str],
    ) -> LoggedRun:
        """Return the run of a plan, its answers drawn."""
        return office_run(chance, asked, template, self.chosen(names))

    def success(self, template: Template, names: Sequence[str], family: str) -> float:
        """Return how often a plan is right, exactly."""
        return office_success(template, self.chosen(names), family)

    def prices(self, worker: OfficeWorker) -> Price:
        """Return the price of a worker."""
        return Price(worker.micros, OUTPUT_TIMES * worker.micros)

    def weakened(self, name: str, families: Sequence[str], kept: float) -> Self:
        """Return the world in which a worker keeps a share of some skills."""
        (worker,) = self.chosen([name])
        return self._with(name, worker.weakened(families, kept))

    def strengthened(self, name: str) -> Self:
        """Return the world in which a worker answers each family like the best."""
        (worker,) = self.chosen([name])
        best = tuple(map(max, zip(*(w.solve for w in self.workers), strict=True)))
        guided = max(each.guided for each in self.workers)
        return self._with(name, replace(worker, solve=best, guided=guided))

    def dearer(self, name: str, times: int) -> Self:
        """Return the world in which a worker costs so many times more."""
        (worker,) = self.chosen([name])
        return self._with(name, replace(worker, micros=worker.micros * times))


WORLDS: tuple[World, ...] = (
    BenchmarkWorld(ROSTERS["strong"], 27_000),
    OfficeWorld(STAFF, 54_000),
)
"""A right answer is worth 25 answers of the dearest worker, as where nobody says."""
