"""Families of tasks as labels: prompts of two families are never of one kind.

Only the fit knows them. A planner finds the kind of a new prompt by its text alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from apps.planners.light.kinds import Ints
from apps.planners.light.logged_runs import LoggedRun
from apps.planners.light.text_features import Floats

UNLABELLED = -1
LEAST_WEIGHT = 25.0
"""Weight of a family's runs from which it has kinds of its own."""


def family_labels(runs: Sequence[LoggedRun], most: int) -> Ints:
    """Return a number for the family of each run, `UNLABELLED` for one without.

    The `most` families of the largest weight are told apart.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for run in runs:
        if run.family:
            weights[run.family] += run.weight
    large = [name for name, weight in weights.items() if weight >= LEAST_WEIGHT]
    kept = sorted(large, key=lambda name: (-weights[name], name))[:most]
    label_of = {name: label for label, name in enumerate(sorted(kept))}
    return np.array([label_of.get(run.family, UNLABELLED) for run in runs], np.int64)


def shares(labels: Ints, weights: Floats, most: int) -> dict[int, int]:
    """Return how many of `most` centres each label gets: at least one, by weight."""
    whole = float(weights.sum())
    return {
        int(label): max(1, round(most * float(weights[labels == label].sum()) / whole))
        for label in np.unique(labels)
    }
