"""Weights are served, published, measured, planned with, and taken back."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import httpx
import pytest
from django.core.management import CommandError, call_command

from apps.core.errors import Conflict, InvalidInput
from apps.evaluation.selectors import evaluation_list
from apps.evaluation.services import evaluation_start
from apps.pools.models import ConductorMode, Tier
from apps.pools.prompt_styles import PromptStyle
from apps.pools.selectors import access_pool, pool_snapshot, snapshots_forget
from apps.pools.services import pool_update
from apps.training.models import ConductorTraining, ConductorVersion
from apps.training.selectors import (
    access_conductor_training,
    access_conductor_version,
    conductor_training_cost,
)
from apps.training.services import (
    conductor_version_delete,
    conductor_version_publish,
    conductor_version_use,
)
from tests.conftest import Site
from tests.evaluation.samples import entries_of, suite
from tests.factories import ACTOR
from tests.patience import eventually
from tests.training.conducted import (
    begun,
    ended,
    kept_weights,
    made,
    planned_pool,
    trains_here,
)
from tests.training.test_trainings import pool_of, tasks
from tests.worlds import world

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def folder(settings, tmp_path: Path) -> Path:
    trains_here(settings, tmp_path)
    return tmp_path


def published(site: Site, training: ConductorTraining) -> ConductorVersion:
    """Say that the simulator serves the version."""
    version = access_conductor_version(training.team_id, training.version.number)
    values = {"base_url": site.simulator_url, "served_name": "sim-conductor"}
    return conductor_version_publish(version=version, values=values, actor=ACTOR)


def train(site: Site) -> None:
    """Fill a world: there are weights that nobody serves."""
    made(begun(site, grpo_iterations=1))


@pytest.fixture
def trained(site: Site, folder: Path, weights: Path) -> ConductorTraining:
    return kept_weights(site, folder, weights)


def explore(training: ConductorTraining) -> None:
    """Log graded runs of the training's tasks."""
    evaluation = evaluation_start(
        version=training.suite_version,
        values={
            "pool": training.pool.name,
            "systems": [{"kind": "exploration"}],
            "split": "training",
            "parallel_runs": 16,
        },
        actor=ACTOR,
    )
    rows = evaluation_list(training.team_id).filter(id=evaluation.id)
    assert eventually(lambda: rows.filter(outcome="completed").exists())


@world(train)
def test_a_published_version_is_a_conductor_that_is_measured(site, trained):
    explore(trained)
    version = published(site, trained)
    conductor = version.conductor
    assert conductor is not None
    assert conductor.mode == ConductorMode.LISTS
    assert conductor.prompt_style == PromptStyle.BRIEF
    assert conductor.temperature == 0
    found = ended(trained)
    assert found.outcome in ("better", "not_better"), found.error
    gate = access_conductor_version(trained.team_id, 1).gate
    assert gate is not None
    assert gate["tasks"] == 10
    assert gate["new"]["name"] == "conductor (ultra, planned by trained-1, 1 round)"
    names = {each["name"] for each in gate["others"]}
    present = pool_of(site).conductor
    assert present is not None
    assert {
        f"conductor (ultra, planned by {present.name})",
        "light planner (version 1)",
        "best worker per family, as measured",
        "sim-delta",
        "sim-birch",
    } <= names
    assert any(name.startswith("self-reflection") for name in names)
    best = max(each["success"] for each in gate["others"])
    assert gate["is_better"] == (gate["new"]["success"] - best >= gate["margin"])
    assert found.gate is not None
    assert conductor_training_cost(found) > found.gate.cost_micros > 0
    (entry,) = entries_of(site.cast.team, "conductor.published")
    assert (entry["digest"], entry["served_name"]) == (version.digest, "sim-conductor")


@world(train)
def test_the_light_planner_of_the_training_measures_for_a_pool_without_one(
    site, trained
):
    assert pool_of(site).planner_version is None
    published(site, trained)
    in_use = pool_of(site).planner_version
    assert in_use is not None
    assert in_use.number == trained.planner_number


@world(train)
def test_a_tier_of_the_light_planner_can_be_measured_and_used(site, trained):
    Tier.objects.for_team(site.cast.team.id).update(planner="light")
    snapshots_forget(site.cast.team.id)
    version = published(site, trained)
    assert ended(trained).outcome in ("better", "not_better")
    pool = conductor_version_use(version=version, actor=ACTOR, reason="To see it.")
    tier = pool.tiers.get(name="ultra")
    assert (tier.planner, tier.max_rounds) == ("conductor", 1)
    snapshot = pool_snapshot(pool.team_id, pool.name)
    assert snapshot.conductor is not None
    assert snapshot.conductor.name == "trained-1"
    headers = {"Authorization": f"Bearer {site.key}"}
    question = [{"role": "user", "content": "What is 17 * 7 + 4?"}]
    answer = httpx.post(
        f"{site.url}/v1/chat/completions",
        json={"model": "conductor-ultra", "messages": question},
        headers=headers,
        timeout=60,
    )
    run_id = answer.headers["x-conductor-run-id"]
    run = httpx.get(f"{site.url}/api/v1/runs/{run_id}/", headers=headers).json()
    assert run["planner"] == "language_model"


@world(train)
def test_a_version_that_did_not_pass_needs_a_reason(site, trained):
    version = access_conductor_version(trained.team_id, 1)
    with pytest.raises(Conflict, match="was not published"):
        conductor_version_use(version=version, actor=ACTOR, reason="To see it.")
    version = published(site, trained)
    with pytest.raises(InvalidInput, match="was not measured"):
        conductor_version_use(version=version, actor=ACTOR)
    conductor_version_use(version=version, actor=ACTOR, reason="To see it.")
    (entry,) = entries_of(site.cast.team, "conductor.used")
    assert (entry["reason"], entry["passed_gate"]) == ("To see it.", False)
    ended(trained)


@world(train)
def test_one_command_goes_back_to_an_earlier_version(site, trained):
    team, pool = site.cast.team, pool_of(site)
    publish("1", site, "--url", site.simulator_url, "--name", "sim-conductor")
    ended(trained)
    publish("1", site, "--use", "--reason", "To see it.")
    first = access_pool(team.id, pool.id)
    made(begun(site, grpo_iterations=0, seed=1))
    publish("2", site, "--url", site.simulator_url, "--name", "sim-conductor")
    assert access_conductor_version(team.id, 2).conductor != first.conductor
    publish("2", site, "--use", "--reason", "To see it.")
    assert "plans with version 1" in publish("1", site, "--use", "--reason", "Back.")
    assert access_pool(team.id, pool.id).conductor == first.conductor


def publish(number: str, site: Site, *options: str) -> str:
    out = StringIO()
    team = site.cast.team.slug
    call_command("conductor_publish", number, "--team", team, *options, stdout=out)
    return out.getvalue()


def test_a_better_one_is_used_at_once_if_that_is_wanted(site):
    training = made(begun(site, uses_if_better=True, sft_steps=1, grpo_iterations=0))
    pool = pool_of(site)
    Tier.objects.for_team(pool.team_id).filter(pool=pool).update(max_steps=1)
    snapshots_forget(pool.team_id)
    published(site, training)
    found = ended(training)
    gate = access_conductor_version(pool.team_id, 1).gate
    assert gate is not None
    assert (found.outcome == "used") == gate["is_better"]
    present = access_pool(pool.team_id, pool.id).conductor
    assert present is not None
    assert (present.name == "trained-1") == gate["is_better"]


@world(train)
def test_the_command_says_how_vllm_serves_it(site, trained, folder):
    said = publish("1", site)
    weights = folder / str(trained.id) / "model"
    assert f"SERVE_MODEL={weights} SERVE_NAMES=conductor-1" in said
    ConductorVersion.objects.for_team(trained.team_id).update(is_adapter=True)
    assert f"SERVE_MODEL=tiny SERVE_ADAPTERS=conductor-1={weights}" in publish(
        "1", site
    )
    with pytest.raises(CommandError, match="no version 7"):
        publish("7", site)


@world(train)
def test_weights_are_deleted_when_no_pool_plans_with_them(site, trained, folder):
    version = published(site, trained)
    with pytest.raises(Conflict, match="has not ended"):
        conductor_version_delete(version=version, actor=ACTOR)
    ended(trained)
    pool = conductor_version_use(version=version, actor=ACTOR, reason="To see it.")
    version = access_conductor_version(trained.team_id, 1)
    with pytest.raises(Conflict, match="a pool plans with version 1"):
        conductor_version_delete(version=version, actor=ACTOR)
    tiers = {
        "ultra": {"planner": "single_worker"},
        "mini": {"planner": "single_worker"},
    }
    pool_update(pool=pool, values={"conductor_id": None, "tiers": tiers}, actor=ACTOR)
    conductor_version_delete(version=version, actor=ACTOR)
    assert not (folder / str(trained.id)).exists()
    assert access_conductor_training(trained.team_id, trained.pk).outcome
    (entry,) = entries_of(site.cast.team, "conductor_training.weights_deleted")
    assert entry["conductor_version"] == 1


def test_the_command_trains_and_says_what_is_next(site, folder):
    team = site.cast.team
    pool = planned_pool(site)
    suite(team, tasks())
    out, err = StringIO(), StringIO()
    options = "--suite basics --base-model tiny --sft-steps 3 --iterations 1"
    call_command(
        "conductor_train",
        pool.name,
        *f"--team {team.slug} {options} --questions 1 --group 4 --tasks 4".split(),
        stdout=out,
        stderr=err,
    )
    assert re.search(r"version 1, \d+ bytes, SHA-256 [0-9a-f]{64}", out.getvalue())
    assert f"conductor_publish 1 --team {team.slug}" in out.getvalue()
    assert "Waiting for its server" in err.getvalue()
    with pytest.raises(CommandError, match="no suite"):
        call_command(
            "conductor_train", pool.name, "--team", team.slug, "--suite", "nothing"
        )
