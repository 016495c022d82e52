"""Counts of exact situations, for which the step model is only the prior."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from apps.planners.light.situations import NONE, Act, Situation
from apps.planners.light.text_features import Floats

STRENGTH = 6.0
"""Answers that the step model's estimate is worth."""
MAX_COMBINED = 3
"""Answers that are combined, at most; of more, situations are not counted."""


@dataclass(frozen=True, slots=True, eq=False)
class SituationCounts:
    """Weighted answers, seen and right: place 0 and 1 of each array's first axis."""

    solve: Floats
    """By worker and kind."""
    guided: Floats
    """By planner, worker and kind."""
    check: Floats
    """By whether a plan was in sight, whether the draft was right, drafter, worker and
    kind."""
    combine: Floats
    """By drafts, right drafts, worker and kind."""

    @classmethod
    def empty(cls, workers: int, kinds: int) -> SituationCounts:
        """Return counts before anything is seen."""
        w, k, most = workers, kinds, MAX_COMBINED + 1
        return cls(
            np.zeros((2, w, k)),
            np.zeros((2, w, w, k)),
            np.zeros((2, 2, 2, w, w, k)),
            np.zeros((2, most, most, w, k)),
        )

    def add(
        self, found: Situation, kind: int, weight: float = 1.0, kept: float = 1.0
    ) -> None:
        """Count one answer. Of more answers than are counted, nothing is.

        `kept` is what earlier answers of the same situation keep of their weight.
        """
        counts = self._counts(found, kind)
        if counts is not None:
            counts *= kept
            counts += weight * np.array([1.0, float(found.is_right)])

    def _counts(self, found: Situation, kind: int) -> Floats | None:
        """Return the view of the two counts of a situation; None: it has none."""
        if found.act is Act.SOLVE and found.planner == NONE:
            return self.solve[:, found.worker, kind]
        if found.act is Act.SOLVE:
            return self.guided[:, found.planner, found.worker, kind]
        if found.act is Act.CHECK:
            planned, right = int(found.is_draft_planned), int(found.was_right)
            return self.check[:, planned, right, found.drafter, found.worker, kind]
        if (drafts := found.right + found.wrong) <= MAX_COMBINED:
            return self.combine[:, drafts, found.right, found.worker, kind]
        return None

    def arrays(self) -> dict[str, Floats]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def posterior(counts: Floats, prior: Floats) -> Floats:
    """Return success after `counts`, seen and right along the first axis."""
    seen, right = counts
    return np.asarray((right + STRENGTH * prior) / (seen + STRENGTH))
