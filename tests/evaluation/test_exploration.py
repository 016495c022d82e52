"""Explorations draw plans of the templates, the same for the same seed."""

from __future__ import annotations

from collections import Counter

import pytest

from apps.core.errors import InvalidFields, InvalidInput
from apps.core.input_parts import values_read
from apps.engine.ports import PoolWorker
from apps.evaluation.models import StepGrade
from apps.evaluation.services import evaluation_estimate
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.systems.base import PoolNames, TaskContext
from apps.evaluation.systems.exploration import ExplorationSystem
from apps.planners.fixed import GivenPlanPlanner
from apps.planners.light.logged_runs import role_of_subtask
from apps.planners.light.templates import TEMPLATES
from apps.pools.selectors import snapshots_forget
from apps.runs.models import Run
from apps.runs.selectors import run_views
from tests.evaluation.samples import documents, suite
from tests.evaluation.test_driver import ended, start

WORKERS = tuple(PoolWorker(name, None, "") for name in "abcd")
EXPLORATION = {"kind": "exploration"}
POOL = PoolNames(("a", "b"), 5)


def no_earlier(_):
    raise AssertionError("an exploration learns from no evaluation")


def plan(place: int, seed: int = 0, number: int = 1):
    task = TaskContext(
        key=f"task-{place}",
        family="all",
        prompt="?",
        workers=WORKERS,
        fallback="a",
        carrier="ultra",
        max_steps=5,
        seed=seed,
        earlier=no_earlier,
        place=place,
    )
    system = ExplorationSystem(kind="exploration", plan=number)
    planner = system.arrange(task).planner
    assert isinstance(planner, GivenPlanPlanner)
    return planner.steps


def shape(steps):
    return tuple(
        (role_of_subtask(each.subtask, each.access), each.access) for each in steps
    )


def test_each_six_tasks_get_each_template_once():
    for first in range(0, 60, 6):
        found = Counter(shape(plan(place)) for place in range(first, first + 6))
        assert found == Counter(tuple(map(tuple, each)) for each in TEMPLATES)


def test_six_plans_of_a_task_are_the_six_templates():
    found = {shape(plan(3, number=number)) for number in range(1, 7)}
    assert len(found) == 6


def test_no_family_meets_one_template_alone():
    """Suites often have their families in turn."""
    for place in range(6):
        found = {shape(plan(each)) for each in range(place, 240, 6)}
        assert len(found) == 6


def test_workers_are_drawn_equally_and_the_same_for_the_same_seed():
    every = [step.worker for n in range(600) for step in plan(n)]
    shares = [count / len(every) for count in Counter(every).values()]
    assert min(shares) > 0.2
    assert [plan(n) for n in range(20)] == [plan(n) for n in range(20)]
    assert [plan(n) for n in range(20)] != [plan(n, seed=1) for n in range(20)]


def test_its_short_name_says_how_many_plans_each_task_gets():
    named = ExplorationSystem.named
    assert named(["exploration"], POOL) == [EXPLORATION]
    found = named(["exploration", "3"], POOL) or []
    assert [each["plan"] for each in found] == [1, 2, 3]
    assert named(["exploration", "0"], POOL) is None
    too_many = named(["exploration", "1000000"], POOL)
    with pytest.raises(InvalidFields):
        values_read(EvaluationSettings, {"pool": "x", "systems": too_many})


def test_held_out_tasks_are_refused():
    with pytest.raises(InvalidFields, match="runs training tasks"):
        values_read(EvaluationSettings, {"pool": "x", "systems": [EXPLORATION]})


def test_it_runs_on_training_tasks_and_grades_every_step(site):
    tasks = [{**each, "split": "training"} for each in documents()[:6]]
    evaluation = ended(start(site, EXPLORATION, tasks=tasks, split="training"))
    assert evaluation.outcome == "completed"
    team = site.cast.team
    runs = Run.objects.for_team(team.id).filter(source="evaluation")
    views = dict(run_views(team.id, list(runs.values_list("id", flat=True))))
    assert sorted(len(view.newest_plan) for view in views.values()) == [
        1, 2, 2, 3, 3, 4,
    ]  # fmt: skip
    # All but the last step and plans: 2 + 3 drafts combined, 1 + 1 checked.
    assert StepGrade.objects.for_team(team.id).count() == 7


def test_its_estimate_and_a_tier_with_too_few_steps(site):
    tasks = [{**each, "split": "training"} for each in documents()[:6]]
    pool = site.cast.team.pools.get(is_default=True)
    version = suite(site.cast.team, tasks)
    values = {"pool": pool.name, "systems": [EXPLORATION], "split": "training"}
    found = evaluation_estimate(version=version, values=values)
    assert found.runs == 6
    assert found.highest_micros
    pool.tiers.filter(name="ultra").update(max_steps=3)
    snapshots_forget(site.cast.team.id)
    with pytest.raises(InvalidInput, match="takes 4 steps"):
        evaluation_estimate(version=version, values=values)
