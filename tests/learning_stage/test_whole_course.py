"""From a pool and a suite to a conductor that plans: every part is the real one.

Explored runs, a light planner, a tiny Qwen2 that learns its plans and then from its
own, vLLM that serves it, a comparison on tasks that nothing has seen, and a run that it
plans. Only the workers are simulated.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.audit.models import JobState
from apps.pools.models import Pool
from apps.pools.selectors import access_pool, credential_list, pool_snapshot
from apps.pools.services import credential_create
from apps.simulator.benchmark.suite import suite_rows
from apps.training.conductor.folders import version_folder
from apps.training.models import ConductorTraining, Training
from apps.training.selectors import access_conductor_version, access_training
from apps.training.services import (
    conductor_training_start,
    conductor_version_publish,
    conductor_version_use,
    planner_use,
    training_start,
)
from tests.conftest import Site
from tests.evaluation.samples import entries_of, pool_of_file, suite
from tests.factories import ACTOR
from tests.patience import eventually
from tests.training.conducted import ended, made
from tests.vllm.server import KEY, PATIENCE_S, VllmServer

TASKS, SEED = 360, 3
EXPLORED = {
    "explore_runs": 540,
    "near_best_runs": 270,
    "held_out_tasks": 60,
    "parallel_runs": 32,
}
CONDUCTED = {
    "base_model": "tiny",
    "sub_pools": "fixed",
    "sft_steps": 220,
    "grpo_iterations": 3,
    "grpo_questions": 4,
    "grpo_group": 8,
    "grpo_learning_rate": 1e-5,
    "held_out_tasks": 60,
    "parallel_runs": 32,
}
NAME = "conductor-1"
MAX_LENGTH = 8_192
FITTED_WITHIN_S = 1_800
VALID = 0.7
"""Share of replies that are plans, at temperature 1 and after so few examples."""


@pytest.fixture(autouse=True)
def _environment(settings: Any, tmp_path: Path, trainer_python: str) -> None:
    settings.CONDUCTOR_TRAINING_PYTHON = trainer_python
    settings.CONDUCTOR_TRAINING_DIR = str(tmp_path / "trainings")


@pytest.fixture
def pool(site: Site) -> Pool:
    """The simulated benchmark's pool."""
    team = site.cast.team
    name = pool_of_file(team, site.simulator_url, "benchmark.yaml")
    return access_pool(team.id, pool_snapshot(team.id, name).id)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[Path], VllmServer]]:
    """Servers that are started are stopped."""
    started: list[VllmServer] = []

    def serve(model: Path) -> VllmServer:
        python = Path(os.environ["VLLM_PYTHON"]).absolute()
        made = VllmServer(python, tmp_path, model, name=NAME, max_length=MAX_LENGTH)
        started.append(made)
        made.ensure()
        return made

    yield serve
    for each in started:
        each.close()


def trained_planner(pool: Pool, version: Any) -> Training:
    """Explore, fit, and let no tier plan with what was found."""
    started = training_start(
        pool=pool, suite_version=version, values=EXPLORED, actor=ACTOR
    )
    rows = Training.objects.for_team(pool.team_id).filter(pk=started.pk)
    done = rows.filter(state=JobState.DONE)
    assert eventually(done.exists, patience_s=FITTED_WITHIN_S)
    return access_training(pool.team_id, started.pk)


def trained_conductor(pool: Pool, version: Any) -> ConductorTraining:
    started = conductor_training_start(
        pool=pool, suite_version=version, values=CONDUCTED, actor=ACTOR
    )
    return made(started, patience_s=FITTED_WITHIN_S)


def test_a_conductor_is_trained_served_measured_and_published(site, pool, server):
    team = site.cast.team
    version = suite(team, list(suite_rows(TASKS, SEED)), name="benchmark")
    light = trained_planner(pool, version)
    assert light.outcome in ("better", "not_better"), light.error
    assert light.version is not None
    planner_use(pool=pool, number=light.version, tiers=[], actor=ACTOR, reason="-")

    training = trained_conductor(access_pool(team.id, pool.id), version)
    losses = [p["loss"] for p in training.curve if p["stage"] == "sft"]
    assert losses[-1] < losses[0] / 4
    own = [p for p in training.curve if p["stage"] == "grpo"]
    assert [p["step"] for p in own] == [1, 2, 3]
    assert statistics.fmean(p["validity"] for p in own) >= VALID

    conductor = access_conductor_version(team.id, 1)
    vllm = server(version_folder(conductor))
    key = {"name": "vllm", "base_url": vllm.url, "secret": KEY}
    credential_create(team=team, values=key, actor=ACTOR)
    (credential,) = credential_list(team.id).filter(name="vllm")
    conductor_version_publish(
        version=conductor,
        values={"base_url": vllm.url, "credential_id": str(credential.id)},
        actor=ACTOR,
    )
    measured = ended(training, patience_s=FITTED_WITHIN_S)
    assert measured.outcome in ("better", "not_better"), measured.error
    assert vllm.finished() >= CONDUCTED["held_out_tasks"]

    conductor = access_conductor_version(team.id, 1)
    gate = conductor.gate
    assert gate is not None
    single = max(
        each["success"] for each in gate["others"] if each["name"].startswith("bench-")
    )
    assert gate["new"]["success"] > single
    reflected = next(e for e in gate["others"] if "self-reflection" in e["name"])
    assert gate["new"]["cost_micros"] < reflected["cost_micros"] / 2

    used = conductor_version_use(
        version=conductor, actor=ACTOR, reason="The test wants it in any case"
    )
    assert used.conductor is not None
    assert used.conductor.name == "trained-1"
    (entry,) = entries_of(team, "conductor.used")
    assert entry["passed_gate"] == gate["is_better"]
    answer = httpx.post(
        f"{site.api_url}/chat/completions",
        headers={"Authorization": f"Bearer {site.key}"},
        json={
            "model": f"{pool.name}/ultra",
            "messages": [{"role": "user", "content": "Compute 12 + 34 - 5."}],
        },
        timeout=PATIENCE_S,
    )
    assert answer.status_code == 200, answer.text
    run_id = answer.headers["x-conductor-run-id"]
    run = httpx.get(
        f"{site.url}/api/v1/runs/{run_id}/",
        headers={"Authorization": f"Bearer {site.key}"},
        timeout=PATIENCE_S,
    ).json()
    assert (run["state"], run["planner"]) == ("completed", "language_model")
