"""Small models of the light planner, made by hand, and short logged runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apps.engine.plan import Plan, PlanPreview
from apps.engine.ports import (
    CallParams,
    PlanRequest,
    Pool,
    PoolWorker,
    Rejection,
    Task,
)
from apps.engine.usage import Price
from apps.planners.light.kinds import Kinds
from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole
from apps.planners.light.model import LightModel
from apps.planners.light.profiles import Profiles
from apps.planners.light.situation_counts import SituationCounts
from apps.planners.light.situations import situations
from apps.planners.light.step_model import StepModel, step_features
from apps.planners.light.text_features import WIDTH, text_features
from apps.planners.light.token_costs import ROLES, TokenModel
from tests.planners.light import samples

SOLVE, PLAN, CHECK, COMBINE = (
    StepRole.SOLVE,
    StepRole.PLAN,
    StepRole.CHECK,
    StepRole.COMBINE,
)
NAMES = ("ada", "ben", "cat")
SUM, STORY = "Compute 12 * 3.", "Ann reads a long story about a theatre."


def centre(text: str) -> np.ndarray:
    """Return a text's vector as a row."""
    row = np.zeros(WIDTH)
    found = text_features(text)
    row[found.places] = found.values
    return row


def kinds(*texts: str) -> Kinds:
    """Return one kind around each text."""
    rows = np.stack([centre(text) for text in texts])
    return Kinds(rows, np.arange(len(texts)), tuple(text[:5] for text in texts))


def step(worker: str, role: StepRole = SOLVE, access=(), grade=None, **tokens):
    return LoggedStep(worker, role, tuple(access), grade, **tokens)


def run(*steps: LoggedStep, prompt: str = SUM, weight: float = 1.0) -> LoggedRun:
    return LoggedRun(prompt, steps, weight)


def model(*runs: LoggedRun, names=NAMES, weights=None) -> LightModel:
    """Return what runs say with a step model that knows nothing: one half each."""
    found = kinds(SUM, STORY)
    profiles = Profiles.empty(len(names), 2)
    counts = SituationCounts.empty(len(names), 2)
    index_of = {name: index for index, name in enumerate(names)}
    for each in runs:
        kind = found.kind_of(each.prompt)
        for seen in situations(each, index_of):
            profiles.add(seen, kind, each.weight)
            counts.add(seen, kind, each.weight)
    if weights is None:
        features = step_features(profiles.table(), samples.ROWS).shape[1]
        weights = np.zeros(features)
    return LightModel(
        tuple(names),
        found,
        profiles,
        StepModel(weights, 0.0),
        counts,
        TokenModel(np.full((len(ROLES), len(names)), 100.0), np.zeros(len(ROLES))),
        np.array([0.8, 0.7]),
    )


def checkers(names: Sequence[str]) -> LightModel:
    """Return a model to which anyone's check of anyone's answer is equally good."""
    checked = [
        run(step(first, SOLVE, [], 0), step(second, CHECK, [0], 1))
        for first in names
        for second in names
    ]
    return model(*checked * 40, names=tuple(names))


def worker(name: str, micros: int | None = 1_000_000, **able) -> PoolWorker:
    """Return a worker; `micros` is its price of a million tokens of either sort."""
    price = None if micros is None else Price(micros, micros)
    return PoolWorker(name, price, **able)


def refused(request: PlanRequest, *plans: Plan) -> PlanRequest:
    """Return the request after refusals of these plans, which are refused still."""
    digests = {plan.digest for plan in plans}

    async def preview(plan: Plan) -> PlanPreview:
        return "refused" if plan.digest in digests else "accepted"

    rejections = (Rejection("", "no"),) * len(plans)
    return replace(request, rejections=rejections, preview=preview)


def asked(
    *workers: PoolWorker, prompt: str = SUM, max_steps: int = 5, tools: int = 0, **more
) -> PlanRequest:
    tool = {"type": "function", "function": {"name": "get_weather"}}
    task = Task(prompt, CallParams(tools=(tool,) * tools), **more)
    return PlanRequest(task, Pool(workers, workers[0].name), max_steps)
