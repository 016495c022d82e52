"""What was learned of a model that a worker does not stand for any more. Pure numpy.

It is a weak prior for the model that took its place: often that is the next version of
the same one, and sometimes something else altogether.
"""

from __future__ import annotations

import numpy as np

from apps.planners.light.fingerprints import FORMER_SHARE
from apps.planners.light.profiles import Profiles
from apps.planners.light.situation_counts import SituationCounts
from apps.planners.light.text_features import Floats

FORMER_MOST = 4.0
"""Answers that all those of a worker's former models count, at most: thousands of them
would still outweigh the first answers of the present model."""


def former_weight(answers: float) -> float:
    """Return what each of a former model's answers counts, if there are so many."""
    return min(FORMER_SHARE, FORMER_MOST / answers) if answers > 0 else FORMER_SHARE


def discounts(profiles: Profiles, is_changed: Floats) -> Floats:
    """Return by worker what its answers count; `is_changed` is 1 for changed ones."""
    answers = profiles.seen.sum(axis=(0, 2))
    shares = [former_weight(float(of_worker)) for of_worker in answers]
    return np.where(is_changed > 0, np.array(shares), 1.0)


def discounted_profiles(profiles: Profiles, share: Floats) -> Profiles:
    """Return profiles in which each worker's answers count by its share."""
    by_worker = share[None, :, None]
    return Profiles(profiles.seen * by_worker, profiles.right * by_worker)


def discounted_counts(counts: SituationCounts, share: Floats) -> SituationCounts:
    """Return counts in which each worker's answers count by its share.

    Where two workers had a part, the lesser share counts.
    """
    pair = np.minimum(share[:, None], share)[..., None]
    single = share[:, None]
    return SituationCounts(
        counts.solve * single,
        counts.guided * pair,
        counts.check * pair,
        counts.combine * single,
    )
