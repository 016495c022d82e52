"""Fits a light planner on logged runs: kinds, profiles, step model, counts, tokens.

Needs scikit-learn (`requirements/learning.txt`); no web process imports this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from apps.planners.light.familiar_words import familiar_words
from apps.planners.light.fingerprints import NOT_KNOWN
from apps.planners.light.former_models import former_weight
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
from apps.planners.light.text_features import Floats
from apps.planners.light.token_costs import fit_token_model
from apps.training.fitting.families import family_labels
from apps.training.fitting.gathering import PromptEmbedding, gathered
from apps.training.fitting.kinds import example_words, merged_centres

FOLDS = 5


class TooFewRuns(ValueError):
    """The logged runs hold too few graded answers to learn from."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How a light planner is fitted."""

    centres: int = 24
    """Centres of prompts, at most, before those are merged whose workers do alike."""
    merge_strength: float = 2.0
    """Answers that the prior of a worker's success is worth when centres are merged."""
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
    log_loss: float
    """Mean of held-out answers, in nats."""


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
    embedding: PromptEmbedding | None = None,
    fingerprints: Mapping[str, str] = NOT_KNOWN,
) -> FittedLight:
    """Return what the runs say about the workers, the same for the same seed.

    `fingerprints` are of the models that the workers are to be known by; answers of
    other models under their names count little. With `embedding` kinds are found among
    the vectors of prompts, else by n-grams.
    Blocks for seconds: 2,000 runs take about one.  Raises: TooFewRuns.
    """
    logged = _logged(runs, workers, settings.seed, fingerprints)
    if len(set(logged.is_right)) < 2:
        raise TooFewRuns(
            "right and wrong answers are both needed; there are "
            f"{len(logged.found)} graded answers of one sort"
        )
    prompts = [run.prompt for run in runs]
    weights = np.array([run.weight for run in runs])
    labels = family_labels(runs, settings.centres)
    found = gathered(
        prompts, weights, labels, settings.centres, settings.seed, embedding
    )
    alone, _ = _counted(logged, found.nearest, len(workers), len(found.centres))
    of_centre = merged_centres(alone, settings.merge_strength, found.labels)
    assigned, number = of_centre[found.nearest], int(of_centre.max()) + 1
    rows, order = _rows(logged, assigned, len(workers), number)
    profiles, counts = _counted(logged, assigned, len(workers), number)
    model = LightModel(
        tuple(workers),
        found.kinds(of_centre, example_words(prompts, assigned, number)),
        profiles,
        _fitted(rows, logged.is_right[order], logged.weight[order], settings),
        counts,
        fit_token_model(runs, workers, fingerprints),
        found.nearness(of_centre),
        words=familiar_words(prompts),
        fingerprints=fingerprints,
    )
    loss = _held_out_loss(rows, order, logged, settings)
    return FittedLight(model, len(runs), len(logged.found), loss)


def _logged(
    runs: Sequence[LoggedRun],
    workers: Sequence[str],
    seed: int,
    fingerprints: Mapping[str, str],
) -> _Logged:
    index_of = {name: index for index, name in enumerate(workers)}
    found: list[Situation] = []
    places: list[int] = []
    for place, run in enumerate(runs):
        of_run = list(situations(run, index_of, fingerprints))
        found += of_run
        places += [place] * len(of_run)
    if not found:
        raise TooFewRuns("there are no graded answers")
    folds = np.random.default_rng(seed).integers(FOLDS, size=len(runs))
    by_run = np.array(places)
    weights = np.array([runs[place].weight for place in places])
    return _Logged(
        found,
        by_run,
        weights * _shares_of_former(found, weights),
        folds[by_run],
        np.array([int(each.is_right) for each in found]),
    )


def _shares_of_former(found: Sequence[Situation], weights: Floats) -> Floats:
    """Return what each answer counts: little if a former model had a part in it."""
    answers: Counter[int] = Counter()
    for situation, weight in zip(found, weights, strict=True):
        answers.update(dict.fromkeys(situation.former, float(weight)))
    shares = {worker: former_weight(total) for worker, total in answers.items()}
    return np.array(
        [
            min((shares[worker] for worker in situation.former), default=1.0)
            for situation in found
        ]
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
    return situation_columns(found, assigned[logged.run[places]])


def situation_columns(found: Sequence[Situation], kinds: Ints) -> SituationRows:
    """Return situations as columns; `kinds` has the kind of each."""

    def column(name: str) -> Ints:
        return np.array([int(getattr(each, name)) for each in found])

    return SituationRows(
        act=column("act"),
        worker=column("worker"),
        kind=kinds,
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
