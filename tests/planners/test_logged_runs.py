"""The role of a step is read from its subtask and its access list."""

from __future__ import annotations

import pytest

from apps.planners import examples, fixed
from apps.planners.light.logged_runs import StepRole, role_of_subtask
from apps.planners.light.templates import SUBTASKS

PLAN, SOLVE, CHECK, COMBINE = StepRole


@pytest.mark.parametrize("role", StepRole)
def test_the_light_planners_own_subtasks_are_read_back(role):
    access = (0, 1) if role in (CHECK, COMBINE) else ()
    assert role_of_subtask(SUBTASKS[role], access) == role


@pytest.mark.parametrize(
    ("subtask", "access", "role"),
    [
        (fixed.FIRST_ATTEMPT, (), SOLVE),
        (fixed.FIRST_ATTEMPT, (0,), SOLVE),
        (fixed.REFLECTION, (0,), CHECK),
        (fixed.PROPOSAL, (), SOLVE),
        (fixed.AGGREGATION, (0, 1), COMBINE),
        (fixed.ANEW, (0, 1), SOLVE),
    ],
)
def test_subtasks_of_fixed_planners(subtask, access, role):
    assert role_of_subtask(subtask, access) == role


@pytest.mark.parametrize(
    ("example", "roles"),
    [
        (examples.RECALL, [SOLVE]),
        (examples.MATHEMATICS, [SOLVE, SOLVE, COMBINE]),
        (examples.CODE, [PLAN, SOLVE, CHECK]),
    ],
)
def test_subtasks_that_conductors_are_shown(example, roles):
    steps = example.plan.steps
    assert [role_of_subtask(each.subtask, each.access) for each in steps] == roles
