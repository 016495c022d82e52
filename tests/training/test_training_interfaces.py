"""Trainings and versions of light planners on pages, over REST and by command."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Scope
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.core.errors import InvalidFields
from apps.pools.models import Pool
from apps.pools.selectors import access_pool, planner_version
from apps.pools.services import (
    PlannerFit,
    planner_version_add,
    planner_version_measured,
    planner_version_use,
    pool_update,
)
from apps.training.models import Training
from apps.training.trainings.models import Stage, TrainingOutcome
from apps.training.trainings.settings import TrainingPlan
from tests.conftest import Cast, make_pool
from tests.evaluation.samples import command, documents, suite
from tests.factories import ACTOR
from tests.rest.conftest import keyed, member

pytestmark = pytest.mark.django_db
GATE = {
    "evaluation": None,
    "is_simulated": True,
    "tasks": 60,
    "new": {
        "name": "light planner (version 1)",
        "success": 0.9,
        "cost_micros": 390,
        "tokens": 410,
    },
    "others": [
        {
            "name": "best & brightest",
            "success": 0.8,
            "cost_micros": 3_400,
            "tokens": 1_380,
            "difference": 0.1,
            "low": 0.01,
            "high": 0.19,
        }
    ],
    "margin": 0.02,
    "best_other": "best & brightest",
    "result": "more_accurate",
    "is_better": True,
}


@pytest.fixture
def pool(cast: Cast) -> Pool:
    make_pool(cast.team, "http://127.0.0.1:9/v1")
    found: Pool = cast.team.pools.get(is_default=True)
    return found


def tasks() -> list[dict[str, Any]]:
    return [
        {**task, "split": "training" if place % 2 else "held_out"}
        for place, task in enumerate(documents())
    ]


def version(pool: Pool, gate: dict[str, Any] | None = None) -> int:
    fit = PlannerFit(600, 1_300, 7, ("sim-delta",), "a" * 64)
    made = planner_version_add(pool=pool, stored=b"-", fit=fit, actor=ACTOR)
    if gate is not None:
        planner_version_measured(version=made, gate=gate)
    return made.number


def training(cast: Cast, pool: Pool, **values: Any) -> Training:
    given = {
        "state": JobState.DONE,
        "stage": Stage.END,
        "outcome": TrainingOutcome.BETTER,
        "version": 1,
        "curve": [
            {"stage": "fit", "runs": 300, "log_loss": 0.5, "expected": 0.8},
            {"stage": "refit", "runs": 300, "log_loss": 0.5, "expected": 0.85},
            {"stage": "refit", "runs": 600, "log_loss": 0.4, "expected": 0.9},
        ],
        **values,
    }
    made: Training = Training.objects.create(
        team=cast.team,
        pool=pool,
        suite_version=suite(cast.team, tasks()),
        settings=TrainingPlan().values(),
        requested_by=actor_facts(ACTOR),
        beat_at="2025-11-23T00:00:00Z",
        **given,
    )
    return made


def browser(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


# --- pages ----------------------------------------------------------------------------


def test_a_training_is_started_on_the_page(cast, pool):
    made = suite(cast.team, tasks())
    alice = browser(cast.alice)
    address = f"/learning/pools/{pool.id}/train/"
    page = alice.get(address).content.decode()
    assert "Train the light planner" in page
    assert 'name="held_out_tasks" value="120"' in page
    usual = TrainingPlan().values()
    given = {
        **{name: value for name, value in usual.items() if value is not None},
        "suite": str(made.suite_id),
        "tiers": ["ultra"],
        "max_cost_usd": "",
    }
    answer = alice.post(address, given, follow=True)
    row = Training.objects.for_team(cast.team.id).get()
    assert answer.redirect_chain == [(f"/learning/trainings/{row.id}/", 302)]
    assert row.settings["tiers"] == ["ultra"]
    page = answer.content.decode()
    assert "Exploring near the best" in page
    assert alice.post(address, given).status_code == 200  # it is being trained
    stopped = alice.post(f"/learning/trainings/{row.id}/cancel/", follow=True)
    assert "being cancelled" in stopped.content.decode()


def test_learning_does_not_say_that_there_is_nothing_above_a_version(cast, pool):
    version(pool, GATE)
    page = browser(cast.vera).get("/learning/").content.decode()
    assert "Nothing to learn from yet" not in page
    assert "keep what they learned before" in page


def test_the_page_of_a_training_shows_curve_and_comparison(cast, pool):
    version(pool, GATE)
    row = training(cast, pool)
    page = browser(cast.vera).get(f"/learning/trainings/{row.id}/").content.decode()
    assert "Learning curve" in page
    assert page.count("<title>") == 3  # of the page, and of the last fit's points
    assert "best &amp; brightest" in page
    assert "Better than 1 of 1" in page
    assert "0.010 to 0.190" in page
    assert "+10 points (interval of 95 %: 1 to 19) against" in page
    assert "More accurate: the whole interval is above zero." in page
    learning = browser(cast.vera).get("/learning/").content.decode()
    assert "+10 points (interval of 95 %: 1 to 19)" in learning


def test_a_version_is_put_to_use_and_taken_back_on_the_page(cast, pool):
    version(pool, GATE)
    alice = browser(cast.alice)
    address = f"/learning/pools/{pool.id}/versions/1/"
    assert "600" in alice.get(address).content.decode()
    alice.post(address, {"tiers": ["ultra"], "reason": ""})
    row = access_pool(cast.team.id, pool.id)
    assert row.planner_version is not None
    assert row.tiers.get(name="ultra").planner == "light"
    page = alice.get("/learning/").content.decode()
    assert "Version 1 plans ultra" in page
    form = alice.get(reverse("console:pool", args=[pool.id])).content.decode()
    assert "The light planner, version 1" in form
    alice.post(f"/learning/pools/{pool.id}/retire/")
    row = access_pool(cast.team.id, pool.id)
    assert row.planner_version is None
    assert row.tiers.get(name="ultra").planner == "conductor"


def test_the_page_of_a_version_says_which_tiers_plan_with_it(cast, pool):
    version(pool, GATE)
    alice = browser(cast.alice)
    address = f"/learning/pools/{pool.id}/versions/1/"
    assert "Not in use" in alice.get(address).content.decode()
    planner_version_use(pool=pool, number=1, tiers={}, actor=ACTOR)
    page = alice.get(address).content.decode()
    assert "The pool’s light planner</span>" in page
    assert "No tier plans with it." in page
    alice.post(address, {"tiers": ["ultra"], "reason": ""})
    page = alice.get(address).content.decode()
    assert "Plans ultra</span>" in page
    assert "No tier plans with it." not in page


def test_the_page_asks_for_a_reason_where_the_gate_says_no(cast, pool):
    version(pool, {**GATE, "is_better": False})
    address = f"/learning/pools/{pool.id}/versions/1/"
    page = browser(cast.alice).post(address, {"tiers": ["ultra"], "reason": ""})
    assert "is not better" in page.content.decode()
    assert access_pool(cast.team.id, pool.id).planner_version is None


# --- REST -----------------------------------------------------------------------------


def test_a_training_is_started_and_cancelled_over_rest(cast, pool):
    suite(cast.team, tasks())
    alice = member(cast.alice)
    body = {"suite": "basics", "settings": {"explore_runs": 30}}
    answer = alice.post("learning/trainings/", body)
    assert answer.status_code == 202
    assert answer.json()["state"] == "running"
    assert answer.json()["settings"]["explore_runs"] == 30
    again = alice.post("learning/trainings/", body)
    assert again.status_code == 409
    one = f"learning/trainings/{answer.json()['id']}/"
    assert alice.post(f"{one}cancel/").json()["state"] == "cancelling"
    assert alice.get(one).json()["stage"] == "explore"
    (listed,) = alice.get("learning/trainings/").json()["data"]
    assert listed["pool"] == pool.name


def test_wrong_settings_are_refused_by_their_names(cast, pool):
    suite(cast.team, tasks())
    body = {"suite": "basics", "settings": {"explore_runs": -1, "speed": 9}}
    answer = member(cast.alice).post("learning/trainings/", body)
    assert answer.status_code == 400
    assert "explore_runs" in answer.content.decode()


def test_a_version_is_put_to_use_and_taken_back_over_rest(cast, pool):
    version(pool, GATE)
    key = keyed(cast.team, Scope.READ, Scope.POOLS_WRITE)
    one = f"learning/pools/{pool.id}/"
    (row,) = key.get(f"{one}versions/").json()["data"]
    assert row["fit"]["runs"] == 600
    assert key.get(f"{one}versions/1/").json()["gate"]["is_better"]
    used = key.put(f"{one}planner/", {"version": 1, "tiers": ["ultra"]})
    assert used.json()["version"] == 1
    assert used.json()["tiers"] == {"mini": "conductor", "ultra": "light"}
    with_conductor = {"version": 1, "tiers": ["ultra"], "with_conductor": True}
    used = key.put(f"{one}planner/", with_conductor)
    assert used.json()["tiers"]["ultra"] == "cascade"
    assert key.delete(f"{one}planner/").status_code == 204
    assert key.get(f"{one}planner/").json()["version"] is None


def test_a_version_that_is_not_there_is_not_found(cast, pool):
    alice = member(cast.alice)
    used = alice.put(
        f"learning/pools/{pool.id}/planner/", {"version": 9, "tiers": ["ultra"]}
    )
    assert used.status_code == 404


def test_a_pool_without_a_light_planner_takes_no_tier_with_one(cast, pool):
    values = {"tiers": {"ultra": {"planner": "light"}}}
    with pytest.raises(InvalidFields, match="no light planner"):
        pool_update(pool=pool, values=values, actor=ACTOR)


def test_versions_are_sealed(cast, pool):
    version(pool)
    row = planner_version(pool, 1)
    assert bytes(row.sealed) != b"-"
    assert len(row.digest) == 64


# --- by command -----------------------------------------------------------------------


def test_the_command_needs_a_process_that_trains(cast, pool):
    suite(cast.team, tasks())
    with pytest.raises(CommandError, match="no process of the site"):
        command("planner_train", "basics", "--team", cast.team.slug)
