"""Why the light planner chose a plan, as plain values that a page can show. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from apps.planners.light.exploring import Explored, place_words
from apps.planners.light.search import PlanCandidate
from apps.planners.light.sources import ModelSource

CHEAPER = 0.5
"""A cheaper plan is shown if it costs at most this share of the chosen one."""
MAX_ALONE = 12
DIGITS = 4
UNFAMILIAR = (
    "The prompt is unlike everything that was learned from, so the worker that is best "
    "over all kinds of prompts answers alone."
)
BY_DEFAULT = (
    "By the site's default: the team has calibrated its workers, and has no planner of "
    "its own yet."
)

Explanation = dict[str, Any]
"""JSON values; see `explained`."""


def explained(
    ranked: Sequence[PlanCandidate],
    alone: Sequence[PlanCandidate],
    names: Sequence[str],
    interval: Callable[[PlanCandidate], tuple[float, float]],
    *,
    version: int,
    kind: int,
    kind_words: str,
    is_familiar: bool,
    source: ModelSource,
    worth_micros: float,
    explored: Explored | None = None,
    features: dict[str, Any] | None = None,
) -> Explanation:
    """Return why the first of `ranked` was chosen.

    `chosen`, `runner_up` and `cheaper` are plans with their expected `success` (0 to
    1), the bounds `low` and `high` of its interval of 95 %, and `cost_micros`; the last
    two are None if there is none. `alone` has one such plan
    for each worker. `kind` is the kind of the prompt, with words that mark it, if
    `is_familiar`; else the nearest one, which did not matter. `explored` is None, or
    has the `rank` of the plan among `of` that could be tried, and the `best` of these.
    `features` is None for a version without embeddings; else it says `by` what the kind
    was found (embedding or ngrams), the `worker` of the embeddings, and why its vector
    is `missing`. `answer_worth_micros` is None if cost did not count.
    """
    chosen = ranked[0]
    others = [*ranked[1:], *alone]
    cheap = [
        each for each in others if each.cost_micros <= CHEAPER * chosen.cost_micros
    ]
    cheaper = max(cheap, key=lambda each: each.success, default=None)

    def plan(candidate: PlanCandidate) -> dict[str, Any]:
        return _plan(candidate, names, interval(candidate))

    return {
        "version": version,
        "kind": kind,
        "kind_words": kind_words,
        "is_familiar": is_familiar,
        "source": source.value,
        "answer_worth_micros": _whole(worth_micros),
        "chosen": plan(chosen),
        "runner_up": plan(ranked[1]) if len(ranked) > 1 else None,
        "cheaper": None if cheaper is None else plan(cheaper),
        "alone": [plan(each) for each in alone[:MAX_ALONE]],
        "explored": None if explored is None else explored.values(plan(explored.best)),
        "features": features,
    }


def _whole(worth_micros: float) -> int | None:
    return None if math.isinf(worth_micros) else max(1, round(worth_micros))


def _plan(
    candidate: PlanCandidate, names: Sequence[str], interval: tuple[float, float]
) -> dict[str, Any]:
    low, high = interval
    return {
        "steps": [
            {"role": step.role.value, "worker": names[place]}
            for step, place in zip(candidate.template, candidate.workers, strict=True)
        ],
        "success": round(candidate.success, DIGITS),
        "low": round(low, DIGITS),
        "high": round(high, DIGITS),
        "cost_micros": round(candidate.cost_micros),
    }


def in_words(explanation: Explanation) -> str:
    """Return an explanation as a few plain sentences."""
    chosen, cheaper = explanation["chosen"], explanation["cheaper"]
    runner_up = explanation["runner_up"]
    said = []
    if explored := explanation["explored"]:
        best = explored["best"]
        said.append(
            f"Explored, to learn from it: the {place_words(explored['rank'])} best of "
            f"{explored['of']} plans. The best one: {_described(best)}, "
            f"{_chance(best)}."
        )
    if not explanation["is_familiar"]:
        said.append(UNFAMILIAR)
    if (features := explanation["features"]) and features["missing"]:
        said.append(
            f"The kind of the prompt was found by n-grams, without the vector of "
            f"{features['worker']}: {features['missing']}."
        )
    if explanation["source"] == ModelSource.SITE_DEFAULT:
        said.append(BY_DEFAULT)
    over = "" if explanation["is_familiar"] else "Over all kinds of prompts, "
    said.append(
        f"{over}{_described(chosen)} is expected to be right {_chance(chosen)}."
    )
    if runner_up:
        said.append(f"Next best: {_described(runner_up)}, {_chance(runner_up)}.")
    if cheaper:
        said.append(
            f"The best plan at half the cost or less: {_described(cheaper)}, "
            f"{_chance(cheaper)}."
        )
    if (worth := explanation["answer_worth_micros"]) is not None:
        said.append(f"A right answer is worth ${worth / 1_000_000:.6f}.")
    return " ".join(said)


def _described(plan: dict[str, Any]) -> str:
    return " → ".join(f"{step['worker']} ({step['role']})" for step in plan["steps"])


def _chance(plan: dict[str, Any]) -> str:
    dollars = plan["cost_micros"] / 1_000_000
    bounds = f"{plan['low']:.0%} to {plan['high']:.0%}"
    return f"{plan['success']:.0%} of the time ({bounds}), for ${dollars:.6f}"
