"""Trainings and versions of conductors on pages and over REST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import Scope
from apps.pools.models import Pool
from apps.pools.selectors import access_pool
from apps.training.conductor.settings import ConductorTrainingPlan
from apps.training.models import ConductorTraining, ConductorVersion
from apps.training.selectors import access_conductor_version
from tests.conftest import Cast, make_pool
from tests.evaluation.samples import evaluation_ids, suite
from tests.rest.conftest import keyed, member
from tests.training.conducted import trains_here
from tests.training.made_trainings import make_conductor_training
from tests.training.test_training_interfaces import GATE, browser, tasks, version

pytestmark = pytest.mark.django_db
SERVER = "http://127.0.0.1:9/v1"
GRPO = {
    "stage": "grpo",
    "step": 3,
    "reward": 0.8,
    "entropy": 0.3,
    "validity": 0.98,
    "accuracy": 0.7,
    "steps": 2.5,
}


@pytest.fixture(autouse=True)
def _environment(settings, tmp_path: Path) -> None:
    trains_here(settings, tmp_path / "trainings")


@pytest.fixture
def pool(cast: Cast) -> Pool:
    make_pool(cast.team, SERVER)
    found: Pool = cast.team.pools.get(is_default=True)
    version(found)
    return found


@pytest.fixture
def trained(cast: Cast, pool: Pool) -> ConductorVersion:
    evaluation_id = evaluation_ids(cast.team)["evaluation_id"]
    make_conductor_training(cast.team, pool.id, evaluation_id)
    return access_conductor_version(cast.team.id, 1)


def tier(pool: Pool, name: str) -> tuple[str, str]:
    """Return who plans a tier, and the pool's conductor."""
    row = access_pool(pool.team_id, pool.id)
    conductor = row.conductor.name if row.conductor else ""
    return row.tiers.get(name=name).planner, conductor


def form(suite_id: Any, **values: Any) -> dict[str, Any]:
    usual = ConductorTrainingPlan().values()
    given = {name: value for name, value in usual.items() if value is not None}
    return {
        **given,
        "suite": str(suite_id),
        "base_model": "tiny",
        "planner_number": "",
        "max_cost_usd": "",
        "uses_if_better": "",
        "uses_vllm": "",
        **values,
    }


# --- pages ----------------------------------------------------------------------------


def test_a_training_is_started_and_cancelled_on_the_page(cast, pool):
    made = suite(cast.team, tasks())
    alice = browser(cast.alice)
    assert "Train a conductor" in alice.get("/learning/").content.decode()
    address = f"/learning/pools/{pool.id}/train-conductor/"
    assert "The one in use" in alice.get(address).content.decode()
    asked = form(made.suite_id, sft_steps="7", recursion_iterations="2")
    answer = alice.post(address, asked, follow=True)
    row = ConductorTraining.objects.for_team(cast.team.id).get()
    there = f"/learning/conductors/trainings/{row.id}/"
    assert answer.redirect_chain == [(there, 302)]
    assert (row.settings["sft_steps"], row.planner_number) == (7, 1)
    assert row.settings["recursion_iterations"] == 2
    assert "Learning from its own plans" in answer.content.decode()
    assert "Learning to plan once more" in answer.content.decode()
    again = alice.post(address, form(made.suite_id))
    assert "is being trained" in again.content.decode()
    stopped = alice.post(f"{there}cancel/", follow=True)
    assert "being cancelled" in stopped.content.decode()


def test_where_none_can_be_trained_the_page_says_what_to_install_and_has_no_form(
    cast, pool, settings
):
    settings.CONDUCTOR_TRAINING_PYTHON = ""
    made = suite(cast.team, tasks())
    address = f"/learning/pools/{pool.id}/train-conductor/"
    for page in (
        browser(cast.alice).get(address).content.decode(),
        browser(cast.alice).post(address, form(made.suite_id)).content.decode(),
    ):
        assert "This site cannot train conductors yet" in page
        assert "requirements/gpu-train.txt" in page
        assert 'name="sft_steps"' not in page
    assert not ConductorTraining.objects.for_team(cast.team.id).exists()


def test_learning_links_to_what_a_conductor_takes_where_none_can_be_trained(
    cast, pool, settings
):
    settings.CONDUCTOR_TRAINING_PYTHON = ""
    page = browser(cast.alice).get("/learning/").content.decode()
    assert "This site cannot train one yet" in page
    assert ">Train a conductor<" not in page


def test_without_a_light_planner_the_page_leads_to_one(cast):
    make_pool(cast.team, SERVER)
    pool = cast.team.pools.get(is_default=True)
    address = f"/learning/pools/{pool.id}/train-conductor/"
    page = browser(cast.alice).get(address).content.decode()
    assert f"/learning/pools/{pool.id}/train/" in page
    learning = browser(cast.alice).get("/learning/").content.decode()
    assert "Train the light planner first." in learning
    assert address not in learning
    assert "<select" not in page


def test_the_page_of_a_training_shows_curves_and_workers(cast, trained):
    row = ConductorTraining.objects.for_team(cast.team.id).get()
    row.curve = [
        {"stage": "sft", "step": 1, "loss": 2.0},
        {"stage": "sft", "step": 5, "loss": 0.5},
        {**GRPO, "step": 1, "reward": 0.6},
        GRPO,
    ]
    row.progress = {**GRPO, "of": 3, "failed": 2, "workers": {"sums": {"ada": 1.0}}}
    row.save()
    address = f"/learning/conductors/trainings/{row.id}/"
    page = browser(cast.vera).get(address).content.decode()
    assert "Learning from examples: Loss of examples from 2.000 to 0.500" in page
    assert "Reward from 0.600 to 0.800" in page
    assert "2 plans failed with a worker" in page
    assert "<bdi>ada</bdi> 1.00" in page
    assert "/learning/conductors/1/" in page


def test_a_version_is_published_and_used_on_the_page(cast, pool, trained):
    alice = browser(cast.alice)
    address = "/learning/conductors/1/"
    page = alice.get(address).content.decode()
    assert "SERVE_MODEL=" in page
    assert "Model card" in page
    assert "Next: serve it, and publish it below." in page
    wrong = alice.post(f"{address}publish/", {"base_url": "nowhere"})
    assert wrong.status_code == 422
    alice.post(f"{address}publish/", {"base_url": SERVER})
    page = alice.get(address).content.decode()
    assert "Published, not in use" in page
    assert "Next: let a tier plan with it below, with a reason." in page
    refused = alice.post(f"{address}use/", {"tier": "ultra", "reason": ""})
    assert "was not measured" in refused.content.decode()
    alice.post(f"{address}use/", {"tier": "ultra", "reason": "To try it"})
    assert tier(pool, "ultra") == ("conductor", "trained-1")
    assert "It plans now. To go back" in alice.get(address).content.decode()
    page = alice.get("/learning/").content.decode()
    assert "the pool's conductor" in page
    kept = alice.post(f"{address}delete/", follow=True)
    assert "a pool plans with version 1" in kept.content.decode().lower()


def test_how_it_is_served_is_for_those_who_manage_pools(cast, trained):
    page = browser(cast.vera).get("/learning/conductors/1/").content.decode()
    assert "Model card" in page
    assert "SERVE_MODEL=" not in page
    published = browser(cast.vera).post(
        "/learning/conductors/1/publish/", {"base_url": SERVER}
    )
    assert published.status_code == 403


def test_an_unused_version_is_deleted_after_a_question(cast, trained):
    alice = browser(cast.alice)
    address = "/learning/conductors/1/delete/"
    assert "cannot be brought back" in alice.get(address).content.decode()
    alice.post(address)
    assert alice.get("/learning/conductors/1/").status_code == 404


# --- REST -----------------------------------------------------------------------------


def test_a_training_is_started_and_cancelled_over_rest(cast, pool):
    suite(cast.team, tasks())
    alice = member(cast.alice)
    body = {"suite": "basics", "settings": {"base_model": "tiny", "sft_steps": 9}}
    answer = alice.post("learning/conductors/trainings/", body)
    assert answer.status_code == 202
    assert answer.json()["state"] == "running"
    assert answer.json()["settings"]["sft_steps"] == 9
    assert alice.post("learning/conductors/trainings/", body).status_code == 409
    one = f"learning/conductors/trainings/{answer.json()['id']}/"
    assert alice.post(f"{one}cancel/").json()["state"] == "cancelling"
    assert alice.get(one).json()["stage"] == "examples"
    (listed,) = alice.get("learning/conductors/trainings/").json()["data"]
    assert listed["pool"] == pool.name


def test_wrong_settings_are_refused_by_their_names(cast, pool):
    suite(cast.team, tasks())
    body = {"suite": "basics", "settings": {"sft_steps": -1, "base_model": "tiny"}}
    answer = member(cast.alice).post("learning/conductors/trainings/", body)
    assert answer.status_code == 400
    assert "sft_steps" in answer.content.decode()


def test_without_an_environment_the_answer_says_what_to_install(cast, pool, settings):
    settings.CONDUCTOR_TRAINING_PYTHON = ""
    suite(cast.team, tasks())
    body = {"suite": "basics", "settings": {"base_model": "tiny"}}
    answer = member(cast.alice).post("learning/conductors/trainings/", body)
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "no_training_environment"
    assert "requirements/gpu-train.txt" in answer.json()["error"]["message"]


def test_a_version_is_published_and_used_over_rest(cast, pool, trained):
    key = keyed(cast.team, Scope.READ, Scope.POOLS_WRITE)
    (row,) = key.get("learning/conductors/").json()["data"]
    assert (row["number"], row["pool"], row["conductor_id"]) == (1, pool.name, None)
    assert key.put("learning/conductors/1/use/", {}).status_code == 409
    published = key.put("learning/conductors/1/publish/", {"base_url": SERVER}).json()
    assert published["served_name"] == "conductor-1"
    assert key.put("learning/conductors/1/use/", {}).status_code == 400
    trained.refresh_from_db()
    trained.gate = GATE
    trained.save()
    used = key.put("learning/conductors/1/use/", {}).json()
    assert (used["conductor"], used["tier"]) == ("trained-1", "ultra")
    assert tier(pool, "ultra") == ("conductor", "trained-1")
    assert key.delete("learning/conductors/1/").status_code == 409


def test_a_version_of_another_team_is_not_found(cast, pool, trained):
    mallory = member(cast.mallory)
    assert mallory.get("learning/conductors/1/").status_code == 404
    assert mallory.put("learning/conductors/1/use/", {}).status_code == 404
