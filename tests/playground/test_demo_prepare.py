"""`manage.py demo_prepare`, at each start of the demo: what people changed stays."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from django.core.management import call_command

from apps.accounts.models import Team
from apps.evaluation.models import Evaluation
from apps.evaluation.reports.headline import headline
from apps.pools.models import Conductor, Pool, TierPlanner, Worker
from apps.pools.pool_file import document_parse
from apps.pools.services import (
    planner_version_use,
    pool_delete,
    pool_import,
    pool_update,
    worker_update,
)
from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.tasks import recognise
from tests.docs.reading import ROOT
from tests.factories import ACTOR, TeamFactory
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


def pool_of(team: Team, name: str = "demo") -> Pool:
    return Pool.objects.for_team(team.id).get(name=name)


def addresses(team: Team) -> set[str]:
    rows = (Worker.objects.for_team(team.id), Conductor.objects.for_team(team.id))
    return {url for each in rows for url in each.values_list("base_url", flat=True)}


def test_a_planner_in_use_is_in_use_after_the_next_start():
    team = started()
    pool = pool_of(team)
    add_planner(pool)
    planner_version_use(
        pool=pool, number=2, tiers={"ultra": TierPlanner.LIGHT}, actor=ACTOR
    )
    for address in (FIRST, LATER):
        started(address)
        found = pool_of(team)
        assert found.planner_version is not None
        assert found.planner_version.number == 2
        assert found.tiers.get(name="ultra").planner == "light"


def test_its_pool_plans_with_the_planner_that_was_measured():
    team = started()
    pool = pool_of(team)
    assert pool.is_default
    assert pool.planner_version is not None
    gate = pool.planner_version.gate
    assert gate is not None
    assert gate["is_better"]
    assert set(pool.tiers.values_list("planner", flat=True)) == {"cascade"}
    found = headline(team.id)
    assert found is not None
    assert str(found.evaluation_id) == gate["evaluation"]
    assert found.tasks >= 240
    assert found.difference.low > 0.3
    assert found.cost_ratio is not None and found.cost_ratio < 1
    started(LATER)
    assert Evaluation.objects.for_team(team.id).count() == 1


def test_each_of_its_samples_is_a_held_out_task_of_another_family():
    found = headline(started().id)
    assert found is not None
    tasks = [recognise(each.prompt) for each in found.telling]
    families = [str(task.family) for task in tasks if task is not None]
    assert families == [each.family for each in found.telling]
    assert len(set(families)) == len(TaskFamily)


def test_untrained_it_has_a_pool_that_nothing_is_known_of():
    call_command("demo_prepare", untrained=True, stdout=io.StringIO())
    team = Team.objects.get(slug="demo")
    assert pool_of(team).planner_version is None
    assert headline(team.id) is None


def test_a_demo_of_before_gets_the_pool_beside_its_own():
    team = TeamFactory.create(slug="demo")
    text = (ROOT / "docs/pools/benchmark.yaml").read_text(encoding="utf-8")
    pool_import(team=team, document=document_parse(text), actor=ACTOR, environ={})
    started()
    assert pool_of(team).is_default
    assert pool_of(team, "benchmark").workers.exists()


def test_anybody_enters_by_a_button(client, settings):
    started()
    assert "Enter the demo" not in client.get("/accounts/login/").content.decode()
    settings.IS_DEMO = True
    page = client.get("/accounts/login/").content.decode()
    assert "41 points more often than the best single model" in page
    fields = re.findall(r'type="hidden" name="(login|password)" value="([^"]+)"', page)
    owner, reviewer = dict(fields[:2]), dict(fields[2:])
    assert client.post("/accounts/login/", owner).status_code == 302
    assert client.get("/home/").status_code == 200
    client.logout()
    assert client.post("/accounts/login/", reviewer).status_code == 302
    assert client.get("/").headers["Location"] == "/review/"


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
