"""Worker profiles: success by role, worker and kind, from counts. Pure numpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from apps.planners.light.situations import NONE, Act, Situation
from apps.planners.light.text_features import Floats

STRENGTH = 2.0
"""Answers that the prior of a cell is worth."""
WORKER_STRENGTH = 4.0
"""The same, for the means of a worker and of a kind."""
LEAST, MOST = 0.01, 0.99
"""Bounds of probabilities whose logits are taken."""


class ProfileRole(IntEnum):
    """What a profile counts."""

    SOLVE = 0
    """Right answers without a plan in sight."""
    GUIDED = 1
    """Right answers with a plan in sight."""
    CHECK = 2
    """Wrong drafts that were corrected."""
    PLAN = 3
    """Right answers of others by the worker's plan."""


def logit(share: Floats) -> Floats:
    """Return the log-odds of probabilities, which are kept away from 0 and 1."""
    kept = np.clip(share, LEAST, MOST)
    return np.asarray(np.log(kept / (1 - kept)))


def sigmoid(odds: Floats) -> Floats:
    """Return the probabilities of log-odds."""
    return np.asarray(1 / (1 + np.exp(-odds)))


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Weighted counts; both arrays are (role, worker, kind)."""

    seen: Floats
    right: Floats

    @classmethod
    def empty(cls, workers: int, kinds: int) -> Profiles:
        """Return profiles of workers of which nothing is known."""
        shape = (len(ProfileRole), workers, kinds)
        return cls(np.zeros(shape), np.zeros(shape))

    def add(
        self, found: Situation, kind: int, weight: float = 1.0, kept: float = 1.0
    ) -> None:
        """Count one answer. A weight below 0 takes it away again.

        `kept` is what earlier answers of the same cells keep of their weight.
        """
        for role, worker in profile_roles(found):
            place = role, worker, kind
            self.seen[place] = kept * self.seen[place] + weight
            self.right[place] = kept * self.right[place] + weight * found.is_right

    def table(self) -> Floats:
        """Return success as (role, worker, kind), from 0 to 1.

        Thin cells are drawn towards what the worker's and the kind's means suggest.
        """
        seen, right = self.seen, self.right
        role = (right.sum((1, 2)) + 1) / (seen.sum((1, 2)) + 2)
        prior = WORKER_STRENGTH * role[:, None]
        worker = (right.sum(2) + prior) / (seen.sum(2) + WORKER_STRENGTH)
        kind = (right.sum(1) + prior) / (seen.sum(1) + WORKER_STRENGTH)
        expected = sigmoid(
            logit(worker)[:, :, None]
            + logit(kind)[:, None, :]
            - logit(role)[:, None, None]
        )
        return np.asarray((right + STRENGTH * expected) / (seen + STRENGTH))


def profile_roles(found: Situation) -> Iterator[tuple[ProfileRole, int]]:
    """Yield whose profiles an answer counts in: the role and the worker of each."""
    if found.act is Act.SOLVE:
        is_guided = found.planner != NONE
        yield (ProfileRole.GUIDED if is_guided else ProfileRole.SOLVE), found.worker
        if is_guided:
            yield ProfileRole.PLAN, found.planner
    elif found.act is Act.CHECK and not found.was_right:
        yield ProfileRole.CHECK, found.worker
