"""A calibration: what it measures of workers, who sees it, and what it changes."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.audit.models import JobState
from apps.core.errors import InvalidFields
from apps.evaluation.models import Evaluation, Suite
from apps.evaluation.selectors import evaluation_list
from apps.evaluation.services import evaluation_start, suite_import
from apps.evaluation.suites.tasks import SuiteTask
from apps.pools.models import Conductor, Pool, WorkerProfile
from apps.pools.selectors import pool_snapshot, snapshots_forget
from apps.pools.services import worker_update
from apps.runs.planning.model_resolver import parse_model, resolve
from tests.conftest import Site
from tests.evaluation.samples import confirmed, documents, entries_of, suite
from tests.factories import ACTOR
from tests.patience import eventually


@pytest.fixture
def pool(site: Site) -> Pool:
    """The default pool, a suite of training tasks, and a worker that always fails."""
    site.add_worker("fault-400")
    suite(site.cast.team, [{**task, "split": "training"} for task in documents()])
    return site.cast.team.pools.get(is_default=True)


def signed_in(user: Any) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser


def calibrate(site: Site, pool: Pool, *workers: str) -> Evaluation:
    """Calibrate workers on the page, as alice."""
    page = reverse("console:calibration_new", args=[pool.id])
    form = {
        "suite": "basics",
        "workers": workers,
        "tasks_per_family": 4,
        "parallel_runs": 8,
    }
    alice = signed_in(site.cast.alice)
    asked = alice.post(page, form).content.decode()
    response = alice.post(page, {**form, **confirmed(asked)})
    assert response.status_code == 302, response.content.decode()
    rows = evaluation_list(site.cast.team.id)
    assert eventually(lambda: rows.filter(state=JobState.DONE).exists())
    found = rows.get()
    assert found.outcome == "completed"
    return found


def test_profiles_are_the_sums_of_the_results(site, pool):
    evaluation = calibrate(site, pool, "sim-birch", "sim-delta")
    team = site.cast.team
    for place, name in enumerate(("sim-birch", "sim-delta")):
        for profile in WorkerProfile.objects.for_team(team.id).filter(
            worker__name=name
        ):
            results = evaluation.results.filter(
                system=place, task__family=profile.family
            )
            assert profile.tasks == results.count() == 4
            assert profile.right == results.filter(state="right").count()
            assert profile.cost_micros == sum(r.cost_micros for r in results)
            assert profile.tokens == sum(r.tokens for r in results)
            assert profile.evaluation_id == evaluation.id
            assert profile.suite == "basics, version 1"
    assert WorkerProfile.objects.for_team(team.id).count() == 4
    entries = entries_of(team, "worker.measured")
    assert {data["name"] for data in entries} == {"sim-birch", "sim-delta"}
    assert set(entries[0]["families"]) == {"sums", "facts"}


def test_the_mark_of_simulated_figures_outlives_the_suite(site, pool):
    browser, team = signed_in(site.cast.alice), site.cast.team
    address = reverse("console:pool", args=[pool.id])
    calibrate(site, pool, "sim-birch")
    mark = "<strong>Simulated.</strong>"
    assert mark not in browser.get(address).content.decode()
    tasks = [SuiteTask.model_validate(task) for task in documents()]
    training = [task.model_copy(update={"split": "training"}) for task in tasks]
    for is_simulated in (True, False, True):  # the newest import decides
        suite_import(
            team=team,
            name="basics",
            tasks=training,
            actor=ACTOR,
            is_simulated=is_simulated,
        )
        assert (mark in browser.get(address).content.decode()) is is_simulated
    stored = Suite.objects.for_team(team.id).get(name="basics")
    answer = browser.post(f"/evaluations/suites/{stored.id}/delete/")
    assert answer.status_code == 302
    assert not Suite.objects.for_team(team.id).exists()
    assert mark in browser.get(address).content.decode()


def test_a_pool_of_simulated_workers_marks_the_profiles(site, pool):
    team = site.cast.team
    team.workers.update(tags=["simulated"])
    snapshots_forget(team.id)
    calibrate(site, pool, "sim-birch")
    team.workers.update(tags=[])
    rows = WorkerProfile.objects.for_team(team.id)
    assert {row.is_simulated for row in rows} == {True}


def test_pages_show_them(site, pool):
    browser, team = signed_in(site.cast.vera), site.cast.team
    worker = team.workers.get(name="sim-birch")
    address = reverse("console:worker", args=[worker.id])
    assert "Not calibrated yet." in browser.get(address).content.decode()
    calibrate(site, pool, "sim-birch")
    page = browser.get(address).content.decode()
    assert "basics, version 1" in page
    assert "Calibrate again" not in page  # vera only views
    page = browser.get(reverse("console:pool", args=[pool.id])).content.decode()
    assert "Who is best at what" in page
    assert "2 workers of this pool are not calibrated." in page


def described(team_id: Any) -> dict[str, str]:
    snapshots_forget(team_id)
    pool = resolve(
        parse_model("conductor-ultra"), "conductor-ultra", pool_snapshot(team_id)
    ).pool
    return {worker.name: worker.description for worker in pool.workers}


def test_conductor_reads_them_if_it_is_to(site, pool):
    team = site.cast.team
    team.workers.update(description="Says what it is good at.")
    calibrate(site, pool, "sim-birch")
    version = Pool.objects.for_team(team.id).get(id=pool.id).version
    assert version == pool.version + 1
    conductors = Conductor.objects.for_team(team.id)
    assert set(described(team.id).values()) == {""}
    conductors.update(shows_measurements=True)
    found = described(team.id)
    assert found["sim-birch"].startswith("Measured, right of tasks: ")
    assert found["sim-delta"] == ""
    conductors.update(shows_descriptions=True)
    assert described(team.id)["sim-delta"] == "Says what it is good at."


@pytest.mark.parametrize(
    "values", [{"model": "sim-delta"}, {"reasoning_effort": "low"}]
)
def test_another_model_has_to_be_measured_again(site, pool, values):
    team = site.cast.team
    calibrate(site, pool, "sim-birch")
    worker = team.workers.get(name="sim-birch")
    worker_update(worker=worker, values=values, actor=ACTOR)
    assert not any(w.measured for w in pool_snapshot(team.id).workers)
    page = signed_in(site.cast.alice).get(reverse("console:worker", args=[worker.id]))
    assert "It was calibrated with another model" in page.content.decode()


def test_worker_out_of_reach_gets_no_profile(site, pool):
    calibrate(site, pool, "fault-400", "sim-birch")
    names = WorkerProfile.objects.for_team(site.cast.team.id).values_list(
        "worker__name", flat=True
    )
    assert set(names) == {"sim-birch"}


def test_worker_out_of_reach_keeps_the_profile_it_has(site, pool):
    team = site.cast.team
    calibrate(site, pool, "sim-birch")
    evaluation_list(team.id).delete()
    before = set(WorkerProfile.objects.for_team(team.id).values_list("id", flat=True))
    team.workers.filter(name="sim-birch").update(model="fault-400")
    snapshots_forget(team.id)
    calibrate(site, pool, "sim-birch")
    after = WorkerProfile.objects.for_team(team.id).values_list("id", flat=True)
    assert set(after) == before


def test_calibration_runs_single_workers_only(site, pool):
    principal = member_principal(site.cast.alice, site.cast.team, Role.OWNER, {})
    values = {
        "pool": pool.name,
        "systems": [{"kind": "tier", "tier": "ultra"}],
        "is_calibration": True,
    }
    version = suite(site.cast.team)
    with pytest.raises(InvalidFields, match="single workers only"):
        evaluation_start(
            version=version, values=values, principal=principal, actor=principal.actor
        )


def test_others_may_not_calibrate(site, pool):
    page = reverse("console:calibration_new", args=[pool.id])
    assert signed_in(site.cast.bob).get(page).status_code == 403
    assert signed_in(site.cast.mallory).get(page).status_code in {403, 404}
