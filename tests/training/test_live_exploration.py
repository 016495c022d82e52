"""A share of requests tries plans near the best one, if the team says so."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.core.ids import is_sampled, new_id
from apps.engine import events as ev
from apps.governance.services import feedback_give
from apps.pools.models import Tier
from apps.pools.selectors import snapshots_forget
from apps.runs.execution.executor import get_executor
from apps.runs.models import Run, Source
from apps.runs.selectors import run_events
from apps.runs.services import run_fork, run_rerun, run_start_detached
from apps.runs.types import RunRestrictions
from apps.training.live_exploration import SALT
from apps.training.selectors import learning_counts, learning_records
from apps.training.services import MOST_EXPLORED, training_settings_replace
from tests.conftest import Site
from tests.evaluation.test_ab import start as ab_started
from tests.evaluation.test_driver import ended, start
from tests.factories import ACTOR
from tests.patience import eventually
from tests.rest.conftest import member, program
from tests.runs.starting import on_loop, order
from tests.runs.starting import run as conducted
from tests.training.explored import credited, pool_name, training_tasks
from tests.training.light_pools import with_light_planner
from tests.training.test_interfaces import browser

EXPLORED, QUESTION = "light_explored", "Compute 17 * 7 + 4."


def choose(site: Site, percent: int = MOST_EXPLORED, *, consent: bool = True) -> None:
    values = {"learns_from_requests": consent, "explored_percent": percent}
    training_settings_replace(team=site.cast.team, values=values, actor=ACTOR)


def run_id(drawn: bool = True) -> uuid.UUID:
    """Return an id for a run that is drawn at the highest share, or not at all."""
    while is_sampled(SALT + (found := new_id()).bytes, MOST_EXPLORED) is not drawn:
        pass
    return found


def asked(site: Site, given: uuid.UUID | None = None, **fields: Any) -> Run:
    """Return a run that is drawn, if it may explore at all."""
    given = given or run_id()
    conducted(order(site.cast, QUESTION, **fields), given)
    return Run.objects.for_team(site.cast.team.id).get(id=given)


def called(site: Site, **fields: Any) -> Run:
    """Return a run of the API, whose id nobody chose."""
    headers = {"Authorization": f"Bearer {site.key}"}
    message = {"role": "user", "content": QUESTION}
    body = {"model": "conductor-ultra", "messages": [message], **fields}
    answer = httpx.post(f"{site.url}/v1/chat/completions", json=body, headers=headers)
    found = answer.headers["x-conductor-run-id"]
    return Run.objects.for_team(site.cast.team.id).get(id=found)


def over(team_id: uuid.UUID, found: uuid.UUID) -> Run:
    """Return a run once it has ended."""
    rows = Run.objects.for_team(team_id).filter(id=found)
    assert eventually(lambda: rows.get().is_over)
    return rows.get()


def is_drawn(run: Run) -> bool:
    return is_sampled(SALT + run.id.bytes, MOST_EXPLORED)


def plan_of(run: Run) -> ev.PlanAccepted:
    (found,) = (
        entry.event
        for entry in run_events(run)
        if isinstance(entry.event, ev.PlanAccepted)
    )
    return found


def shape(run: Run) -> tuple[Any, ...]:
    plan = plan_of(run)
    return plan.workers, plan.access


@pytest.fixture
def exploring(site: Site) -> Site:
    with_light_planner(site)
    choose(site)
    return site


# --- who explores ---------------------------------------------------------------------


def test_a_run_that_is_drawn_says_so_everywhere(exploring: Site):
    best = asked(exploring, run_id(drawn=False))
    run = asked(exploring)
    assert (best.planner, run.planner) == ("light", EXPLORED)
    (why,) = program(exploring.key).get(f"runs/{run.id}/").json()["explanations"]
    explored = why["explored"]
    assert 2 <= explored["rank"] <= explored["of"] <= 8
    assert explored["best"]["steps"] != why["chosen"]["steps"]
    page = browser(exploring.cast.vera).get(f"/runs/{run.id}/").content.decode()
    assert f" best of {explored['of']} plans" in page
    assert "the best plan" in page
    (plain,) = program(exploring.key).get(f"runs/{best.id}/").json()["explanations"]
    assert plain["explored"] is None


def test_the_share_is_that_of_the_ids(exploring: Site):
    for _ in range(12):
        found = called(exploring)
        assert (found.planner == EXPLORED) == is_drawn(found)


@pytest.mark.parametrize(("percent", "consent"), [(0, True), (MOST_EXPLORED, False)])
def test_without_consent_or_share_none_explores(site, percent, consent):
    with_light_planner(site)
    choose(site, percent, consent=consent)
    assert asked(site).planner == "light"


def test_other_teams_choose_for_themselves(exploring: Site):
    team = exploring.cast.mallory.memberships.get().team
    values = {"learns_from_requests": True, "explored_percent": 0}
    training_settings_replace(team=team, values=values, actor=ACTOR)
    assert asked(exploring).planner == EXPLORED


def test_a_request_can_say_never(exploring: Site):
    while True:
        found = called(exploring, conductor={"exploration": "never"})
        assert found.planner == "light"
        if is_drawn(found):
            return


def test_a_tier_of_a_conductor_never_explores(exploring: Site):
    assert asked(exploring, model="conductor-mini").planner == "language_model"


def test_a_cascade_explores_where_it_is_sure(site: Site):
    with_light_planner(site, with_conductor=True)
    choose(site)
    assert asked(site, prompt="Compute 17 * 3.").planner == EXPLORED
    assert asked(site, prompt="Who wrote Faust?").planner == "light_cascade"


@pytest.mark.parametrize("source", [Source.EVALUATION, Source.SHADOW])
def test_tests_of_the_team_never_explore(exploring: Site, source: str):
    assert asked(exploring, source=source).planner == "light"


def test_an_evaluation_of_the_tier_never_explores(exploring: Site):
    ended(
        start(
            exploring,
            {"kind": "tier", "tier": "ultra"},
            tasks=training_tasks(24),
            split="training",
        )
    )
    planners = Run.objects.for_team(exploring.cast.team.id).values_list("planner")
    assert {each for (each,) in planners} == {"light"}


def test_no_side_of_an_a_b_test_explores(exploring: Site):
    ab_started(exploring, tier="ultra", percent=1)
    run = asked(exploring, api_key_id=exploring.cast.key.row.id)
    assert (run.ab_arm, run.planner) == ("a", "light")


def test_repetitions_and_forks_never_explore(exploring: Site):
    run = asked(exploring)
    alice = member_principal(exploring.cast.alice, exploring.cast.team, Role.OWNER, {})
    while True:
        again = over(run.team_id, run_rerun(run, alice))
        assert again.planner == "light"
        if is_drawn(again):
            break
    fork = over(run.team_id, run_fork(run, alice))
    assert fork.planner == "given_plan"
    assert shape(fork) == shape(run)


# --- what is drawn --------------------------------------------------------------------


def test_a_run_that_another_process_takes_up_has_the_plan_of_its_draw(
    settings, exploring: Site
):
    settings.BACKGROUND_RUNS = "workers"
    team = exploring.cast.team
    waiting = on_loop(run_start_detached(order(exploring.cast, QUESTION), run_id()))
    choose(exploring, 0)
    rows = Run.objects.for_team(team.id)
    assert on_loop(get_executor().claim(waiting))
    assert eventually(lambda: rows.get(id=waiting).is_over)
    assert rows.get(id=waiting).planner == EXPLORED
    assert asked(exploring).planner == "light"


def test_runs_draw_by_their_ids(exploring: Site):
    runs = [asked(exploring) for _ in range(12)]
    assert len({shape(run) for run in runs}) > 1
    assert {name for run in runs for name in plan_of(run).workers} == {
        "sim-birch",
        "sim-delta",
    }


def test_workers_that_a_request_leaves_out_are_not_tried(exploring: Site):
    one = RunRestrictions(workers=("sim-birch",))
    for _ in range(6):
        run = asked(exploring, restrictions=one)
        assert set(plan_of(run).workers) == {"sim-birch"}


def test_a_tier_that_changed_its_planner_meanwhile_plans_as_it_does_now(
    settings, exploring: Site
):
    settings.BACKGROUND_RUNS = "workers"
    team = exploring.cast.team
    waiting = on_loop(run_start_detached(order(exploring.cast, QUESTION), run_id()))
    tiers = Tier.objects.for_team(team.id).filter(name="ultra")
    tiers.update(planner="single_worker")
    snapshots_forget(team.id)
    rows = Run.objects.for_team(team.id)
    assert on_loop(get_executor().claim(waiting))
    assert eventually(lambda: rows.get(id=waiting).is_over)
    assert rows.get(id=waiting).planner == "single_worker"


# --- what is learned ------------------------------------------------------------------


def test_explored_runs_are_counted_and_learned_from_once_rated(exploring: Site):
    team, pool = exploring.cast.team, pool_name(exploring)
    run, plain = asked(exploring), asked(exploring, run_id(drawn=False))
    (before,) = learning_counts(team.id)
    assert (before.explored_requests, before.runs) == (1, 0)
    for each in (run, plain):
        feedback_give(run=each, rating="up", actor=ACTOR)
    credited()
    records = {each.graded.run_id: each for each in learning_records(team.id, pool)}
    assert records[run.id].graded.is_explored
    assert not records[plain.id].graded.is_explored
    (told,) = member(exploring.cast.vera).get("learning/data/").json()["pools"]
    assert told["explored_requests"] == 1
    assert [(each["runs"], each["explored"]) for each in told["counts"]] == [(2, 1)]
    page = browser(exploring.cast.vera).get("/learning/").content.decode()
    assert f"?planner={EXPLORED}" in page
    listed = browser(exploring.cast.vera).get(f"/runs/?planner={EXPLORED}")
    assert str(run.id) in listed.content.decode()
    assert str(plain.id) not in listed.content.decode()
