"""Probes of a worker as a system of evaluations, and plans that it has a part in."""

from __future__ import annotations

from collections import Counter

import pytest

from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.engine.ports import PoolWorker
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.systems.base import PoolNames, TaskContext
from apps.evaluation.systems.light_planner import LightPlannerSystem
from apps.evaluation.systems.probe import ProbeSystem
from apps.planners.fixed import GivenPlanPlanner
from apps.pools.types import PlannerSnapshot
from tests.planners.light.builders import SOLVE, SUM, model, run, step

WORKERS = tuple(PoolWorker(name) for name in ("ada", "ben", "cat", "new"))
KNOWN = model(*[run(step("ada", SOLVE, [], 1))] * 20)
WITH_NEW = model(
    *[run(step("ada", SOLVE, [], 1))] * 20,
    run(step("new", SOLVE, [], 1)),
    names=("ada", "ben", "cat", "new"),
)
POOL = PoolNames(("ada", "new"), 5)


def steps_of(system, place=0, known=KNOWN):
    task = TaskContext(
        key=f"task-{place}",
        family="all",
        prompt=SUM,
        workers=WORKERS,
        fallback="ada",
        carrier="ultra",
        max_steps=5,
        seed=0,
        earlier=lambda _: pytest.fail("it learns from no evaluation"),
        place=place,
        light_planner=lambda number: PlannerSnapshot(number, known),
    )
    planner = system.arrange(task).planner
    assert isinstance(planner, GivenPlanPlanner)
    return planner.steps


def probe(**values):
    return ProbeSystem(kind="probe", worker="new", **values)


def test_four_tasks_get_the_four_probes_and_each_has_the_newcomer():
    for first in range(0, 40, 4):
        found = [steps_of(probe(version=1), place) for place in range(first, first + 4)]
        assert all(any(step.worker == "new" for step in steps) for steps in found)
        assert Counter(map(len, found)) == {1: 1, 2: 3}
        roles = {
            tuple((step.worker == "new", step.subtask) for step in steps)
            for steps in found
        }
        assert len(roles) == 4


def test_four_probes_of_a_task_are_the_four():
    found = {
        tuple((s.worker == "new", s.subtask) for s in steps_of(probe(plan=number)))
        for number in range(1, 5)
    }
    assert len(found) == 4


def test_short_names():
    named = ProbeSystem.named
    assert named(["probe", "new"], POOL) == [{"kind": "probe", "worker": "new"}]
    (with_version,) = named(["probe", "new", "3"], POOL) or [{}]
    assert values_read(ProbeSystem, with_version).label == (
        "probe (new, partners by version 3)"
    )
    assert named(["probe"], POOL) is None


def test_probes_run_training_tasks_only():
    values = {"pool": "p", "systems": [{"kind": "probe", "worker": "new"}]}
    with pytest.raises(InvalidFields, match="training tasks"):
        values_read(EvaluationSettings, values)
    read = values_read(EvaluationSettings, {**values, "split": "training"})
    assert read.grades_code_steps(0)


def test_plans_near_the_best_with_a_newcomer_all_have_it():
    (values,) = LightPlannerSystem.named(["near-best", "2", "1", "new"], POOL) or [{}]
    system = values_read(LightPlannerSystem, values)
    assert system.label == "light planner (version 2, its best plan with new)"
    assert system.named_workers == ("new",)
    for place in range(12):
        workers = {step.worker for step in steps_of(system, place, WITH_NEW)}
        assert "new" in workers
