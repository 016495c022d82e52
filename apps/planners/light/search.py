"""Every plan of the templates over some workers, with its success and its cost.

Success is summed over right and wrong answers of each step. Pure numpy.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apps.engine.plan import Plan
from apps.planners.light.model import SuccessTables
from apps.planners.light.step_model import Ints
from apps.planners.light.templates import (
    CHECKED,
    ONE,
    PLANNED,
    PLANNED_CHECKED,
    TEMPLATES,
    THREE_COMBINED,
    TWO_COMBINED,
    Template,
    template_plan,
)
from apps.planners.light.text_features import Floats
from apps.planners.light.token_costs import Prices, TokenModel, template_costs
from apps.planners.stickiness import Appraisal

MAX_WORKERS = 12
"""Workers that plans are made of: candidates grow with their fourth power."""


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """One plan that could be made."""

    template: Template
    workers: tuple[int, ...]
    """Places among the workers that were searched."""
    success: float
    """Expected: 0 to 1."""
    cost_micros: float
    """Expected."""
    value: float
    """Success less what the cost is worth."""


class Abilities(NamedTuple):
    """Which workers may do what, by place."""

    any_step: npt.NDArray[np.bool_]
    last_step: npt.NDArray[np.bool_]


@lru_cache(maxsize=64)
def choices(template: Template, n: int) -> Ints:
    """Return all ways to give `n` workers to the steps of a template, one a row.

    Answers that are combined are those of different workers, since a worker repeats
    its mistakes; they come in one order only.
    """
    everyone = range(n)
    drafts = {TWO_COMBINED: 2, THREE_COMBINED: 3}.get(template)
    if drafts is None:
        rows = list(itertools.product(everyone, repeat=len(template)))
    else:
        sets = itertools.combinations(everyone, drafts)
        rows = [(*chosen, last) for chosen in sets for last in everyone]
    return np.array(rows, np.int64).reshape(-1, len(template))


def template_success(template: Template, tables: SuccessTables) -> Floats:
    """Return the success of the plans of `choices`, in that order."""
    solve, guided, check = tables.solve, tables.guided, tables.check
    if template == ONE:
        return solve
    if template == PLANNED:
        return guided.ravel()
    if template == CHECKED:
        first = solve[:, None]
        return np.asarray(first * check[0, 1] + (1 - first) * check[0, 0]).ravel()
    if template == PLANNED_CHECKED:
        first = guided[:, :, None]
        return np.asarray(first * check[1, 1] + (1 - first) * check[1, 0]).ravel()
    if template == TWO_COMBINED:
        return (_right_drafts(solve, 2) @ tables.combine_two).ravel()
    return (_right_drafts(solve, 3) @ tables.combine_three).ravel()


def _right_drafts(solve: Floats, drafts: int) -> Floats:
    """Return how likely 0, 1, … right drafts are: a row for each set of drafters."""
    sets = itertools.combinations(range(len(solve)), drafts)
    shares = solve[np.array(list(sets), np.int64).reshape(-1, drafts)]
    found = np.zeros((len(shares), drafts + 1))
    found[:, 0] = 1
    for column in range(drafts):
        right = shares[:, [column]]
        found[:, 1:] = found[:, 1:] * (1 - right) + found[:, :-1] * right
        found[:, :1] *= 1 - right
    return found


def best_candidates(
    tables: SuccessTables,
    costs: tuple[TokenModel, Prices],
    abilities: Abilities,
    *,
    prompt_tokens: int,
    max_steps: int,
    worth_micros: float,
    count: int,
    required: int | None = None,
) -> list[PlanCandidate]:
    """Return the `count` best plans, the best one first; none if no worker may answer.

    `worth_micros` is what a right answer is worth; infinite: cost does not count.
    `required` is the place of a worker that has a step in each plan. None: any may.
    """
    tokens, prices = costs
    n = len(tables.solve)
    found: list[PlanCandidate] = []
    for template in TEMPLATES:
        if len(template) > max_steps:
            continue
        chosen = choices(template, n)
        success = template_success(template, tables)
        cost = template_costs(template, chosen, tokens, prices, prompt_tokens)
        value = success - cost / worth_micros
        value[~_is_possible(chosen, abilities)] = -np.inf
        if required is not None:
            value[~(chosen == required).any(axis=1)] = -np.inf
        best = np.argsort(-value, kind="stable")[:count]
        found += [
            PlanCandidate(
                template,
                tuple(map(int, chosen[row])),
                float(success[row]),
                float(cost[row]),
                float(value[row]),
            )
            for row in best
            if np.isfinite(value[row])
        ]
    return sorted(found, key=lambda each: (-each.value, len(each.workers)))[:count]


def dearest_answer(n: int, costs: tuple[TokenModel, Prices, int]) -> float:
    """Return what one answer of the dearest of `n` workers costs, in micro-dollars."""
    return float(template_costs(ONE, choices(ONE, n), *costs).max())


def plan_appraised(
    plan: Plan,
    names: Sequence[str],
    tables: SuccessTables,
    costs: tuple[TokenModel, Prices, int],
) -> Appraisal | None:
    """Return what is expected of a plan, if it is one of the templates.

    `names` are those of the workers by place; `costs` end with the prompt's tokens.
    """
    workers = [step.worker for step in plan.steps]
    template = next((t for t in TEMPLATES if _is_of(plan, t)), None)
    if template is None or not set(workers) <= set(names):
        return None
    chosen = choices(template, len(names))
    rows = (chosen == [names.index(worker) for worker in workers]).all(axis=1)
    if not rows.any():
        return None
    success = template_success(template, tables)[rows][0]
    cost = template_costs(template, chosen[rows], *costs)[0]
    return Appraisal(float(success), float(cost))


def _is_of(plan: Plan, template: Template) -> bool:
    """Return whether a plan has a template's steps; one step is always the same."""
    if len(plan.steps) == len(template) == 1:
        return True
    workers = [step.worker for step in plan.steps]
    if len(workers) != len(template):
        return False
    return template_plan(template, workers).steps == plan.steps


def _is_possible(chosen: Ints, abilities: Abilities) -> npt.NDArray[np.bool_]:
    last = abilities.last_step[chosen[:, -1]]
    return np.asarray(last & abilities.any_step[chosen[:, :-1]].all(axis=1))


def most_useful(tables: SuccessTables, ids: Sequence[int]) -> list[int]:
    """Return at most `MAX_WORKERS` of `ids`: those that are best in some step."""
    if len(ids) <= MAX_WORKERS:
        return list(ids)
    some = tables.among(ids)
    roles = (
        some.solve,
        some.guided.max(axis=0),
        some.guided.max(axis=1),
        some.check[0, 0].mean(axis=0),
    )
    ranks = [np.argsort(np.argsort(-role, kind="stable")) for role in roles]
    order = np.argsort(np.min(ranks, axis=0), kind="stable")
    kept = {ids[place] for place in order[:MAX_WORKERS]}
    return [each for each in ids if each in kept]
