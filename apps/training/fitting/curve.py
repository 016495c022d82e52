"""A fit with its learning curve: the same fit on parts of the runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from apps.engine.ports import Pool, PoolWorker
from apps.planners.light.fingerprints import NOT_KNOWN
from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.planner import LightPlanner
from apps.planners.light.prompt_features import PromptFeatures
from apps.training.fitting.gathering import PromptEmbedding
from apps.training.fitting.light import (
    FitSettings,
    FittedLight,
    TooFewRuns,
    fit_light,
)

PARTS = (0.25, 0.5, 1.0)
PROMPTS = 100
"""Prompts that plans are made for, to say what they are expected to be worth."""
MAX_STEPS = 4


def fitted_with_curve(
    runs: Sequence[LoggedRun],
    workers: Sequence[str],
    seed: int,
    embedding: PromptEmbedding | None = None,
    fingerprints: Mapping[str, str] = NOT_KNOWN,
) -> tuple[FittedLight, list[dict[str, Any]]]:
    """Return a fit on all runs, and a point for each part of them that is enough.

    A point is `{"runs", "log_loss", "expected"}`: the loss of held-out answers, in
    nats, and the mean success that the fit expects of its own plans.
    Raises: TooFewRuns if all of them are too few.
    """
    order = np.random.default_rng(seed).permutation(len(runs))
    shuffled = [runs[place] for place in order]
    settings = FitSettings(seed=seed)
    curve = []
    for part in PARTS[:-1]:
        some = shuffled[: int(part * len(runs))]
        try:
            part_fit = fit_light(some, workers, settings, embedding, fingerprints)
            curve.append(_point(part_fit, runs, embedding))
        except TooFewRuns:
            continue
    fitted = fit_light(shuffled, workers, settings, embedding, fingerprints)
    return fitted, [*curve, _point(fitted, runs, embedding)]


def _point(
    fitted: FittedLight, runs: Sequence[LoggedRun], embedding: PromptEmbedding | None
) -> dict[str, Any]:
    loss = fitted.log_loss
    return {
        "runs": fitted.runs,
        "log_loss": round(loss, 4) if np.isfinite(loss) else None,
        "expected": round(_expected(fitted, runs, embedding), 4),
    }


def _expected(
    fitted: FittedLight, runs: Sequence[LoggedRun], embedding: PromptEmbedding | None
) -> float:
    """Return the mean success that a fit expects of its plans for logged prompts."""
    pool = Pool(
        tuple(PoolWorker(name) for name in fitted.model.workers),
        fallback=fitted.model.workers[0],
    )
    planner = LightPlanner(fitted.model, version=0, answer_worth_micros=math.inf)
    prompts = list(dict.fromkeys(run.prompt for run in runs))[:PROMPTS]
    vectors = {} if embedding is None else embedding.vectors
    found = [
        planner.expected(prompt, pool, MAX_STEPS, PromptFeatures(vectors.get(prompt)))
        for prompt in prompts
    ]
    return float(np.mean(found))
