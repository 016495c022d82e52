"""Workers that a light planner does not know, and pools without one of their own."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from django.test import Client
from django.utils import timezone

from apps.core.errors import Conflict, InvalidFields, InvalidInput
from apps.evaluation.models import Evaluation, SuiteVersion
from apps.planners.light.logged_runs import StepRole
from apps.planners.light.sources import ModelSource
from apps.pools.models import Pool
from apps.pools.selectors import access_pool, light_planner, planner_versions
from apps.pools.services import PlannerFit, planner_version_add, profiles_replace
from apps.pools.worker_figures.profiles import CalibrationSource, FamilyMeasurement
from apps.training.models import Training
from apps.training.selectors import learning_runs, newcomers
from apps.training.services import planner_use, training_cancel, training_start
from apps.training.trainings.site_defaults import site_default
from tests.conftest import Cast, Site, add_worker, make_pool
from tests.evaluation.samples import entries_of, suite
from tests.factories import ACTOR
from tests.planners.light.builders import SOLVE, model, run, step
from tests.rest.conftest import member
from tests.training.test_trainings import SMALL, ended, pool_of, tasks

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
KNOWN = ("sim-delta", "sim-birch", "sim-gone")
NEW = "sim-flint"
FEW = {**SMALL, "explore_runs": 24, "near_best_runs": 12}


def known_version(pool: Pool) -> None:
    """Give a pool a version that knows its first two workers, and use it."""
    made = model(*[run(step("sim-delta", SOLVE, [], 1))] * 9, names=KNOWN)
    fit = PlannerFit(600, 1_300, 2, KNOWN, "a" * 64)
    version = planner_version_add(
        pool=pool, stored=made.to_bytes(), fit=fit, actor=ACTOR
    )
    planner_use(
        pool=pool, number=version.number, tiers=["ultra"], actor=ACTOR, reason="Test."
    )


def calibrated(pool: Pool, version: SuiteVersion, **right: int) -> None:
    """Give workers profiles: so many of 20 answers right, in each of two families."""
    evaluation = Evaluation.objects.create(
        team=pool.team,
        version=version,
        settings={},
        requested_by={},
        beat_at=timezone.now(),
        state="done",
    )
    profiles_replace(
        team_id=pool.team_id,
        measured={
            name.replace("_", "-"): [
                FamilyMeasurement(family, 20, count, 3_000, 400, 100)
                for family in ("sums", "facts")
            ]
            for name, count in right.items()
        },
        source=CalibrationSource("basics, version 1", evaluation.id, True),
        measured_at=timezone.now(),
        actor=ACTOR,
    )


def ordered(pool: Pool, **values: Any) -> Training:
    return training_start(
        pool=pool,
        suite_version=suite(pool.team, tasks()),
        values=values,
        actor=ACTOR,
    )


def unknown(pool: Pool) -> set[str]:
    return {each.worker for each in newcomers(access_pool(pool.team_id, pool.id))}


# --- newcomers ------------------------------------------------------------------------


def test_a_newcomer_is_probed_tried_in_plans_and_measured(site: Site):
    pool = pool_of(site)
    known_version(pool)
    site.add_worker(NEW)
    training = ended(ordered(access_pool(pool.team_id, pool.id), newcomer=NEW, **FEW))
    assert (training.error, training.version) == ("", 3)
    assert training.outcome in ("better", "not_better")
    runs = list(learning_runs(pool.team_id, pool.name))
    assert len(runs) == 36
    assert all(NEW in {each.worker for each in run.steps} for run in runs)
    probes = [step for run in runs[:24] for step in run.steps if step.worker == NEW]
    assert {each.role for each in probes} >= {StepRole.SOLVE, StepRole.CHECK}
    assert {bool(each.access) for each in probes} == {True, False}
    version = planner_versions(pool)[0]
    assert NEW in version.fit["workers"]
    assert version.gate is not None
    names = {each["name"] for each in version.gate["others"]}
    assert "light planner (version 1)" in names
    assert NEW in unknown(pool)  # version 1 is still in use
    planner_use(pool=pool, number=3, tiers=["ultra"], actor=ACTOR, reason="Test.")
    assert NEW not in unknown(pool)


@pytest.fixture
def pool(cast: Cast) -> Pool:
    make_pool(cast.team, "http://127.0.0.1:9/v1")
    found: Pool = cast.team.pools.get(is_default=True)
    found.tiers.filter(name="ultra").update(max_steps=5)
    return found


def test_a_pool_says_which_worker_is_unknown_and_what_probing_it_costs(cast, pool):
    known_version(pool)
    assert not newcomers(access_pool(cast.team.id, pool.id))
    add_worker(cast.team, "http://127.0.0.1:9/v1", NEW)
    (row,) = newcomers(access_pool(cast.team.id, pool.id))
    assert (row.worker, row.probes, row.runs) == (NEW, 96, None)  # never trained
    training_cancel(training=ordered(pool, newcomer=NEW), actor=ACTOR)
    (row,) = newcomers(access_pool(cast.team.id, pool.id))
    assert row.runs is not None and row.runs > 96
    assert row.highest_cost_micros
    client = Client()
    client.force_login(cast.alice)
    page = client.get("/learning/").content.decode()
    assert f"does not know <bdi>{NEW}</bdi>" in page
    assert "Probe it" in page and "cost at most" in page
    shown = member(cast.alice).get(f"learning/pools/{pool.id}/planner/").json()
    assert shown["newcomers"] == [
        {
            "worker": NEW,
            "is_changed": False,
            "changed_at": None,
            "runs": row.runs,
            "highest_cost_micros": row.highest_cost_micros,
        }
    ]
    viewer = Client()
    viewer.force_login(cast.vera)
    assert "Probe it" not in viewer.get("/learning/").content.decode()


def test_a_probe_is_started_on_the_page(cast, pool):
    known_version(pool)
    add_worker(cast.team, "http://127.0.0.1:9/v1", NEW)
    made = suite(cast.team, tasks())
    client = Client()
    client.force_login(cast.alice)
    address = f"/learning/pools/{pool.id}/train/?newcomer={NEW}"
    assert f"Probe <bdi>{NEW}</bdi>" in client.get(address).content.decode()
    sent = {
        "suite": str(made.suite_id),
        "explore_runs": 48,
        "near_best_runs": 48,
        "held_out_tasks": 10,
        "margin_percent": 2,
        "answer_worth_usd": "",
        "parallel_runs": 8,
        "seed": 0,
        "max_cost_usd": "",
    }
    for wrong in ("much", "10001"):
        refused = client.post(address, {**sent, "answer_worth_usd": wrong})
        assert 'id="id_answer_worth_usd_error"' in refused.content.decode()
    sent["answer_worth_usd"] = "0.05"
    page = client.post(address, sent, follow=True).content.decode()
    assert f"Probing {NEW}" in page and f"Trying plans with {NEW}" in page
    row = Training.objects.for_team(cast.team.id).get()
    assert row.settings["newcomer"] == NEW
    assert row.settings["answer_worth_micros"] == 50_000


def test_only_workers_of_the_pool_are_probed_and_only_for_a_fitted_version(cast, pool):
    with pytest.raises(Conflict, match="no light planner"):
        ordered(pool, newcomer="sim-delta")
    known_version(pool)
    with pytest.raises(InvalidInput, match="no worker 'nobody'"):
        ordered(access_pool(cast.team.id, pool.id), newcomer="nobody")
    with pytest.raises(InvalidFields, match="needs probes"):
        ordered(pool, newcomer=NEW, explore_runs=0)


# --- the site's default ---------------------------------------------------------------


def test_one_calibration_is_enough_for_a_planner_that_says_what_it_is(site: Site):
    pool = pool_of(site)
    version = suite(site.cast.team, tasks())
    calibrated(pool, version, sim_delta=19, sim_birch=2)
    training = ended(ordered(pool, from_profiles=True, held_out_tasks=10))
    assert (training.error, training.version) == ("", 1)
    assert training.exploration_id is None and training.near_best_id is None
    made = planner_versions(pool)[0]
    assert made.source is ModelSource.SITE_DEFAULT
    assert made.fit["runs"] == 0 and made.fit["graded_steps"] == 80
    assert made.gate is not None and made.gate["tasks"] == 10
    (entry,) = entries_of(site.cast.team, "pool.planner_fitted")
    assert entry["source"] == "site_default"
    with pytest.raises(InvalidInput, match="not better"):
        planner_use(pool=pool, number=1, tiers=["ultra"], actor=ACTOR)
    planner_use(pool=pool, number=1, tiers=["ultra"], actor=ACTOR, reason="Test.")
    headers = {"Authorization": f"Bearer {site.key}"}
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": "What is 17 * 7 + 4?"}],
    }
    answer = httpx.post(
        f"{site.url}/v1/chat/completions", json=body, headers=headers, timeout=60
    )
    run_id = answer.headers["x-conductor-run-id"]
    shown = httpx.get(f"{site.url}/api/v1/runs/{run_id}/", headers=headers).json()
    (why,) = shown["explanations"]
    assert why["source"] == "site_default"
    assert why["kind_words"] == "sums"
    assert why["alone"][0]["steps"][0]["worker"] == "sim-delta"
    client = Client()
    client.force_login(site.cast.alice)
    page = client.get("/learning/").content.decode()
    assert "site default" in page
    assert "It takes about 500 graded runs" in page
    run_page = client.get(f"/runs/{run_id}/").content.decode()
    assert "Site default" in run_page


def test_the_page_offers_the_default_once_workers_are_calibrated(cast, pool):
    client = Client()
    client.force_login(cast.alice)
    before = client.get("/learning/").content.decode()
    assert "Measure the default" not in before and "calibrated</a>" in before
    version = suite(cast.team, tasks())
    calibrated(pool, version, sim_delta=19)
    assert "Measure the default" in client.get("/learning/").content.decode()
    address = f"/learning/pools/{pool.id}/train/?from=profiles"
    form = client.get(address).content.decode()
    assert "Measure the site" in form and "explore_runs" not in form
    sent = {
        "suite": str(version.suite_id),
        "held_out_tasks": 10,
        "margin_percent": 2,
        "answer_worth_usd": "",
        "parallel_runs": 8,
        "seed": 0,
        "max_cost_usd": "",
    }
    page = client.post(address, sent, follow=True).content.decode()
    assert "Reading profiles" in page and "Exploring" not in page
    assert Training.objects.for_team(cast.team.id).get().settings["from_profiles"]


def test_without_a_calibration_there_is_no_default(cast, pool):
    with pytest.raises(Conflict, match="no worker of pool"):
        ordered(pool, from_profiles=True)
    with pytest.raises(InvalidFields, match="nothing is explored"):
        ordered(pool, from_profiles=True, newcomer=NEW)


def test_the_default_knows_calibrated_workers_alone(cast, pool):
    calibrated(pool, suite(cast.team, tasks()), sim_delta=19)
    found = site_default(pool)
    assert found.fit.workers == ("sim-delta",)
    version = planner_version_add(
        pool=pool, stored=found.stored, fit=found.fit, actor=ACTOR
    )
    known = light_planner(cast.team.id, pool.id, version.number).model
    assert known.source is ModelSource.SITE_DEFAULT
    assert known.kinds.examples == ("facts", "sums")
