"""A training explores, fits, measures and puts to use, and ends as its owner wants."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.audit.models import JobState
from apps.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from apps.evaluation.selectors import evaluation_list
from apps.pools.models import Pool, Tier
from apps.pools.selectors import access_pool, planner_versions, pool_snapshot
from apps.runs.models import Run
from apps.training.models import Training
from apps.training.selectors import access_training, training_cost
from apps.training.services import (
    planner_retire,
    planner_use,
    training_cancel,
    training_start,
)
from tests.conftest import Site
from tests.evaluation.samples import documents, entries_of, suite
from tests.factories import ACTOR
from tests.patience import WORK_PATIENCE_S, eventually
from tests.worlds import world

pytestmark = pytest.mark.slow

SMALL = {
    "explore_runs": 48,
    "near_best_runs": 12,
    "held_out_tasks": 10,
    "parallel_runs": 8,
}
WITH_NOTHING_TO_BEAT = {"margin_percent": 0, "tiers": ["ultra"]}


def tasks() -> list[dict[str, Any]]:
    """Return 24 tasks to train on, and 12 to measure on."""
    every = documents(60)
    return [
        {**task, "split": "training" if place % 3 else "held_out"}
        for place, task in enumerate(every)
    ]


def pool_of(site: Site) -> Pool:
    row: Pool = site.cast.team.pools.get(is_default=True)
    Tier.objects.for_team(site.cast.team.id).filter(pool=row, name="ultra").update(
        max_steps=5
    )
    return row


def started(site: Site, **values: object) -> Training:
    cast = site.cast
    principal = member_principal(cast.alice, cast.team, Role.OWNER, {})
    return training_start(
        pool=pool_of(site),
        suite_version=suite(cast.team, tasks()),
        values={**SMALL, **values},
        actor=principal.actor,
        principal=principal,
    )


def ended(training: Training) -> Training:
    rows = Training.objects.for_team(training.team_id).filter(pk=training.pk)
    assert eventually(
        lambda: rows.filter(state=JobState.DONE).exists(), WORK_PATIENCE_S
    )
    return access_training(training.team_id, training.pk)


def train(site: Site) -> None:
    """Fill a world: the pool of the site is trained."""
    ended(started(site))


@pytest.fixture
def trained(site: Site) -> Training:
    return Training.objects.for_team(site.cast.team.id).get()


@world(train)
def test_it_explores_fits_twice_measures_and_records_what_it_found(site, trained):
    assert trained.error == ""
    assert trained.outcome in ("better", "not_better")
    assert [point["stage"] for point in trained.curve if point["runs"] >= 48] == [
        "fit",
        "refit",
    ]
    versions = planner_versions(trained.pool)
    assert [version.number for version in versions] == [2, 1]
    newest = versions[0]
    assert newest.fit["runs"] == 60
    worth = newest.fit["answer_worth_micros"]
    assert worth > 0
    assert worth == versions[1].fit["answer_worth_micros"]  # of its first fit
    gate = newest.gate
    assert gate is not None
    assert gate["tasks"] == 10
    assert gate["new"]["name"] == "light planner (version 2)"
    names = {each["name"] for each in gate["others"]}
    assert {"sim-delta", "best worker per family, as measured"} <= names
    best = max(each["success"] for each in gate["others"])
    assert gate["is_better"] == (gate["new"]["success"] - best >= gate["margin"])
    runs = Run.objects.for_team(site.cast.team.id)
    assert training_cost(trained) == sum(runs.values_list("cost_micros", flat=True))
    is_on_record(site, trained)


def is_on_record(site: Site, trained: Training) -> None:
    """Check the ledger for each step of a training."""
    team = site.cast.team
    fitted = entries_of(team, "pool.planner_fitted")
    assert [entry["planner_version"] for entry in fitted] == [1, 2]
    assert fitted[1]["digest"] == planner_versions(trained.pool)[0].digest
    assert [len(entries_of(team, f"training.{what}")) for what in ("started", "ended")]
    (end,) = entries_of(team, "training.ended")
    assert end["outcome"] == trained.outcome


@world(train)
def test_a_version_that_did_not_pass_needs_a_reason(site, trained):
    pool = pool_of(site)
    version = planner_versions(pool)[1]  # the first fit was never measured
    with pytest.raises(InvalidInput, match="was not measured"):
        planner_use(pool=pool, number=version.number, tiers=["ultra"], actor=ACTOR)
    used = planner_use(
        pool=pool, number=1, tiers=["ultra"], actor=ACTOR, reason="To try it."
    )
    assert used.version == pool.version + 1
    (entry,) = entries_of(site.cast.team, "pool.planner_used")
    assert entry["reason"] == "To try it."
    assert entry["after"]["planner_version"] == 1


@world(train)
def test_its_tier_plans_with_it_and_the_run_says_why(site, trained):
    pool = pool_of(site)
    planner_use(pool=pool, number=2, tiers=["ultra"], actor=ACTOR, reason="Try.")
    headers = {"Authorization": f"Bearer {site.key}"}
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": "What is 17 * 7 + 4?"}],
    }
    answer = httpx.post(
        f"{site.url}/v1/chat/completions", json=body, headers=headers, timeout=60
    )
    run_id = answer.headers["x-conductor-run-id"]
    run = httpx.get(f"{site.url}/api/v1/runs/{run_id}/", headers=headers).json()
    assert run["planner"] == "light"
    (why,) = run["explanations"]
    assert why["version"] == 2
    assert [step["worker"] for step in why["chosen"]["steps"]] == [
        step["worker"] for step in run["steps"]
    ]
    assert 0 < why["chosen"]["success"] < 1
    assert {plan["steps"][0]["worker"] for plan in why["alone"]} <= {
        worker.name for worker in pool_snapshot(pool.team_id).chat_workers
    }


@world(train)
def test_going_back_takes_one_step(site, trained):
    pool = pool_of(site)
    planner_use(pool=pool, number=2, tiers=["ultra"], actor=ACTOR, reason="Try.")
    planner_retire(pool=pool, actor=ACTOR)
    row = access_pool(pool.team_id, pool.id)
    assert row.planner_version is None
    assert row.tiers.get(name="ultra").planner == "conductor"


def test_a_cancelled_training_stops_its_evaluation(site):
    training = started(site, explore_runs=2000)
    assert eventually(
        lambda: bool(access_training(training.team_id, training.pk).exploration_id)
    )
    assert training_cancel(training=training, actor=ACTOR)
    assert not training_cancel(training=training, actor=ACTOR)
    found = ended(training)
    assert found.outcome == "cancelled"
    assert found.exploration is not None
    assert found.exploration.is_cancelled


def test_a_process_that_takes_over_pays_for_nothing_twice(site):
    training = started(site)
    rows = Training.objects.for_team(training.team_id).filter(pk=training.pk)
    for field in ("exploration_id", "near_best_id", "gate_id"):
        assert eventually(
            lambda: bool(rows.values_list(field, flat=True).get()),  # noqa: B023
            WORK_PATIENCE_S,
        )
        rows.exclude(state=JobState.DONE).update(state=JobState.WAITING, claim_id=None)
    assert ended(training).outcome in ("better", "not_better")
    evaluations = evaluation_list(site.cast.team.id)
    assert evaluations.count() == 3
    runs = Run.objects.for_team(site.cast.team.id)
    assert runs.count() == sum(evaluations.values_list("total", flat=True))


def test_a_cost_limit_ends_it(site):
    found = ended(started(site, max_cost_micros=1))
    assert found.outcome == "budget"


def test_a_pool_is_trained_once_at_a_time(site):
    training = started(site)
    with pytest.raises(Conflict, match="is being trained"):
        started(site)
    training_cancel(training=training, actor=ACTOR)
    ended(training)


def test_members_may_not_train(site):
    cast = site.cast
    bob = member_principal(cast.bob, cast.team, Role.MEMBER, {})
    with pytest.raises(NotAllowed):
        training_start(
            pool=pool_of(site),
            suite_version=suite(cast.team, tasks()),
            values=SMALL,
            actor=bob.actor,
            principal=bob,
        )


def test_a_suite_without_held_out_tasks_is_refused(site):
    cast = site.cast
    only = [{**task, "split": "training"} for task in documents(12)]
    with pytest.raises(InvalidInput, match="no tasks to measure on"):
        training_start(
            pool=pool_of(site),
            suite_version=suite(cast.team, only),
            values=SMALL,
            actor=ACTOR,
        )


def test_g6_another_team_sees_nothing_of_it(site):
    training = started(site, explore_runs=12)
    with pytest.raises(NotFound):
        access_training(site.cast.other_team.id, training.pk)
    training_cancel(training=training, actor=ACTOR)
    ended(training)
