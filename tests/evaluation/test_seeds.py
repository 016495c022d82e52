"""The same seed gives the same results, whatever runs at the same time or first."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from apps.evaluation.models import Evaluation, SuiteVersion
from apps.evaluation.selectors import results_of
from apps.evaluation.services import suite_import
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.tasks import SuiteTask
from apps.evaluation.systems.kinds import KINDS
from apps.pools.services import PlannerFit, planner_version_add
from apps.simulator.benchmark.suite import suite_rows
from apps.simulator.benchmark.workers import ROSTERS
from apps.training.fitting.light import fit_light
from bench.learning_world import explored
from tests.conftest import Site
from tests.evaluation.test_reference_figures import evaluated, imported
from tests.factories import ACTOR

pytestmark = [pytest.mark.slow, pytest.mark.spread]

CHEAP, STRONG = "bench-language", "bench-generalist-strong"
TASKS, ALL = 12, 24
GIVEN = [
    {"worker": "bench-planning", "subtask": "Outline how to answer the question."},
    {"worker": CHEAP, "subtask": "Answer the question completely.", "access": [0]},
]
WITHOUT_TRAINING: tuple[dict[str, Any], ...] = (
    {"kind": "tier", "tier": "ultra"},
    {"kind": "tier", "tier": "mini"},
    {"kind": "worker", "worker": CHEAP},
    {"kind": "worker", "worker": STRONG},
    {"kind": "samples", "worker": CHEAP, "samples": 2},
    {"kind": "self_reflection", "worker": CHEAP, "turns": 3},
    {
        "kind": "mixture_of_agents",
        "workers": [CHEAP, "bench-coding"],
        "aggregator": STRONG,
    },
    {"kind": "random_plan"},
    {"kind": "delegated", "worker": "bench-planning"},
    {"kind": "given_plans", "name": "Mine", "others": GIVEN},
)
EXPLORATIONS: tuple[dict[str, Any], ...] = (
    {"kind": "exploration"},
    {"kind": "exploration", "plan": 2},
    {"kind": "probe", "worker": "bench-coding"},
)
NEAR_BEST = {"kind": "light_planner", "near_best": 8}
Result = tuple[str, str, str, int, int, int]


@pytest.fixture
def version(site: Site) -> SuiteVersion:
    tasks = [SuiteTask.model_validate(row) for row in suite_rows(48, 7)]
    return suite_import(team=site.cast.team, name="seeds", tasks=tasks, actor=ACTOR)


def trained(trained_by: Evaluation) -> list[dict[str, Any]]:
    """Return the systems that learn from an earlier evaluation."""
    by = {"measured_by": str(trained_by.id)}
    return [
        {"kind": "worker_per_family", **by},
        {"kind": "nearest_neighbors", **by},
        {"kind": "smoothie", **by},
        {"kind": "cascade", "cheap": CHEAP, "strong": STRONG, **by},
    ]


def results(evaluation: Evaluation) -> list[Result]:
    """Return what was found of each system on each task, without times and ids."""
    settings = EvaluationSettings.model_validate(evaluation.settings)
    return sorted(
        (
            settings.systems[each.system].label,
            each.task.key,
            each.state,
            each.steps,
            each.tokens,
            each.cost_micros,
        )
        for each in results_of(evaluation).select_related("task")
    )


def test_every_kind_of_system_finds_the_same_again_in_another_order(site, version):
    pool = imported(site, "benchmark.yaml")
    single = {"kind": "worker", "worker": "bench-coding"}
    measured = [single, *map(dict, WITHOUT_TRAINING[2:5])]
    learned = evaluated(site, version, pool, measured, split="training")
    light = {"kind": "light_planner", "version": fitted(site, pool)}
    systems = [*map(dict, WITHOUT_TRAINING), *trained(learned), light]
    assert {each["kind"] for each in (*systems, *EXPLORATIONS)} == {
        get_args(kind.model_fields["kind"].annotation)[0] for kind in KINDS
    }
    wanted = {"seed": 11, "max_tasks": TASKS}
    first = evaluated(site, version, pool, systems, **wanted)
    again = evaluated(site, version, pool, systems[::-1], parallel_runs=3, **wanted)
    found = results(first)
    assert len(found) == TASKS * len(systems)
    assert results(again) == found
    assert {state for _, _, state, *_ in found} == {"right", "wrong"}


def test_explorations_find_the_same_again_in_another_order(site, version):
    pool = imported(site, "benchmark.yaml")
    systems = [*EXPLORATIONS, {**NEAR_BEST, "version": fitted(site, pool)}]
    wanted = {"seed": 11, "max_tasks": TASKS, "split": "training"}
    first = evaluated(site, version, pool, systems, **wanted)
    again = evaluated(site, version, pool, systems[::-1], parallel_runs=3, **wanted)
    found = results(first)
    assert len(found) == TASKS * len(systems)
    assert results(again) == found


def fitted(site: Site, pool: str) -> int:
    """Fit a light planner on drawn runs of the benchmark; return its number."""
    roster = ROSTERS["strong"]
    found = fit_light([*explored(300, 0, roster)], [each.name for each in roster])
    names = found.model.workers
    fit = PlannerFit(300, found.graded_steps, 1, names, "0" * 64)
    row = site.cast.team.pools.get(name=pool)
    stored = found.model.to_bytes()
    return planner_version_add(pool=row, stored=stored, fit=fit, actor=ACTOR).number


def test_another_seed_draws_other_tasks_and_plans(site, version):
    pool = imported(site, "benchmark.yaml")

    def found(seed: int, tasks: int) -> list[Result]:
        wanted = {"seed": seed, "max_tasks": tasks}
        return results(
            evaluated(site, version, pool, [{"kind": "random_plan"}], **wanted)
        )

    assert tasks_of(found(1, 6)) != tasks_of(found(2, 6))
    first, second = found(1, ALL), found(2, ALL)
    assert tasks_of(first) == tasks_of(second)
    assert first != second


def tasks_of(found: list[Result]) -> set[str]:
    return {task for _, task, *_ in found}
