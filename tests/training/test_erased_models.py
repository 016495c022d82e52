"""Fitted planners are of one team's data as it is now: over REST."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from apps.accounts.models import Team, User
from apps.pools.models import PlannerVersion, Tier
from apps.training.models import Training
from tests.conftest import Cast, Site, make_pool
from tests.evaluation.samples import make_evaluation, suite
from tests.governance.conftest import erase, later
from tests.patience import WORK_PATIENCE_S, eventually
from tests.rest.conftest import member
from tests.training.made_trainings import make_training
from tests.training.test_trainings import tasks
from tests.worlds import world

pytestmark = pytest.mark.slow

TRAININGS = "learning/trainings/"
EXPLORED = {"explore_runs": 24, "near_best_runs": 0, "held_out_tasks": 10}
AS_LOGGED = {**EXPLORED, "explore_runs": 0}
"""Fits on what is there, and explores nothing."""
DAYS = 183


def prepared(team: Team) -> None:
    """Give a team a suite, and plans of five steps."""
    suite(team, tasks())
    Tier.objects.for_team(team.id).filter(name="ultra").update(max_steps=5)


def fitted(user: User, settings: dict[str, int]) -> dict[str, Any]:
    """Train the default pool of a person's team, and return the newest version."""
    caller = member(user)
    body = {"suite": "basics", "settings": {**settings, "parallel_runs": 8}}
    answer = caller.post(TRAININGS, body)
    assert answer.status_code == 202, answer.content
    one = f"{TRAININGS}{answer.json()['id']}/"
    ends = ("better", "not_better")
    assert eventually(lambda: caller.get(one).json()["state"] in ends, WORK_PATIENCE_S)
    newest: dict[str, Any] = versions(user)[0]
    return newest


def versions(user: User) -> list[dict[str, Any]]:
    caller = member(user)
    (pool,) = caller.get("pools/").json()["data"]
    found: list[dict[str, Any]] = caller.get(
        f"learning/pools/{pool['id']}/versions/"
    ).json()["data"]
    return found


def logged_runs(user: User) -> int:
    (pool,) = member(user).get("learning/data/").json()["pools"]
    return int(pool["runs"])


def explored_runs(user: User) -> list[str]:
    """Return the runs that the newest training has explored with."""
    caller = member(user)
    (training,) = caller.get(TRAININGS).json()["data"]
    answer = caller.get(f"evaluations/{training['exploration_id']}/results/")
    lines = b"".join(answer.streaming_content).decode().splitlines()
    return [row["run_id"] for row in csv.DictReader(lines)]


def fit(site: Site) -> None:
    """Fill a world: a planner is fitted on what was explored."""
    prepared(site.cast.team)
    fitted(site.cast.alice, EXPLORED)


@world(fit)
def test_g13_the_next_fit_is_without_what_was_erased(site: Site):
    alice, user = member(site.cast.alice), site.cast.alice
    (before,) = versions(user)
    assert before["fit"]["runs"] == logged_runs(user) == 24
    kept = explored_runs(user)[:8]
    for run_id in kept:  # a legal hold keeps these eight from being erased
        hold = {"run_id": run_id, "reason": "A dispute."}
        assert alice.post("holds/", hold).status_code == 201
    assert alice.patch("retention/", {"days": DAYS}).status_code == 200
    assert erase(later(DAYS + 1))
    assert logged_runs(user) == len(kept)
    after = fitted(user, AS_LOGGED)
    assert after["fit"]["runs"] == len(kept)
    assert after["fit"]["graded_steps"] < before["fit"]["graded_steps"]
    assert after["data_digest"] != before["data_digest"]
    assert after["planner_digest"] != before["planner_digest"]


@world(fit)
def test_g13_nothing_is_fitted_on_what_is_all_erased(site: Site):
    alice = member(site.cast.alice)
    assert alice.patch("retention/", {"days": DAYS}).status_code == 200
    assert erase(later(DAYS + 1))
    answer = alice.post(TRAININGS, {"suite": "basics", "settings": AS_LOGGED})
    one = f"{TRAININGS}{answer.json()['id']}/"
    assert eventually(lambda: alice.get(one).json()["state"] == "failed")
    assert "there are no graded answers" in alice.get(one).json()["error"]
    assert len(versions(site.cast.alice)) == 1


def test_g6_what_another_team_logs_changes_no_planner(site: Site):
    make_pool(site.cast.other_team, site.simulator_url)
    for team in (site.cast.team, site.cast.other_team):
        prepared(team)
    mallory = site.cast.mallory
    first = fitted(mallory, EXPLORED)
    again = fitted(mallory, AS_LOGGED)
    fitted(site.cast.alice, EXPLORED)
    assert logged_runs(site.cast.alice) == 24
    last = fitted(mallory, AS_LOGGED)
    for name in ("data_digest", "planner_digest", "fit"):
        assert first[name] == again[name] == last[name]
    assert [each["number"] for each in versions(site.cast.alice)] == [1]


@pytest.mark.django_db
def test_a_teams_planners_and_trainings_go_with_it(cast: Cast):
    for team in (cast.team, cast.other_team):
        make_pool(team, "http://127.0.0.1:9/v1")
        evaluation = make_evaluation(team)
        pool = team.pools.get(is_default=True)
        make_training(team, pool.id, evaluation.id)
    answer = member(cast.alice).delete(f"team/?confirmation={cast.team.slug}")
    assert answer.status_code == 204
    for rows in (PlannerVersion, Training):
        teams = rows.objects.across_teams().values_list("team_id", flat=True)
        assert set(teams) == {cast.other_team.id}
