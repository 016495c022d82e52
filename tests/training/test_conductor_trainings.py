"""A conductor's training writes, learns, tries its plans, and makes weights of it."""

from __future__ import annotations

import fcntl
import json
import re
import signal
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from socket import gethostname

import pytest

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.accounts.services import team_delete
from apps.audit.models import JobState
from apps.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from apps.evaluation.services import suite_delete
from apps.pools.models import Price, Worker
from apps.runs.models import Run
from apps.training.conductor import attended
from apps.training.conductor.folders import folders_sweep
from apps.training.conductor.models import RolloutState
from apps.training.conductor.trainer_faults import LOG
from apps.training.conductor.trainer_process import LOCK
from apps.training.models import ConductorRollout, ConductorTraining, ConductorVersion
from apps.training.selectors import (
    access_conductor_training,
    access_conductor_version,
    conductor_training_cost,
)
from apps.training.services import conductor_training_cancel, conductor_training_start
from tests.conftest import Site
from tests.evaluation.samples import entries_of, suite
from tests.factories import ACTOR
from tests.patience import eventually
from tests.training.conducted import (
    SMALL,
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
    place = tmp_path / "trainings"
    trains_here(settings, place)
    return place


def train(site: Site) -> None:
    """Fill a world: there are weights."""
    made(begun(site))


@pytest.fixture
def trained(site: Site, folder: Path, weights: Path) -> ConductorTraining:
    return kept_weights(site, folder, weights)


def rollouts(training: ConductorTraining):
    return ConductorRollout.objects.for_team(training.team_id).filter(training=training)


def steps(training: ConductorTraining, stage: str) -> list[int]:
    return [point["step"] for point in training.curve if point["stage"] == stage]


@world(train)
def test_it_learns_from_examples_and_then_from_its_own_plans(site, trained):
    assert trained.state == JobState.WAITING
    points = {
        stage: [p for p in trained.curve if p["stage"] == stage]
        for stage in ("sft", "grpo")
    }
    assert [point["step"] for point in points["sft"]] == [1, 2, 3, 4, 5]
    assert [point["step"] for point in points["grpo"]] == [1, 2, 3]
    for point in points["grpo"]:
        assert point["validity"] == 7 / 8  # the trainer's eighth reply is no plan
        assert 0 < point["accuracy"] <= 1
        assert 1 <= point["steps"] <= 5
        assert point["entropy"] is not None
    at = trained.progress
    assert (at["step"], at["of"], at["failed"]) == (3, 3, 0)
    assert {name for family in at["workers"].values() for name in family} <= {
        "sim-delta",
        "sim-birch",
    }
    for shares in at["workers"].values():
        assert sum(shares.values()) == pytest.approx(1, abs=0.001)


@world(train)
def test_each_distinct_plan_runs_once_and_is_graded(site, trained):
    rows = rollouts(trained)
    assert set(rows.values_list("state", flat=True)) == {RolloutState.ENDED}
    assert {row.reward for row in rows} <= {0.5, 1.0}
    assert {row.reward == 1.0 for row in rows} == {bool(row.grade) for row in rows}
    runs = Run.objects.for_team(trained.team_id)
    assert {row.run_id for row in rows} == set(runs.values_list("id", flat=True))
    assert (
        len({(row.task_id, row.digest) for row in rows}) == rows.count() == runs.count()
    )
    assert conductor_training_cost(trained) == sum(
        runs.values_list("cost_micros", flat=True)
    )


@world(train)
def test_the_version_says_what_it_was_trained_on(site, trained, folder):
    version = access_conductor_version(trained.team_id, 1)
    assert version.trained_on["settings"] == trained.settings
    assert version.trained_on["data_digest"] == trained.data_digest
    assert version.trained_on["summary"]["grpo"]["steps"] == 3
    assert json.loads((folder / version.folder / "config.json").read_text()) == {
        "sft": 5,
        "grpo": 3,
    }
    (entry,) = entries_of(site.cast.team, "conductor_training.trained")
    assert (entry["digest"], entry["conductor_version"]) == (version.digest, 1)


@world(train)
def test_no_prompt_stays_in_its_folder(site, trained, folder):
    place = folder / str(trained.id)
    assert eventually(lambda: [p.name for p in place.iterdir()] == ["model"])
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_process_that_takes_over_pays_for_nothing_twice(site, folder):
    training = begun(site, grpo_iterations=6, parallel_runs=2)
    rows = ConductorTraining.objects.for_team(training.team_id).filter(pk=training.pk)
    for count in (1, 3):
        assert eventually(lambda: rollouts(training).count() >= count)  # noqa: B023
        # As if its process had been killed: it finds that the claim is another one's.
        rows.filter(stage="grpo").update(state=JobState.WAITING, claim_id=None)
    found = made(training)
    assert [p["step"] for p in found.curve if p["stage"] == "grpo"] == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]
    runs = Run.objects.for_team(training.team_id)
    assert runs.count() == rollouts(found).count()
    assert conductor_training_cost(found) == sum(
        runs.values_list("cost_micros", flat=True)
    )


def test_a_trainer_that_is_killed_goes_on_where_it_was(site, settings, folder):
    trains_here(settings, folder, "stubborn")
    assert steps(made(begun(site)), "grpo") == [1, 2, 3]


def test_a_trainer_that_a_killed_process_left_behind_is_ended(
    site, folder, monkeypatch
):
    monkeypatch.setattr(attended, "ORPHAN_S", 0.2)
    training = begun(site, grpo_iterations=0)
    place = folder / str(training.id)
    place.mkdir(parents=True)
    with (place / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        left = subprocess.Popen(["sleep", "600"], pass_fds=[lock.fileno()])
        lock.write(f"{gethostname()} {left.pid}")
    assert made(training)
    assert left.wait() == -signal.SIGKILL


def test_a_cost_limit_stops_it_with_what_it_has_learned(site):
    found = ended(begun(site, max_cost_micros=8_500, grpo_iterations=50))
    assert found.outcome == "budget"
    assert "are left" in found.error
    assert 0 < conductor_training_cost(found) <= 8_500
    assert found.version.number == 1


@pytest.mark.parametrize("sft_steps", [0, 5])
def test_what_runs_is_stopped_when_it_is_cancelled(site, folder, sft_steps):
    training = begun(site, sft_steps=sft_steps, grpo_iterations=500)
    assert eventually(lambda: rollouts(training).exists())
    assert conductor_training_cancel(training=training, actor=ACTOR)
    assert not conductor_training_cancel(training=training, actor=ACTOR)
    found = ended(training)
    assert found.outcome == "cancelled"
    runs = Run.objects.for_team(training.team_id)
    assert eventually(lambda: not runs.filter(state="running").exists())
    (entry,) = entries_of(site.cast.team, "conductor_training.ended")
    assert entry["outcome"] == "cancelled"
    place = folder / str(training.id)
    if not sft_steps:  # no stage was complete
        assert entry["conductor_version"] is None
        assert eventually(lambda: not place.exists())
        return
    version = access_conductor_version(training.team_id, entry["conductor_version"])
    done = json.loads((folder / version.folder / "config.json").read_text())
    assert done == {"sft": 5, "grpo": 0}
    assert eventually(lambda: [path.name for path in place.iterdir()] == ["model"])


@pytest.mark.parametrize(
    ("trainer", "outcome", "words"),
    [
        ("garbled", "failed", "something that is no message"),
        ("hostile", "failed", "without weights"),
        ("inventive", "failed", "a task that it was not given"),
        ("broken", "failed", "the trainer ended with exit status 1. The operator"),
        ("foreign", "failed", "the trainer ended with exit status 1. The operator"),
        ("wordy", "failed", "the trainer ended with exit status 1 (ValueError). The"),
        ("killed", "failed", "signal SIGKILL, as a system does where its memory"),
        ("starved", "failed", "not enough memory (MemoryError): take a smaller"),
        ("lacking", "failed", "a package is missing where the trainer runs (Module"),
        ("collapsing", "collapsed", "the entropy was below"),
    ],
)
def test_a_trainer_that_fails_ends_it_with_a_message(
    site, settings, folder, trainer, outcome, words
):
    trains_here(settings, folder, trainer)
    found = ended(begun(site))
    assert (found.outcome, words in found.error) == (outcome, True), found.error
    (entry,) = entries_of(site.cast.team, "conductor_training.ended")
    assert entry["error"] == found.error
    assert not re.search(
        "secret|falcon|17", found.error.replace(str(found.id), ""), re.I
    )
    assert not ConductorVersion.objects.for_team(found.team_id).exists()


def test_what_a_trainer_printed_stays_in_its_folder_for_a_week(site, settings, folder):
    trains_here(settings, folder, "broken")
    found = ended(begun(site))
    place = folder / str(found.id)
    assert eventually(lambda: [path.name for path in place.iterdir()] == [LOG])
    assert "for Falcon" in (place / LOG).read_text()
    assert f"in CONDUCTOR_TRAINING_DIR, {found.id}/{LOG}, for 7 days" in found.error
    assert list(folders_sweep()) == []
    assert found.finished_at is not None
    rows = ConductorTraining.objects.for_team(found.team_id).filter(pk=found.pk)
    rows.update(finished_at=found.finished_at - timedelta(days=7))
    assert list(folders_sweep()) == [found.id]
    assert not place.exists()


def test_nothing_is_kept_of_a_trainer_that_printed_nothing(site, settings, folder):
    trains_here(settings, folder, "garbled")
    found = ended(begun(site))
    assert "CONDUCTOR_TRAINING_DIR" not in found.error
    assert eventually(lambda: not (folder / str(found.id)).exists())


def test_a_failing_worker_leaves_a_plan_without_a_reward(site):
    Worker.objects.for_team(site.cast.team.id).update(model="sim-broken-model")
    found = ended(begun(site))
    assert found.outcome == "failed"
    assert "no plan could be graded" in found.error
    assert {row.reward for row in rollouts(found)} == {None}


def test_without_an_environment_it_says_what_to_install(site, settings):
    planned_pool(site)
    settings.CONDUCTOR_TRAINING_PYTHON = ""
    with pytest.raises(Conflict, match="CONDUCTOR_TRAINING_PYTHON is not set"):
        begun(site)
    settings.CONDUCTOR_TRAINING_PYTHON = sys.executable
    settings.CONDUCTOR_TRAINER = "apps.training.trainer"
    with pytest.raises(Conflict, match=r"lacks torch, .*requirements/gpu-train.txt"):
        begun(site)
    settings.CONDUCTOR_TRAINING_PYTHON = "/no/such/python"
    with pytest.raises(Conflict, match="cannot be run"):
        begun(site)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"base_model": "/etc"}, "expected one of tiny, Qwen"),
        ({"sft_steps": 0, "grpo_iterations": 0}, "nothing to train"),
        ({"grpo_iterations": 0, "recursion_iterations": 2}, "with plans that ran"),
        ({"tier": "mini"}, "no tier 'mini' that plans"),
    ],
)
def test_what_cannot_be_trained_is_refused(site, values, words):
    pool_of(site).tiers.filter(name="mini").update(planner="single_worker")
    with pytest.raises(InvalidInput, match=words):
        begun(site, **values)


def test_a_cost_limit_needs_prices(site):
    Price.objects.for_team(site.cast.team.id).delete()
    with pytest.raises(InvalidInput, match="needs a price"):
        begun(site, max_cost_micros=10)


def test_it_learns_from_a_light_planner(site):
    with pytest.raises(Conflict, match="has no light planner"):
        conductor_training_start(
            pool=pool_of(site),
            suite_version=suite(site.cast.team, tasks()),
            values=SMALL,
            actor=ACTOR,
        )


def test_a_pool_has_one_training_at_a_time(site):
    training = begun(site, grpo_iterations=500)
    with pytest.raises(Conflict, match="is being trained"):
        begun(site)
    conductor_training_cancel(training=training, actor=ACTOR)
    ended(training)


def test_members_may_not_train(site):
    cast = site.cast
    bob = member_principal(cast.bob, cast.team, Role.MEMBER, {})
    with pytest.raises(NotAllowed):
        conductor_training_start(
            pool=planned_pool(site),
            suite_version=suite(cast.team, tasks()),
            values=SMALL,
            actor=bob.actor,
            principal=bob,
        )


@world(train)
def test_g6_another_team_sees_nothing_of_it(site, trained):
    other = site.cast.other_team.id
    with pytest.raises(NotFound):
        access_conductor_training(other, trained.pk)
    with pytest.raises(NotFound):
        access_conductor_version(other, 1)


@world(train)
def test_the_folders_of_a_deleted_team_are_deleted(site, trained, folder):
    team = site.cast.team
    (folder / "notes").mkdir()  # not ours
    assert list(folders_sweep()) == []
    team_delete(team=team, confirmation=team.slug, actor=ACTOR)
    assert list(folders_sweep()) == [trained.id]
    assert [path.name for path in folder.iterdir()] == ["notes"]


@world(train)
def test_weights_outlive_the_suite_that_they_were_trained_on(site, trained, folder):
    suite_delete(suite=trained.suite_version.suite, actor=ACTOR)
    assert list(folders_sweep()) == []
    version = access_conductor_version(site.cast.team.id, 1)
    assert version.training is None
    assert (folder / version.folder).is_dir()
