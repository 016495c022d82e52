"""`manage.py demo_prepare`, at each start of the demo: what people changed stays."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import call_command

from apps.accounts.models import Team
from apps.pools.models import Conductor, Pool, TierPlanner, Worker
from apps.pools.services import (
    planner_version_use,
    pool_delete,
    pool_update,
    worker_update,
)
from tests.factories import ACTOR
from tests.training.conducted import add_planner

FIRST, LATER = "http://127.0.0.1:8100/v1", "http://127.0.0.1:8123/v1"
OWN = "http://127.0.0.1:9000/v1"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path


def started(simulator_url: str = FIRST) -> Team:
    """Prepare the demo, as each start of it does."""
    call_command("demo_prepare", simulator_url=simulator_url, stdout=io.StringIO())
    return Team.objects.get(slug="demo")


def pool_of(team: Team, name: str = "benchmark") -> Pool:
    return Pool.objects.for_team(team.id).get(name=name)


def addresses(team: Team) -> set[str]:
    rows = (Worker.objects.for_team(team.id), Conductor.objects.for_team(team.id))
    return {url for each in rows for url in each.values_list("base_url", flat=True)}


def test_a_planner_in_use_is_in_use_after_the_next_start():
    team = started()
    pool = pool_of(team)
    add_planner(pool)
    planner_version_use(
        pool=pool, number=1, tiers={"ultra": TierPlanner.LIGHT}, actor=ACTOR
    )
    for address in (FIRST, LATER):
        started(address)
        found = pool_of(team)
        assert found.planner_version is not None
        assert found.tiers.get(name="ultra").planner == "light"


def test_other_changes_of_people_stay():
    team = started()
    pool = pool_of(team)
    pool_update(pool=pool, values={"tiers": {"mini": {"max_calls": 5}}}, actor=ACTOR)
    worker = pool.workers.order_by("name").first()
    assert worker is not None
    worker_update(worker=worker, values={"description": "Ours."}, actor=ACTOR)
    version = pool_of(team).version
    started()
    assert pool_of(team).version == version
    assert pool_of(team).tiers.get(name="mini").max_calls == 5
    worker.refresh_from_db()
    assert worker.description == "Ours."


def test_models_follow_the_simulator_and_others_stay():
    team = started()
    own = pool_of(team).workers.order_by("name").first()
    assert own is not None
    worker_update(worker=own, values={"base_url": OWN}, actor=ACTOR)
    assert addresses(team) == {FIRST, OWN}
    started(LATER)
    assert addresses(team) == {LATER, OWN}
    started(FIRST)
    assert addresses(team) == {FIRST, OWN}


def test_a_pool_that_is_gone_is_made_again():
    team = started()
    pool_delete(pool=pool_of(team), actor=ACTOR)
    started(LATER)
    assert pool_of(team).workers.exists()
    assert addresses(team) == {LATER}
