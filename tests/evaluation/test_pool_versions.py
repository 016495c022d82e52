"""Two versions of one pool are compared, in evaluations; what is gone is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management.base import CommandError

from apps.core.errors import InvalidFields, InvalidInput
from apps.core.ids import new_id
from apps.engine import events as ev
from apps.evaluation.models import Evaluation
from apps.evaluation.reports.report import report_make
from apps.evaluation.reports.report_markdown import report_markdown
from apps.evaluation.selectors import results_of
from apps.pools.services import credential_create, credential_delete, worker_delete
from apps.runs.models import Run, RunState
from apps.runs.selectors import order_of, run_events, run_view
from apps.runs.services import run_rerun
from tests.conftest import Site
from tests.console.test_evaluations import signed_in
from tests.evaluation.pool_changes import change_pool, change_worker, pool_now
from tests.evaluation.samples import command, confirmed, documents, suite
from tests.evaluation.test_ab import alice
from tests.evaluation.test_driver import ended, start
from tests.factories import ACTOR
from tests.patience import eventually

TASKS = documents()[:2]
DELTA = {"kind": "worker", "worker": "sim-delta"}
BIRCH = {"kind": "worker", "worker": "sim-birch"}
TIER = {"kind": "tier", "tier": "ultra"}


def versioned(system: dict[str, str], version: int = 1) -> dict[str, object]:
    return {**system, "pool_version": version}


def runs_of(evaluation: Evaluation, system: int) -> list[Run]:
    ids = results_of(evaluation).filter(system=system).values("run_id")
    return list(Run.objects.for_team(evaluation.team_id).filter(id__in=ids))


def pool_version(run: Run) -> int:
    created = run_events(run)[0].event
    assert isinstance(created, ev.RunCreated)
    return created.pool_version


def test_both_versions_answer_in_one_evaluation(site: Site):
    change_worker(site.cast.team, "sim-delta", model="sim-birch")
    systems = DELTA, versioned(DELTA)
    limit = 5_000_000
    evaluation = ended(start(site, *systems, tasks=TASKS, max_cost_micros=limit))
    now, then = runs_of(evaluation, 0), runs_of(evaluation, 1)
    assert [{pool_version(run) for run in runs} for runs in (now, then)] == [{2}, {1}]
    assert all("birch" in (run_view(run).answer or "") for run in now)
    assert not any("birch" in (run_view(run).answer or "") for run in then)
    report = report_make(evaluation)
    labels = [system.label for system in report.systems]
    assert labels == ["sim-delta", "sim-delta (pool version 1)"]
    assert "sim-delta (pool version 1)" in report_markdown(report)


def test_a_version_has_its_own_workers_tiers_and_planner(site: Site):
    team = site.cast.team
    birch = team.workers.get(name="sim-birch")
    planner = {"planner": "single_worker", "max_steps": 1}
    change_pool(
        team,
        worker_ids=[str(birch.id)],
        fallback_id=str(birch.id),
        conductor_id=None,
        tiers={"ultra": planner, "mini": {"planner": "single_worker"}},
    )
    evaluation = ended(start(site, TIER, versioned(TIER), tasks=TASKS))
    now, then = report_make(evaluation).systems
    assert (now.steps, now.shares) == (2, {"sim-birch": 1.0})
    assert then.label == "conductor (ultra, pool version 1)"
    assert then.ended == 2
    planners = [run_events(run)[0].event for run in runs_of(evaluation, 1)]
    assert {getattr(event, "planner", "") for event in planners} == {"language_model"}


def test_the_order_on_record_names_the_version(site: Site):
    change_worker(site.cast.team, "sim-delta", model="sim-birch")
    evaluation = ended(start(site, versioned(DELTA), tasks=TASKS[:1]))
    (run,) = runs_of(evaluation, 0)
    created = run_events(run)[0].event
    assert isinstance(created, ev.RunCreated)
    assert order_of(run, created).pool_version == 1
    again = run_rerun(run, alice(site))
    rows = Run.objects.for_team(site.cast.team.id).filter(id=again)
    assert eventually(lambda: rows.filter(state=RunState.COMPLETED).exists())
    assert pool_version(rows.get()) == 2


def test_a_model_that_is_still_served_costs_what_it_costs_now(site: Site):
    change_worker(
        site.cast.team,
        "sim-delta",
        description="Quick.",
        price={"valid_from": "2025-02-01", "input_usd": "100", "output_usd": "200"},
    )
    evaluation = ended(start(site, DELTA, versioned(DELTA), tasks=TASKS))
    now, then = report_make(evaluation).systems
    assert now.cost_micros == then.cost_micros > 0


def test_a_model_that_was_replaced_costs_what_it_cost_then(site: Site):
    price = {"valid_from": "2025-02-01", "input_usd": "100", "output_usd": "200"}
    change_worker(site.cast.team, "sim-delta", model="sim-birch", price=price)
    evaluation = ended(start(site, BIRCH, DELTA, versioned(DELTA), tasks=TASKS))
    usual, dear, then = report_make(evaluation).systems
    assert dear.cost_micros > 20 * then.cost_micros
    assert usual.cost_micros > 0


def delete_birch(site: Site) -> None:
    delta = site.cast.team.workers.get(name="sim-delta")
    change_pool(site.cast.team, worker_ids=[str(delta.id)], fallback_id=str(delta.id))
    birch = site.cast.team.workers.get(name="sim-birch")
    worker_delete(worker=birch, actor=ACTOR)


def disable_birch(site: Site) -> None:
    change_worker(site.cast.team, "sim-birch", is_enabled=False)


def delete_key(site: Site) -> None:
    lock_and_unlock(site, model="sim-cedar")


def lock_and_unlock(site: Site, **values: Any) -> None:
    """Give sim-birch a key for version 2 alone; then the key is deleted."""
    team, url = site.cast.team, site.simulator_url
    given = {"name": "Old key", "base_url": url, "secret": "not-a-real-key"}
    key = credential_create(team=team, values=given, actor=ACTOR)
    change_worker(team, "sim-birch", credential_id=str(key.id))
    change_worker(team, "sim-birch", credential_id=None, **values)
    credential_delete(credential=key, actor=ACTOR)
    assert pool_now(team).version == 3


@pytest.mark.parametrize(
    ("change", "version", "words"),
    [
        (delete_birch, 1, "needs worker 'sim-birch', which has been deleted"),
        (disable_birch, 1, "needs worker 'sim-birch', which is disabled now"),
        (delete_key, 2, "needs the credential 'Old key' of worker 'sim-birch'"),
    ],
)
def test_what_a_version_needs_and_is_gone_is_named_beforehand(
    site, change, version, words
):
    change(site)
    with pytest.raises(InvalidInput, match=words) as refused:
        start(site, TIER, versioned(TIER, version))
    assert refused.value.param == "systems"
    assert f"conductor (ultra, pool version {version})" in refused.value.message
    assert not Evaluation.objects.for_team(site.cast.team.id).exists()


def test_a_model_that_is_still_served_needs_no_key_of_before(site: Site):
    lock_and_unlock(site, description="It needs no key any more.")
    evaluation = ended(start(site, versioned(BIRCH, 2), tasks=TASKS))
    assert [row.state for row in results_of(evaluation)] == ["right", "right"]


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"systems": [versioned(TIER, 9)]}, InvalidInput, "has no version 9"),
        ({"systems": [versioned(TIER, 0)]}, InvalidFields, "greater than or equal"),
        (
            {"systems": [versioned(DELTA)], "is_calibration": True},
            InvalidFields,
            "measures the present pool",
        ),
        ({"systems": [TIER, TIER]}, InvalidFields, "is there twice"),
    ],
)
def test_bad_settings_are_refused(site: Site, values: dict[str, Any], error, words):
    with pytest.raises(error, match=words):
        start(site, **values)


def test_a_version_goes_on_while_the_pool_changes(site: Site):
    """A system with the present version stays with it."""
    version = pool_now(site.cast.team).version
    evaluation = start(site, versioned(DELTA, version), tasks=TASKS)
    change_worker(site.cast.team, "sim-delta", model="sim-birch")
    for run in runs_of(ended(evaluation), 0):
        assert pool_version(run) == version


def test_versions_by_command(site: Site):
    suite(site.cast.team, TASKS)
    change_worker(site.cast.team, "sim-delta", model="sim-birch")
    out, _ = command(
        "evaluate",
        "basics",
        "--team=orchestra",
        "--system=conductor:mini",
        "--system=conductor:mini:pool-version=1",
        "--system=worker:sim-delta:pool-version=1",
    )
    assert "conductor (mini, pool version 1)" in out
    assert "sim-delta (pool version 1)" in out
    with pytest.raises(CommandError, match="pool_version"):
        command(
            "evaluate",
            "basics",
            "--team=orchestra",
            "--system=conductor:mini:pool-version=x",
        )


def test_versions_on_the_page(site: Site):
    suite(site.cast.team, TASKS)
    page = signed_in(site.cast.alice)
    assert "Version 1, 20" not in page.get("/evaluations/new/").content.decode()
    change_worker(site.cast.team, "sim-delta", model="sim-birch")
    assert "Version 1, 20" in page.get("/evaluations/new/").content.decode()
    wanted = {
        "suite": "basics",
        "pool": pool_now(site.cast.team).name,
        "systems": ["conductor:ultra"],
        "worker": "sim-delta",
        "pool_version": "1",
        "parallel_runs": "8",
        "seed": "0",
    }
    asked = page.post("/evaluations/new/", wanted).content.decode()
    assert "4 runs" in asked
    made = page.post("/evaluations/new/", {**wanted, **confirmed(asked)})
    report = page.get(made.headers["location"]).content.decode()
    assert ended(Evaluation.objects.for_team(site.cast.team.id).get()).graded == 4
    report = page.get(made.headers["location"]).content.decode()
    assert "conductor (ultra)" in report
    assert "conductor (ultra, pool version 1)" in report


def test_another_team_has_no_such_version(site: Site):
    """Versions are those of the team's own pool of that name."""
    team, other = site.cast.team, site.cast.other_team
    change_worker(team, "sim-delta", model="sim-birch")
    pool = pool_now(team)
    row = pool.versions.get(version=1)
    pool.versions.create(
        id=new_id(), team=other, version=7, document=row.document, actor_name="Other"
    )
    with pytest.raises(InvalidInput, match="has no version 7"):
        start(site, versioned(TIER, 7))


def test_a_pool_without_ultra_has_its_fixed_plans_in_mini(site: Site):
    team = site.cast.team
    change_pool(team, tiers={"ultra": None, "mini": {"max_steps": 3}})
    suite(team, TASKS)
    out, _ = command(
        "evaluate",
        "basics",
        "--team=orchestra",
        "--system=conductor:mini",
        "--system=self-reflection:sim-birch:2",
        "--system=random-plan",
    )
    assert "self-reflection × 2 (sim-birch)" in out
    created = [run_events(run)[0].event for run in Run.objects.for_team(team.id)]
    assert {getattr(event, "tier", "") for event in created} == {"mini"}


def test_a_plan_that_fits_no_tier_is_refused_with_the_limit(site: Site):
    change_pool(site.cast.team, tiers={"ultra": None})
    site.add_worker("sim-cedar")
    suite(site.cast.team, TASKS)
    with pytest.raises(CommandError, match="takes 3 steps, and tier 'mini'"):
        command("evaluate", "basics", "--team=orchestra", "--system=moa:sim-birch")
    with pytest.raises(CommandError, match="has no tier 'ultra'"):
        command("evaluate", "basics", "--team=orchestra", "--system=conductor:ultra")
