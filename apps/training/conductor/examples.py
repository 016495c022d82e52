"""Expert examples: the plans that a light planner would make, as a conductor's replies.

A conductor that is fitted on them learns to read the cards of any workers in any order,
because each example may be about another part of the pool. Pure but for numpy.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import PlanRequest, Pool, Task
from apps.planners.light.logged_runs import StepRole
from apps.planners.light.planner import LightPlanner
from apps.planners.light.templates import Template
from apps.planners.plan_formats import LISTS, render_example
from apps.planners.prompt import build_messages
from apps.planners.worker_cards import Cards, in_order_of_cards, measured_cards

CONSIDERED = 4
"""Best plans of a prompt that can become answers."""
NEAR = 0.01
"""Value below the best plan's that is still as good."""
LEAST_WORKERS = 4
"""Workers of a random part of a pool, at least."""
SUBTASKS: Mapping[StepRole, str] = {
    StepRole.PLAN: "Plan how to answer.",
    StepRole.SOLVE: "Answer the question.",
    StepRole.CHECK: "Check the answer and correct it.",
    StepRole.COMBINE: "Compare the answers and write the best one.",
}
"""What a conductor learns to ask of each role: shorter than what a light planner says,
since a conductor has to write it token by token."""


@dataclass(frozen=True, slots=True)
class ExpertExample:
    """One prompt for a conductor, and good replies to it."""

    prompt: str
    """Text of the user's message."""
    completions: tuple[str, ...]
    """The best plan first; none if the light planner knows no worker."""
    workers: tuple[str, ...]
    """Names of the workers, by their numbers in prompt and replies."""


def expert_example(
    planner: LightPlanner,
    task_prompt: str,
    pool: Pool,
    max_steps: int,
    cards: Cards | None = None,
) -> ExpertExample:
    """Return what a conductor would be asked about a task, and what it should say.

    `cards` are what the prompt shows of the workers, if not all that the planner knows.
    """
    cards = cards or measured_cards(planner.model)
    request = PlanRequest(Task(task_prompt), pool, max_steps)
    request = _in_order(request, cards)
    ranking = planner.ranking(request, CONSIDERED)
    plans = (
        _plan(each.template, [ranking.workers[place] for place in each.workers])
        for each in ranking.candidates
        if each.value > ranking.candidates[0].value - NEAR
    )
    replies = tuple(render_example(plan, request.pool.names) for plan in plans)
    return ExpertExample(_prompt(request, cards), replies, request.pool.names)


def numbered(planner: LightPlanner, request: PlanRequest) -> PlanRequest:
    """Return the request with its workers in the order in which they are numbered."""
    return _in_order(request, measured_cards(planner.model))


def brief_prompt(planner: LightPlanner, request: PlanRequest) -> str:
    """Return the text that asks a trained conductor, as in a run."""
    return _prompt(numbered(planner, request), measured_cards(planner.model))


def part_of(pool: Pool, chance: random.Random, least: int = LEAST_WORKERS) -> Pool:
    """Return `least` or more workers in random order; all if there are fewer."""
    count = chance.randint(min(least, len(pool.workers)), len(pool.workers))
    workers = tuple(chance.sample(pool.workers, count))
    return replace(pool, workers=workers, fallback=workers[0].name, substitutes=())


def _in_order(request: PlanRequest, cards: Cards) -> PlanRequest:
    return replace(request, pool=in_order_of_cards(request.task, request.pool, cards))


def _prompt(request: PlanRequest, cards: Cards) -> str:
    (message,) = build_messages(request, LISTS, cards=cards)
    return str(message["content"])


def _plan(template: Template, workers: list[str]) -> Plan:
    steps = (
        PlannedStep(SUBTASKS[step.role], worker, step.access)
        for step, worker in zip(template, workers, strict=True)
    )
    return Plan(tuple(steps), _reasoning(template))


def _reasoning(template: Template) -> str:
    """Return the shape of a plan in words: it is settled before any worker is."""
    roles = ", ".join(step.role.value for step in template)
    return f"{roles.capitalize()}."
