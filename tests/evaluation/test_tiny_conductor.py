"""The conductor that ships plans for the benchmark, as the demo's users let it."""

from __future__ import annotations

from apps.engine import events as ev
from apps.evaluation.selectors import results_of
from apps.pools.services import PlannerFit, planner_version_add, planner_version_use
from apps.runs.models import Run
from apps.runs.records.history import run_events
from apps.simulator.benchmark.workers import ROSTERS
from apps.training.fitting.light import fit_light
from bench.learning_world import explored
from tests.conftest import Site
from tests.evaluation.test_reference_figures import evaluated, imported
from tests.evaluation.test_seeds import version  # noqa: F401
from tests.factories import ACTOR

TASKS = 24
RUNS = 1_000
SYSTEM = {"kind": "tier", "tier": "ultra", "conductor": "tiny-conductor"}


def measure(site: Site, pool: str) -> None:
    """Give the pool a light planner, which plans for no tier but measures workers."""
    roster = ROSTERS["strong"]
    names = tuple(each.name for each in roster)
    found = fit_light([*explored(RUNS, 0, roster)], names)
    fit = PlannerFit(RUNS, found.graded_steps, len(found.model.kinds), names, "0" * 64)
    row = site.cast.team.pools.get(name=pool)
    kept = planner_version_add(
        pool=row, stored=found.model.to_bytes(), fit=fit, actor=ACTOR
    )
    planner_version_use(pool=row, number=kept.number, tiers={}, actor=ACTOR)


def test_its_plans_are_valid(site, version):  # noqa: F811
    pool = imported(site, "benchmark.yaml")
    measure(site, pool)
    found = evaluated(site, version, pool, [SYSTEM], max_tasks=TASKS)
    results = list(results_of(found))
    runs = Run.objects.for_team(found.team_id).filter(
        id__in=[each.run_id for each in results]
    )
    events = [each.event for run in runs for each in run_events(run)]
    kinds = [type(event) for event in events]
    assert kinds.count(ev.PlanAccepted) == len(results) == TASKS
    assert kinds.count(ev.PlanRejectedEvent) == 0
