"""Workers with hidden skills, and those of the simulated benchmark.

Their skills are hidden: only the name, the description and the price are shown to a
planner. What they do with their skills is in `behavior`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.simulator.benchmark.forms import FORMS, Form, TaskFamily
from apps.simulator.families.solution import Family
from apps.simulator.workers import SimulatedWorker

Shares = Mapping[str, float]
"""By family."""
INPUT_MICROS, OUTPUT_MICROS = 200_000, 800_000
"""Of a million tokens, of a worker whose price is 1."""


@dataclass(frozen=True, slots=True, eq=False)
class BenchWorker:
    """One worker of the benchmark; each is equal to itself only."""

    name: str
    description: str
    price: int
    """In relation to the cheapest worker."""
    solve: Shares
    """How often it is right on its own, from 0 to 1."""
    guided: Shares
    """How often it is right with a good plan in sight, in families that need one."""
    planning: float
    """How often its plan is good."""
    repair: Shares
    """How often it repairs a near miss that it sees."""
    first_token_ms: int = 150
    tokens_per_s: float = 200
    forms: tuple[Form, ...] = FORMS
    """The questions that it recognises."""
    programs: float | None = None
    """How often a program that it writes is right. None: it answers nothing but its
    tasks."""

    @property
    def for_everyday(self) -> SimulatedWorker | None:
        """Return the worker that answers other questions, if there is one.

        It is as good at a kind of question as at the family of tasks that is most like
        it: at stories as with a plan in sight, at programs as when it checks an answer,
        if that is better than alone.
        """
        if self.programs is None:
            return None
        alike = {
            Family.ARITHMETIC: TaskFamily.ARITHMETIC,
            Family.UNITS: TaskFamily.UNITS,
            Family.DATES: TaskFamily.UNITS,
            Family.TEXT: TaskFamily.REVERSAL,
            Family.FACTS: TaskFamily.CAPITALS,
        }
        skills = {family: self.solve[like] for family, like in alike.items()}
        story, program = TaskFamily.WORD_PROBLEMS, TaskFamily.TRACING
        skills[Family.STORIES] = max(self.solve[story], self.guided.get(story, 0))
        skills[Family.TRACING] = max(self.solve[program], self.repair[program])
        return SimulatedWorker(
            name=self.name,
            description=self.description,
            tokens_per_s=self.tokens_per_s,
            first_token_ms=self.first_token_ms,
            input_micros=self.input_micros,
            output_micros=self.output_micros,
            reliability={**skills, Family.CODE: self.programs},
        )

    @property
    def input_micros(self) -> int:
        """Return the price of a million input tokens, in micro-dollars."""
        return self.price * INPUT_MICROS

    @property
    def output_micros(self) -> int:
        """Return the price of a million output tokens, in micro-dollars."""
        return self.price * OUTPUT_MICROS


def _by_family(*shares: float) -> Shares:
    return {str(f): share for f, share in zip(TaskFamily, shares, strict=True)}


SPECIALISTS = (
    BenchWorker(
        name="bench-arithmetic",
        description="Simulated. A small model for numbers: calculations and units.",
        price=1,
        solve=_by_family(0.95, 0.90, 0.10, 0.15, 0.10, 0.10),
        guided={TaskFamily.WORD_PROBLEMS: 0.70},
        planning=0.20,
        repair=_by_family(0.3, 0.3, 0.0, 0.0, 0.2, 0.2),
        programs=0.3,
    ),
    BenchWorker(
        name="bench-language",
        description="Simulated. A small model for words and general knowledge.",
        price=1,
        solve=_by_family(0.15, 0.15, 0.95, 0.90, 0.05, 0.05),
        guided={TaskFamily.WORD_PROBLEMS: 0.20},
        planning=0.20,
        repair=_by_family(0.0, 0.0, 0.3, 0.3, 0.1, 0.1),
        programs=0.3,
    ),
    BenchWorker(
        name="bench-planning",
        description="Simulated. Takes questions apart and says how to go about them.",
        price=2,
        solve=_by_family(0.30, 0.30, 0.30, 0.40, 0.15, 0.10),
        guided={TaskFamily.WORD_PROBLEMS: 0.35},
        planning=0.95,
        repair=_by_family(0.2, 0.2, 0.2, 0.2, 0.2, 0.2),
        programs=0.5,
    ),
    BenchWorker(
        name="bench-coding",
        description="Simulated. Writes and reads code, and follows instructions.",
        price=3,
        solve=_by_family(0.60, 0.50, 0.60, 0.20, 0.15, 0.40),
        guided={TaskFamily.WORD_PROBLEMS: 0.95},
        planning=0.40,
        repair=_by_family(0.3, 0.3, 0.3, 0.1, 0.3, 0.3),
        programs=0.95,
    ),
    BenchWorker(
        name="bench-checking",
        description="Simulated. Reviews what others wrote and corrects it.",
        price=2,
        solve=_by_family(0.30, 0.30, 0.30, 0.30, 0.10, 0.15),
        guided={TaskFamily.WORD_PROBLEMS: 0.40},
        planning=0.20,
        repair=_by_family(0.5, 0.5, 0.5, 0.5, 0.5, 0.92),
        programs=0.6,
    ),
)


def _generalist(name: str, simple: float) -> BenchWorker:
    return BenchWorker(
        name=name,
        description="Simulated. A large model for everything.",
        price=10,
        solve=_by_family(simple, simple, simple, simple, 0.25, 0.30),
        guided={TaskFamily.WORD_PROBLEMS: 0.75},
        planning=0.70,
        repair=_by_family(0.4, 0.4, 0.4, 0.4, 0.4, 0.5),
        first_token_ms=500,
        tokens_per_s=80,
        programs=0.9,
    )


WEAK_GENERALIST = _generalist("bench-generalist-weak", 0.50)
STRONG_GENERALIST = _generalist("bench-generalist-strong", 0.75)
ROSTERS: Mapping[str, tuple[BenchWorker, ...]] = {
    "weak": (*SPECIALISTS, WEAK_GENERALIST),
    "strong": (*SPECIALISTS, STRONG_GENERALIST),
}
"""Pools of six by the generalist in them."""
BENCH_WORKERS = (*SPECIALISTS, WEAK_GENERALIST, STRONG_GENERALIST)
BENCH_BY_NAME = {worker.name: worker for worker in BENCH_WORKERS}
