"""Situations of every act, as columns."""

from __future__ import annotations

import numpy as np

from apps.planners.light.situations import Act
from apps.planners.light.step_model import joined, situation_rows

ROWS = joined(
    [
        situation_rows(1, Act.SOLVE, 0, worker=np.array([0])),
        situation_rows(1, Act.SOLVE, 0, worker=np.array([0]), planner=np.array([1])),
        situation_rows(
            1,
            Act.CHECK,
            0,
            worker=np.array([1]),
            wrong=np.array([1]),
            drafter=np.array([0]),
        ),
        situation_rows(
            1,
            Act.COMBINE,
            0,
            worker=np.array([2]),
            right=np.array([1]),
            wrong=np.array([2]),
        ),
    ]
)
"""An answer alone, one by a plan, a check of a wrong draft, a combination of three."""
