"""Fits a light planner on logged runs: kinds, profiles, step model, counts, tokens.

Needs scikit-learn (`requirements/learning.txt`); no web process imports this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from apps.planners.light.kinds import Kinds
from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.model import LightModel
from apps.planners.light.profiles import Profiles
from apps.planners.light.situation_counts import SituationCounts
from apps.planners.light.situations import Situation, situations
from apps.planners.light.step_model import (
    Ints,
    SituationRows,
    StepModel,
    step_features,
)
from apps.planners.light.text_features import WIDTH, Floats, text_features
from apps.planners.light.token_costs import fit_token_model

MAX_CLUSTERED = 3_000
"""Prompts that kinds are found from."""
LEAST_A_KIND = 25
"""Prompts for each kind, at least, on the average."""
FOLDS = 5
NEARLY_ALL = 0.05
"""Share of prompts that may be less like their centre than `LightModel.nearness`."""


class TooFewRuns(ValueError):
    """The logged runs hold too few graded answers to learn from."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How a light planner is fitted."""

    kinds: tuple[int, ...] = (6, 12, 24)
    """Numbers of kinds that are tried; the one with the lowest log loss is kept."""
    regularization: float = 1.0
    """Inverse strength, as scikit-learn's `C`."""
    max_iterations: int = 300
    seed: int = 0


@dataclass(frozen=True, slots=True)
class FittedLight:
    """A model, and how it was found."""

    model: LightModel
    runs: int
    graded_steps: int
    log_loss: dict[int, float]
    """Of held-out answers, by number of kinds. In nats."""


@dataclass(frozen=True, slots=True)
class _Logged:
    """Situations of all runs, in columns beside each other."""

    found: list[Situation]
    run: Ints
    """The run of each, by place."""
    weight: Floats
    fold: Ints
    is_right: Ints


def fit_light(
    runs: Sequence[LoggedRun],
    workers: Sequence[str],
    settings: FitSettings = FitSettings(),
) -> FittedLight:
    """Return what the runs say about the workers, the same for the same seed.

    Blocks for seconds: 2,000 runs take about one.  Raises: TooFewRuns.
    """
    logged = _logged(runs, workers, settings.seed)
    if len(set(logged.is_right)) < 2:
        raise TooFewRuns(
            "right and wrong answers are both needed; there are "
            f"{len(logged.found)} graded answers of one sort"
        )
    vectors = _vectors([run.prompt for run in runs])
    tried = {}
    for number in settings.kinds if len(settings.kinds) > 1 else ():
        kinds = _kinds(vectors, number, settings.seed)
        rows, order = _rows(logged, _assigned(kinds, vectors), len(workers), len(kinds))
        tried[number] = _held_out_loss(rows, order, logged, settings)
    best = min(tried, key=tried.__getitem__) if tried else settings.kinds[0]
    kinds = _kinds(vectors, best, settings.seed)
    assigned = _assigned(kinds, vectors)
    rows, order = _rows(logged, assigned, len(workers), len(kinds))
    step_model = _fitted(rows, logged.is_right[order], logged.weight[order], settings)
    profiles, counts = _counted(logged, assigned, len(workers), len(kinds))
    examples = _examples([run.prompt for run in runs], assigned, len(kinds))
    model = LightModel(
        tuple(workers),
        replace(kinds, examples=examples),
        profiles,
        step_model,
        counts,
        fit_token_model(runs, workers),
        _nearness(kinds, vectors, assigned),
    )
    return FittedLight(model, len(runs), len(logged.found), tried)


def _logged(runs: Sequence[LoggedRun], workers: Sequence[str], seed: int) -> _Logged:
    index_of = {name: index for index, name in enumerate(workers)}
    found: list[Situation] = []
    places: list[int] = []
    for place, run in enumerate(runs):
        of_run = list(situations(run, index_of))
        found += of_run
        places += [place] * len(of_run)
    if not found:
        raise TooFewRuns("there are no graded answers")
    folds = np.random.default_rng(seed).integers(FOLDS, size=len(runs))
    by_run = np.array(places)
    return _Logged(
        found,
        by_run,
        np.array([runs[place].weight for place in places]),
        folds[by_run],
        np.array([int(each.is_right) for each in found]),
    )


# --- kinds ----------------------------------------------------------------------------


def _vectors(prompts: Sequence[str]) -> csr_matrix:
    """Return the prompts as rows of a sparse matrix."""
    found = [text_features(prompt) for prompt in prompts]
    starts = np.cumsum([0, *(len(each.places) for each in found)])
    return csr_matrix(
        (
            np.concatenate([each.values for each in found]),
            np.concatenate([each.places for each in found]),
            starts,
        ),
        shape=(len(prompts), WIDTH),
    )


def _kinds(vectors: csr_matrix, number: int, seed: int) -> Kinds:
    most = max(1, min(number, vectors.shape[0] // LEAST_A_KIND))
    found = KMeans(most, n_init=2, random_state=seed).fit(vectors[:MAX_CLUSTERED])
    return Kinds(np.asarray(found.cluster_centers_, np.float64))


def _assigned(kinds: Kinds, vectors: csr_matrix) -> Ints:
    near = vectors @ kinds.centres.T - 0.5 * (kinds.centres**2).sum(axis=1)
    return np.asarray(near.argmax(axis=1))


def _nearness(kinds: Kinds, vectors: csr_matrix, assigned: Ints) -> Floats:
    """Return by kind what nearly all its prompts are at least like its centre."""
    lengths = np.maximum(np.linalg.norm(kinds.centres, axis=1), 1e-9)
    near = vectors @ (kinds.centres / lengths[:, None]).T
    cosines = near[np.arange(len(assigned)), assigned]
    return np.array(
        [
            np.quantile(cosines[assigned == kind], NEARLY_ALL)
            if (assigned == kind).any()
            else 1.0
            for kind in range(len(kinds))
        ]
    )


def _examples(prompts: Sequence[str], assigned: Ints, kinds: int) -> tuple[str, ...]:
    """Return for each kind the words that mark it most, compared with all kinds."""
    words = [Counter[str]() for _ in range(kinds)]
    for prompt, kind in zip(prompts, assigned, strict=True):
        words[kind].update({w for w in prompt.lower().split() if w.isalpha()})
    total = sum(words, Counter[str]())
    sizes = np.bincount(assigned, minlength=kinds)
    return tuple(
        " ".join(
            word
            for word, _ in sorted(
                counted.items(),
                key=lambda each: (
                    -(each[1] / max(1, sizes[kind]) - total[each[0]] / len(prompts)),
                    each[0],
                ),
            )[:3]
        )
        for kind, counted in enumerate(words)
    )


# --- the step model -------------------------------------------------------------------


def _rows(
    logged: _Logged, assigned: Ints, workers: int, kinds: int
) -> tuple[Floats, Ints]:
    """Return features, and which answer each row is of.

    The profiles that an answer's features hold are of the other folds' answers.
    """
    profiles = Profiles.empty(workers, kinds)
    for place, each in enumerate(logged.found):
        profiles.add(each, assigned[logged.run[place]], logged.weight[place])
    parts, order = [], []
    for fold in range(FOLDS):
        places = np.flatnonzero(logged.fold == fold)
        if not len(places):
            continue
        _count(profiles, logged, assigned, places, -1)
        rows = _situation_rows(logged, assigned, places)
        parts.append(step_features(profiles.table(), rows))
        order.append(places)
        _count(profiles, logged, assigned, places, 1)
    return np.concatenate(parts), np.concatenate(order)


def _count(
    profiles: Profiles, logged: _Logged, assigned: Ints, places: Ints, sign: int
) -> None:
    for place in places:
        kind = assigned[logged.run[place]]
        profiles.add(logged.found[place], kind, sign * logged.weight[place])


def _situation_rows(logged: _Logged, assigned: Ints, places: Ints) -> SituationRows:
    found = [logged.found[place] for place in places]

    def column(name: str) -> Ints:
        return np.array([int(getattr(each, name)) for each in found])

    return SituationRows(
        act=column("act"),
        worker=column("worker"),
        kind=assigned[logged.run[places]],
        planner=column("planner"),
        right=column("right"),
        wrong=column("wrong"),
        drafter=column("drafter"),
        is_draft_planned=column("is_draft_planned"),
    )


def _fitted(
    rows: Floats, is_right: Ints, weight: Floats, settings: FitSettings
) -> StepModel:
    fitted = LogisticRegression(
        C=settings.regularization, max_iter=settings.max_iterations
    ).fit(rows, is_right, sample_weight=weight)
    return StepModel(np.asarray(fitted.coef_[0]), float(fitted.intercept_[0]))


def _held_out_loss(
    rows: Floats, order: Ints, logged: _Logged, settings: FitSettings
) -> float:
    """Return the mean log loss of the last fold's answers after a fit on the others."""
    fold = logged.fold[order]
    is_held = fold == fold.max()
    is_right, weight = logged.is_right[order], logged.weight[order]
    if len(set(is_right[~is_held])) < 2 or not is_held.any():
        return float("inf")
    fitted = _fitted(rows[~is_held], is_right[~is_held], weight[~is_held], settings)
    odds = rows[is_held] @ fitted.weights + fitted.intercept
    success = np.clip(1 / (1 + np.exp(-odds)), 1e-3, 1 - 1e-3)
    right = is_right[is_held]
    losses = -(right * np.log(success) + (1 - right) * np.log(1 - success))
    return float(np.average(losses, weights=weight[is_held]))


def _counted(
    logged: _Logged, assigned: Ints, workers: int, kinds: int
) -> tuple[Profiles, SituationCounts]:
    profiles = Profiles.empty(workers, kinds)
    counts = SituationCounts.empty(workers, kinds)
    for place, each in enumerate(logged.found):
        kind, weight = assigned[logged.run[place]], logged.weight[place]
        profiles.add(each, kind, weight)
        counts.add(each, kind, weight)
    return profiles, counts
