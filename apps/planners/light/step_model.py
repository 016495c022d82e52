"""The step model: the probability that one answer is right, from profiles and sight.

A logistic regression on log-odds of profiles, crossed with the situation, so that the
same numbers mean something else for a first answer, a check and a combination. It is
fitted elsewhere (`apps.training`); here are its features and its plain arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apps.planners.light.profiles import ProfileRole, logit, sigmoid
from apps.planners.light.situations import NONE, Act
from apps.planners.light.text_features import Floats

Ints = npt.NDArray[np.int64]


class SituationRows(NamedTuple):
    """Situations as columns: one place in each array for one answer."""

    act: Ints
    worker: Ints
    kind: Ints
    planner: Ints
    """NONE where no plan is in sight."""
    right: Ints
    wrong: Ints
    drafter: Ints
    """NONE where no answer is checked."""
    is_draft_planned: Ints
    """1 where that answer had a plan in sight."""


def situation_rows(count: int, act: Act, kind: int, **columns: Ints) -> SituationRows:
    """Return `count` situations of one act and kind; what is not given is not there."""
    nothing = np.full(count, NONE)
    zeros = np.zeros(count, np.int64)
    given = {
        "act": np.full(count, int(act)),
        "kind": np.full(count, kind),
        "planner": nothing,
        "right": zeros,
        "wrong": zeros,
        "drafter": nothing,
        "is_draft_planned": zeros,
        **columns,
    }
    return SituationRows(**given)


def joined(parts: list[SituationRows]) -> SituationRows:
    """Return the situations of several parts, in order."""
    return SituationRows(
        *(np.concatenate(column) for column in zip(*parts, strict=True))
    )


def step_features(table: Floats, rows: SituationRows) -> Floats:
    """Return one row of features for each situation.

    `table` is success as (role, worker, kind), see `Profiles.table`.
    """
    is_act = [rows.act == act for act in Act]
    has_plan = (rows.planner != NONE) & is_act[Act.SOLVE]
    by_role = _profiles(table, rows, has_plan)
    has_right = rows.right > 0
    combined = is_act[Act.COMBINE]
    situation = np.stack(
        [
            *is_act,
            has_plan,
            is_act[Act.CHECK] & has_right,
            combined * rows.right,
            combined * rows.wrong,
            combined & ~has_right,
        ],
        axis=1,
    ).astype(np.float64)
    crossed = situation[:, :, None] * by_role[:, None, :]
    both = by_role[:, _GUIDED] * by_role[:, _PLANNER]
    fixable = by_role[:, _CHECK] * by_role[:, _DRAFTER] * ~has_right
    return np.concatenate(
        [
            situation,
            crossed.reshape(len(situation), -1),
            both[:, None],
            fixable[:, None],
        ],
        axis=1,
    )


_SOLVE, _GUIDED, _CHECK, _PLANNER, _DRAFTER = range(5)


def _profiles(
    table: Floats, rows: SituationRows, has_plan: npt.NDArray[np.bool_]
) -> Floats:
    """Return log-odds as five columns; 0 where a profile does not matter."""
    odds = logit(table)

    def of(role: ProfileRole | Ints, worker: Ints) -> Floats:
        return np.asarray(odds[role, worker, rows.kind])

    is_check = rows.act == Act.CHECK
    drafted = np.where(
        rows.is_draft_planned == 1, ProfileRole.GUIDED, ProfileRole.SOLVE
    )
    columns = [
        np.where(has_plan, 0, of(ProfileRole.SOLVE, rows.worker)),
        np.where(has_plan, of(ProfileRole.GUIDED, rows.worker), 0),
        np.where(is_check, of(ProfileRole.CHECK, rows.worker), 0),
        np.where(has_plan, of(ProfileRole.PLAN, rows.planner), 0),
        np.where(rows.drafter != NONE, of(drafted, rows.drafter), 0),
    ]
    return np.stack(columns, axis=1)


class StepModel(NamedTuple):
    """A fitted logistic regression, as plain arrays."""

    weights: Floats
    intercept: float

    def success(self, table: Floats, rows: SituationRows) -> Floats:
        """Return the probability of a right answer in each situation."""
        odds = step_features(table, rows) @ self.weights + self.intercept
        return sigmoid(np.asarray(odds))
