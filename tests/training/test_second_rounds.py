"""A conductor learns a second round: it keeps the answer it sees, or plans again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from apps.audit.models import JobState
from apps.audit.selectors import entry_list
from apps.audit.services import content_erase
from apps.core.errors import InvalidInput
from apps.evaluation.suites.tasks import SuiteTask
from apps.planners.light.planner import LightPlanner
from apps.pools.selectors import light_planner, pool_snapshot
from apps.runs.models import Run
from apps.training.conductor.prompts import training_prompts
from apps.training.conductor.recursion import RoundPrompt, RoundPrompts
from apps.training.conductor.settings import ConductorTrainingPlan
from apps.training.conductor.testing import KEEP, NO_PLAN
from apps.training.models import (
    ConductorRollout,
    ConductorTraining,
    ConductorVersion,
)
from apps.training.selectors import access_conductor_version, conductor_training_cost
from apps.training.services import (
    conductor_training_cancel,
    conductor_version_publish,
    conductor_version_use,
)
from tests.conftest import Site
from tests.factories import ACTOR
from tests.patience import eventually
from tests.training.conducted import begun, ended, kept_weights, made, trains_here
from tests.training.test_trainings import tasks
from tests.worlds import world

pytestmark = pytest.mark.slow

TWICE = {"recursion_iterations": 2, "recursion_prompts": 8}
SHOWN = re.compile(r"Its final response:\n<response>\n(.*)\n</response>", re.DOTALL)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path: Path) -> Path:
    place = tmp_path / "trainings"
    trains_here(settings, place, "noting")
    return place


def train_twice(site: Site) -> None:
    """Fill a world: there are weights that have learned a second round."""
    made(begun(site, **TWICE))


@pytest.fixture
def trained(site: Site, folder: Path, weights: Path) -> ConductorTraining:
    return kept_weights(site, folder, weights)


def noted(training: ConductorTraining, folder: Path) -> list[dict[str, Any]]:
    """Return the plans of the last part with their prompts and rewards."""
    version = access_conductor_version(training.team_id, 1)
    found: list[dict[str, Any]] = json.loads(
        (folder / version.folder / "noted.json").read_text()
    )
    return found


def rollouts(training: ConductorTraining) -> Any:
    return ConductorRollout.objects.for_team(training.team_id).filter(training=training)


def verifier_of(prompt: str) -> Any:
    """Return what grades the answer to the question of a prompt."""
    question = re.search(r"<question>\n(.*?)\n</question>", prompt, re.DOTALL)
    assert question
    (found, *_) = [t for t in tasks() if t["prompt"] == question[1]]
    return SuiteTask.model_validate(found).verifier


@world(train_twice)
def test_the_last_part_begins_with_the_weights_of_the_one_before(site, trained, folder):
    steps = {
        stage: [p["step"] for p in trained.curve if p["stage"] == stage]
        for stage in ("sft", "grpo", "recursion")
    }
    assert steps == {"sft": [1, 2, 3, 4, 5], "grpo": [1, 2, 3], "recursion": [1, 2]}
    version = access_conductor_version(trained.team_id, 1)
    assert version.rounds == 2
    assert version.trained_on["summary"]["recursion"]["steps"] == 2
    done = json.loads((folder / version.folder / "config.json").read_text())
    assert done == {"sft": 0, "grpo": 2}
    for point in trained.curve[-2:]:
        assert point["validity"] is not None
        assert 0 < point["kept"] < 1
    place = folder / str(trained.id)
    assert eventually(lambda: [p.name for p in place.iterdir()] == ["model"])


@world(train_twice)
def test_half_of_each_batch_shows_a_plan_that_ran_with_its_answer(trained, folder):
    found = noted(trained, folder)
    assert {row["id"] for row in found} == {1, 2}
    for number in (1, 2):
        shown = [bool(SHOWN.search(r["prompt"])) for r in found if r["id"] == number]
        assert (shown.count(True), shown.count(False)) == (8, 8)
    runs = Run.objects.for_team(trained.team_id)
    assert {row.run_id for row in rollouts(trained)} == set(
        runs.values_list("id", flat=True)
    )
    assert conductor_training_cost(trained) == sum(
        runs.values_list("cost_micros", flat=True)
    )


@world(train_twice)
def test_a_kept_answer_is_worth_what_it_is_and_first_plans_a_quarter(trained, folder):
    seen = set()
    for row in noted(trained, folder):
        shown = SHOWN.search(row["prompt"])
        text, reward = row["text"], row["reward"]
        kind = "kept" if text == KEEP else "none" if text == NO_PLAN else "plan"
        seen.add((bool(shown), kind))
        match bool(shown), kind:
            case True, "kept":
                assert shown
                grade = verifier_of(row["prompt"]).grade(shown[1])
                assert reward == (1.0 if grade.is_right else 0.5)
            case True, "plan":
                assert reward in (0.5, 1.0)
            case False, "plan":
                assert reward in (0.125, 0.25)
            case _:
                assert reward == 0  # in a first round there is nothing to keep
    assert seen == {(a, b) for a in (False, True) for b in ("kept", "none", "plan")}


def test_a_process_that_takes_over_in_it_pays_for_nothing_twice(site):
    training = begun(site, **{**TWICE, "recursion_iterations": 6}, parallel_runs=2)
    rows = ConductorTraining.objects.for_team(training.team_id).filter(pk=training.pk)
    at = rows.filter(stage="recursion")
    assert eventually(at.exists)
    # As if its process had been killed: it finds that the claim is another one's.
    assert at.update(state=JobState.WAITING, claim_id=None)
    found = made(training)
    assert Run.objects.for_team(training.team_id).count() == rollouts(found).count()
    assert access_conductor_version(training.team_id, 1).rounds == 2


def test_if_it_collapses_the_weights_before_it_are_kept_and_plan_once(
    site, settings, folder
):
    trains_here(settings, folder, "tiring")
    found = ended(begun(site, **TWICE))
    assert (found.outcome, found.error) == ("collapsed", "It lost its variety.")
    one_round_left(found, folder)


def one_round_left(training: ConductorTraining, folder: Path) -> ConductorVersion:
    """Return the version of a training that ended in its last part."""
    version = access_conductor_version(training.team_id, 1)
    assert version.rounds == 1
    done = json.loads((folder / version.folder / "config.json").read_text())
    assert done == {"sft": 5, "grpo": 3}
    return version


def test_if_it_is_cancelled_the_weights_before_it_can_be_published_and_used(
    site, folder
):
    training = begun(site, **{**TWICE, "recursion_iterations": 500})
    rows = ConductorTraining.objects.for_team(training.team_id).filter(pk=training.pk)
    assert eventually(rows.filter(stage="recursion").exists)
    assert conductor_training_cancel(training=training, actor=ACTOR)
    assert ended(training).outcome == "cancelled"
    version = one_round_left(training, folder)
    values = {"base_url": site.simulator_url, "served_name": "sim-conductor"}
    version = conductor_version_publish(version=version, values=values, actor=ACTOR)
    with pytest.raises(InvalidInput, match="was not measured"):
        conductor_version_use(version=version, actor=ACTOR)
    pool = conductor_version_use(version=version, actor=ACTOR, reason="To see it.")
    assert pool.tiers.get(name="ultra").max_rounds == 1


def test_if_it_fails_the_weights_before_it_are_kept_and_plan_once(
    site, settings, folder
):
    trains_here(settings, folder, "forgetful")
    found = ended(begun(site, **TWICE))
    assert found.outcome == "failed"
    assert "exit status 1 (KeyError)" in found.error
    version = one_round_left(found, folder)
    place = (folder / version.folder).parent
    kept = ["model", "trainer.log"]
    assert eventually(lambda: sorted(each.name for each in place.iterdir()) == kept)


def test_an_erased_answer_is_in_no_prompt(site):
    trained = made(begun(site))
    first, made_of = _first_prompts(trained), _round_prompts
    shown = [p for p in made_of(trained, first) if p.place.kept]
    assert shown
    assert all(SHOWN.search(each.task.prompt) for each in shown)
    run_ids = [row.run_id for row in rollouts(trained)]
    _erase(trained, run_ids[1:])
    left = {p.place.kept for p in made_of(trained, first) if p.place.kept}
    assert left <= {rollouts(trained).get(run_id=run_ids[0]).digest}
    _erase(trained, run_ids[:1])
    assert made_of(trained, first) == []


def _erase(training: ConductorTraining, run_ids: list[UUID]) -> None:
    """Erase what the ledger has of some runs."""
    places = [
        (entry.seq, name)
        for run_id in run_ids
        for entry in entry_list(training.team_id, subject_id=run_id)
        for name in entry.bodies
    ]
    content_erase(
        team_id=training.team_id, places=places, actor=ACTOR, reason="They ask."
    )


def _planner(training: ConductorTraining) -> LightPlanner:
    model = light_planner(training.team_id, training.pool_id, 1).model
    return LightPlanner(model, 1)


def _first_prompts(training: ConductorTraining) -> list[RoundPrompt]:
    plan = ConductorTrainingPlan.model_validate(training.settings)
    snapshot = pool_snapshot(training.team_id, training.pool.name)
    every = training_prompts(training, plan, _planner(training), snapshot)
    return [RoundPrompt(each.task, each.place) for each in every]


def _round_prompts(
    training: ConductorTraining, first: list[RoundPrompt]
) -> list[RoundPrompt]:
    snapshot = pool_snapshot(training.team_id, training.pool.name)
    return [*RoundPrompts(training, _planner(training), snapshot, first).prompts()]


@world(train_twice)
def test_a_version_that_learned_it_is_measured_and_used_with_two_plans(site, trained):
    version = access_conductor_version(trained.team_id, 1)
    values = {"base_url": site.simulator_url, "served_name": "sim-conductor"}
    version = conductor_version_publish(version=version, values=values, actor=ACTOR)
    assert ended(trained).outcome in ("better", "not_better")
    gate = access_conductor_version(trained.team_id, 1).gate
    assert gate is not None
    assert gate["new"]["name"] == "conductor (ultra, planned by trained-1, 2 rounds)"
    pool = conductor_version_use(version=version, actor=ACTOR, reason="To see it.")
    assert pool.tiers.get(name="ultra").max_rounds == 2
