"""Over REST, too: a tier that is to plan does, or its pool says why not."""

from __future__ import annotations

import pytest

from apps.pools.models import Pool
from tests.rest.conftest import fault
from tests.rest.things import make_things


@pytest.fixture
def pool(cast, simulator_url):
    make_things(cast, simulator_url)
    return Pool.objects.for_team(cast.team.id).get()


def test_a_pool_says_which_tier_does_not_plan_and_why(alice, pool):
    """Promise O1, over REST."""
    place = f"pools/{pool.id}/"
    assert alice.get(place).json()["notices"] == []
    body = {"tiers": {"ultra": {"planner": "single_worker"}}}
    told = alice.patch(place, body, if_match="*").json()["notices"]
    assert [each["path"] for each in told] == ["tiers.ultra.planner"]
    assert "does not plan" in told[0]["message"]
    bare = {
        "name": "bare",
        "worker_ids": [str(pool.fallback_id)],
        "fallback_id": str(pool.fallback_id),
        "tiers": {"ultra": {}},
    }
    made = alice.post("pools/", bare).json()
    assert "no conductor" in made["notices"][0]["message"]
    listed = {row["name"]: row["notices"] for row in alice.get("pools/").json()["data"]}
    assert listed == {"bare": made["notices"], pool.name: told}


def test_a_pool_made_with_a_conductor_plans_in_both_tiers(alice, pool):
    """Promise O1: what is left out follows from the conductor."""
    body = {
        "name": "second",
        "conductor_id": str(pool.conductor_id),
        "worker_ids": [str(pool.fallback_id)],
        "fallback_id": str(pool.fallback_id),
    }
    made = alice.post("pools/", body).json()
    planners = {name: tier["planner"] for name, tier in made["tiers"].items()}
    assert planners == {"mini": "conductor", "ultra": "conductor"}
    assert made["notices"] == []


def test_a_tier_told_to_plan_without_a_conductor_is_refused(alice, pool):
    body = {"conductor_id": None}
    error = fault(alice.patch(f"pools/{pool.id}/", body, if_match="*"), 400)
    assert "no conductor to plan with" in error["message"]


@pytest.mark.parametrize(
    ("said", "planner"),
    [({}, "conductor"), ({"ultra": {"planner": "single_worker"}}, "single_worker")],
)
def test_tiers_follow_the_conductor_that_a_pool_gets(alice, pool, said, planner):
    """Unless the same request says how they plan."""
    conductor, pool.conductor = pool.conductor, None
    pool.save()
    pool.tiers.update(planner="single_worker")
    body = {"conductor_id": str(conductor.id), "tiers": said}
    changed = alice.patch(f"pools/{pool.id}/", body, if_match="*").json()
    assert changed["tiers"]["ultra"]["planner"] == planner
    assert changed["tiers"]["mini"]["planner"] == "conductor"
    assert bool(changed["notices"]) == (planner == "single_worker")


def test_a_conductor_is_tested_with_a_plan(alice, simulator_url):
    """Promises O2 and O3, over REST: JSON unless said, and the test reads a plan."""
    body = {"name": "planner", "base_url": simulator_url, "model": "sim-conductor"}
    made = alice.post("conductors/", body).json()
    assert made["mode"] == "json_schema"
    told = alice.post(f"conductors/{made['id']}/test/").json()
    assert (told["ok"], told["plan_steps"], told["error_code"]) == (True, 3, "")
    place = f"conductors/{made['id']}/"
    assert alice.patch(place, {"model": "sim-conductor-prose"}).status_code == 200
    told = alice.post(f"{place}test/").json()
    assert (told["ok"], told["plan_steps"]) == (False, None)
    assert told["error_code"] == "unparseable"
    assert "not a plan" in told["message"]
