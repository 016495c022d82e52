"""A world of office work with a structure of its own, for the benchmark of shifts.

Six families, three of which need more than one worker: a schedule is drawn up by a plan
of the foreman, a ledger is the clerk's draft corrected by the auditor, a cipher is
judged among three answers. Questions are easy, middling or hard, so workers err
together. The success of a plan is summed exactly over grades and difficulties.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole
from apps.planners.light.templates import Template, TemplateStep
from bench.learning_world import step_tokens

Shares = tuple[float, ...]
"""By family, in the order of `WORDINGS`."""
WORDINGS: Mapping[str, tuple[str, ...]] = {
    "tariff": (
        "What does the harbour charge for {n} tonnes of {good} in tariff class {m}?",
        "Good morning, please work out the tariff of {n} crates of {good}, class {m}.",
        "A ship brings {n} tonnes of {good}. Which fee applies under class {m}?",
    ),
    "glossary": (
        "Which word does our glossary want in place of '{good}' in letter {n}?",
        "Please translate the term '{good}' as the house glossary has it, entry {n}.",
        "What is the approved wording for '{good}' on page {n} of the glossary?",
    ),
    "places": (
        "In which building is the office for {good}, and on which floor is room {n}?",
        "Where do visitors of pier {n} go to declare {good}?",
        "Name the gate that is nearest to warehouse {n}, where {good} is stored.",
    ),
    "schedule": (
        "Three crews unload {n}, {m} and 40 crates of {good}: when is the last done?",
        "Draw up the order of berths for {n} boats with {good} so that none waits.",
        "Crew A starts at {m} and needs {n} minutes for {good}. Schedule crew B too.",
    ),
    "ledger": (
        "Balance the account of {good}: opening {n}, three payments of {m}.",
        "Book the invoice of {n} for {good} with {m} percent discount, give the rest.",
        "Which entry of the {good} account is wrong if it ends at {n}, not {m}?",
    ),
    "cipher": (
        "Decode the container mark {good}-{n}-{m} by the rotating key.",
        "The seal reads {m}{good}{n}. Undo the substitution and say what it means.",
        "Break the code of manifest {n}: the key word is {good}, shifted by {m}.",
    ),
}
FAMILIES = tuple(WORDINGS)
GOODS = ("coffee", "timber", "salt", "copper", "wool", "grain", "paper", "glass")
DIFFICULTIES = (-1.2, 0.0, 1.2)
"""Taken from the log-odds of every skill; a third of the questions each."""
PLANNED, LEDGER, REPAIRABLE = "schedule", "ledger", "clerk"
REPAIR_OF_OTHERS = 0.2
"""What remains of a skill to repair a ledger that is not the clerk's."""
MISLED = 0.7
"""What remains of a skill with a bad plan in sight."""
SPOILED, SPOILED_BY_CAREFUL, CAREFUL = 0.06, 0.01, 0.5
LOST = 0.05
OUTPUT_TIMES = 4
"""Output tokens cost so much more than input."""


@dataclass(frozen=True, eq=False)
class OfficeWorker:
    """One worker: how often it is right with middling questions; all by family."""

    name: str
    micros: int
    """Price of a million input tokens."""
    solve: Shares
    repair: Shares
    """Of wrong drafts."""
    judge: Shares
    """How often it finds the right one among several answers."""
    guided: float
    """How often it is right with a good plan for a schedule in sight."""
    planning: float
    """How often its plan for a schedule is good."""

    def weakened(self, families: Sequence[str], kept: float) -> OfficeWorker:
        """Return it with a share of its skills in some families."""

        def less(shares: Shares) -> Shares:
            pairs = zip(FAMILIES, shares, strict=True)
            return tuple(s * kept if f in families else s for f, s in pairs)

        of_plans = kept if PLANNED in families else 1.0
        return replace(
            self,
            solve=less(self.solve),
            repair=less(self.repair),
            judge=less(self.judge),
            guided=self.guided * of_plans,
            planning=self.planning * of_plans,
        )


def _even(share: float, **others: float) -> Shares:
    return tuple(others.get(family, share) for family in FAMILIES)


STAFF = (
    OfficeWorker(
        "clerk",
        100_000,
        (0.95, 0.20, 0.25, 0.15, 0.50, 0.45),
        _even(0.2),
        _even(0.3),
        0.95,
        0.2,
    ),
    OfficeWorker(
        "lexicon",
        200_000,
        (0.15, 0.95, 0.40, 0.10, 0.15, 0.50),
        _even(0.15),
        _even(0.3),
        0.3,
        0.2,
    ),
    OfficeWorker(
        "auditor",
        400_000,
        (0.40, 0.35, 0.30, 0.15, 0.30, 0.30),
        _even(0.4, ledger=0.95),
        _even(0.4),
        0.4,
        0.3,
    ),
    OfficeWorker(
        "foreman",
        800_000,
        (0.35, 0.30, 0.55, 0.25, 0.20, 0.50),
        _even(0.3),
        _even(0.4),
        0.5,
        0.95,
    ),
    OfficeWorker(
        "judge",
        1_500_000,
        (0.50, 0.45, 0.60, 0.25, 0.30, 0.45),
        _even(0.4),
        _even(0.6, cipher=0.97),
        0.5,
        0.3,
    ),
    OfficeWorker(
        "titan",
        4_000_000,
        (0.75, 0.75, 0.93, 0.35, 0.40, 0.55),
        _even(0.5),
        _even(0.6),
        0.75,
        0.7,
    ),
)


class OfficeQuestion(NamedTuple):
    """One question, of a family and a difficulty that nobody sees."""

    question: str
    family: str
    difficulty: float


class _Done(NamedTuple):
    """A step that was executed."""

    worker: OfficeWorker
    role: StepRole
    is_right: bool
    """Of a plan: it is good."""


def office_questions(count: int, seed: int) -> Iterator[OfficeQuestion]:
    """Yield questions of families and difficulties drawn at random."""
    chance = random.Random(f"office {seed}")  # nosec B311
    for _ in range(count):
        family = chance.choice(FAMILIES)
        text = chance.choice(WORDINGS[family]).format(
            n=chance.randint(2, 999), m=chance.randint(2, 99), good=chance.choice(GOODS)
        )
        yield OfficeQuestion(text, family, chance.choice(DIFFICULTIES))


def office_run(
    chance: random.Random,
    asked: OfficeQuestion,
    template: Template,
    workers: Sequence[OfficeWorker],
) -> LoggedRun:
    """Return the run of a plan, its answers drawn."""
    done: list[_Done] = []
    steps = []
    for step, worker in zip(template, workers, strict=True):
        share = _share_right(
            asked.family, asked.difficulty, worker, step, [done[n] for n in step.access]
        )
        done.append(_Done(worker, step.role, chance.random() < share))
        grade = None if step.role is StepRole.PLAN else float(done[-1].is_right)
        tokens = step_tokens(step.role, len(step.access))
        steps.append(LoggedStep(worker.name, step.role, step.access, grade, *tokens))
    return LoggedRun(asked.question, tuple(steps), family=asked.family)


@lru_cache(maxsize=200_000)
def office_success(
    template: Template, workers: tuple[OfficeWorker, ...], family: str
) -> float:
    """Return the exact success of a plan, over all difficulties."""
    by_difficulty = [
        _success(template, workers, family, each, ()) for each in DIFFICULTIES
    ]
    return sum(by_difficulty) / len(by_difficulty)


def _success(
    template: Template,
    workers: tuple[OfficeWorker, ...],
    family: str,
    difficulty: float,
    done: tuple[_Done, ...],
) -> float:
    if len(done) == len(template):
        return float(done[-1].is_right)
    step, worker = template[len(done)], workers[len(done)]
    seen = [done[earlier] for earlier in step.access]
    share = _share_right(family, difficulty, worker, step, seen)
    return sum(
        part
        * _success(
            template,
            workers,
            family,
            difficulty,
            (*done, _Done(worker, step.role, is_right)),
        )
        for part, is_right in ((share, True), (1 - share, False))
        if part > 0
    )


def _share_right(
    family: str,
    difficulty: float,
    worker: OfficeWorker,
    step: TemplateStep,
    seen: Sequence[_Done],
) -> float:
    """Return how likely a step's answer is right, or its plan good."""
    place = FAMILIES.index(family)
    drafts = [each for each in seen if each.role is not StepRole.PLAN]
    if step.role is StepRole.PLAN:
        return _harder(worker.planning, difficulty)
    if step.role is StepRole.COMBINE:
        is_any_right = any(each.is_right for each in drafts)
        skill = worker.judge[place] if is_any_right else worker.solve[place]
        return _harder(skill, difficulty)
    if step.role is StepRole.CHECK:
        return _checked(family, difficulty, worker, drafts[-1])
    return _solved(family, difficulty, worker, seen)


def _checked(
    family: str, difficulty: float, worker: OfficeWorker, draft: _Done
) -> float:
    skill = worker.repair[FAMILIES.index(family)]
    if draft.is_right:
        return 1 - (SPOILED_BY_CAREFUL if skill >= CAREFUL else SPOILED)
    if family == LEDGER and draft.worker.name != REPAIRABLE:
        skill *= REPAIR_OF_OTHERS
    return _harder(skill, difficulty)


def _solved(
    family: str, difficulty: float, worker: OfficeWorker, seen: Sequence[_Done]
) -> float:
    skill = worker.solve[FAMILIES.index(family)]
    plans = [each for each in seen if each.role is StepRole.PLAN]
    if family == PLANNED and plans:
        skill = worker.guided if plans[-1].is_right else skill * MISLED
    return _harder(skill, difficulty)


def _harder(skill: float, difficulty: float) -> float:
    if not 0 < skill < 1:
        return skill
    return 1 / (1 + math.exp(difficulty - math.log(skill / (1 - skill))))
