"""Changing pools: shape, rules between fields, versions, the default."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from apps.accounts.models import Team
from apps.core.errors import Conflict, InvalidFields, NotFound, VersionConflict
from apps.pools.models import Pool, PoolVersion, Tier
from apps.pools.selectors import (
    access_pool,
    pool_snapshot,
    pool_values,
    snapshots_forget,
)
from apps.pools.services import pool_create, pool_delete, pool_update, worker_update
from tests.factories import ACTOR, PoolFactory, TeamFactory
from tests.pools.making import (
    actions,
    entries,
    make_conductor,
    make_pool,
    make_worker,
)


def update(pool: Pool, **values: Any) -> Pool:
    return pool_update(pool=pool, values=values, actor=ACTOR)


def update_if(version: int, pool: Pool, **values: Any) -> Pool:
    return pool_update(pool=pool, values=values, actor=ACTOR, expected_version=version)


def tiers_of(pool: Pool) -> dict[str, Any]:
    tiers: dict[str, Any] = pool_values(pool)["tiers"]
    return tiers


@pytest.fixture
def pool(team: Team) -> Pool:
    """A pool of three workers and a conductor, with both tiers."""
    workers = [make_worker(team, name=name) for name in ("one", "two", "three")]
    conductor = make_conductor(team)
    return make_pool(team, *workers, conductor_id=str(conductor.id))


def test_what_is_given_comes_back_in_the_same_words(team: Team):
    one, two = make_worker(team, name="one"), make_worker(team, name="two")
    tier = {
        "planner": "single_worker",
        "answer_worth_usd": "0.02",
        "max_steps": 2,
        "max_rounds": 1,
        "max_parallel": 1,
        "max_calls": 3,
        "max_tokens": 1000,
        "max_cost_usd": "0.05",
        "wall_time_s": 60,
        "delivery": "verified",
        "is_hedged": True,
        "allows_delegation": True,
    }
    values = {
        "name": "main",
        "is_default": True,
        "conductor_id": str(make_conductor(team).id),
        "worker_ids": [str(two.id), str(one.id)],
        "fallback_id": str(one.id),
        "no_substitute_ids": [str(two.id)],
        "retries_refusals": True,
        "tiers": {"mini": tier, "ultra": {**tier, "planner": "conductor"}},
    }
    pool = pool_create(team=team, values=values, actor=ACTOR)
    assert pool_values(access_pool(team.id, pool.id)) == values
    assert pool.version == 1
    assert entries(team)[-1].data["after"] == values
    assert entries(team)[-1].data["version"] == 1


def test_everybody_may_take_over_unless_said(team: Team):
    one, two, three = (make_worker(team, name=name) for name in ("a", "b", "c"))
    pool = make_pool(team, one, two)
    assert pool_values(pool)["no_substitute_ids"] == []
    spared = {"no_substitute_ids": [str(two.id)]}
    pool = pool_update(pool=pool, values=spared, actor=ACTOR)
    more = {"worker_ids": [str(three.id), str(two.id), str(one.id)]}
    pool = pool_update(pool=pool, values=more, actor=ACTOR)
    assert pool_values(pool)["no_substitute_ids"] == [str(two.id)]
    workers = {w.name: w.may_substitute for w in pool_snapshot(team.id).workers}
    assert workers == {"c": True, "b": False, "a": True}


def test_worker_that_leaves_is_no_longer_spared(team: Team):
    one, two = make_worker(team, name="a"), make_worker(team, name="b")
    pool = make_pool(team, one, two, no_substitute_ids=[str(two.id)])
    pool = pool_update(pool=pool, values={"worker_ids": [one.id]}, actor=ACTOR)
    assert pool_values(pool)["no_substitute_ids"] == []


def test_only_a_worker_of_the_pool_can_be_spared(team: Team):
    one, two = make_worker(team, name="a"), make_worker(team, name="b")
    with pytest.raises(InvalidFields) as caught:
        make_pool(team, one, no_substitute_ids=[str(two.id)])
    assert list(caught.value.fields) == ["no_substitute_ids[0]"]


def test_tier_delivers_live_and_without_rivals_unless_said(team: Team):
    pool = make_pool(team)
    tier = pool.tiers.get(name="mini")
    assert (tier.delivery, tier.is_hedged) == ("live", False)
    values = {"tiers": {"mini": {"delivery": "verified", "is_hedged": True}}}
    pool_update(pool=pool, values=values, actor=ACTOR)
    told = pool_snapshot(team.id).tiers["mini"]
    assert (told.delivery, told.is_hedged) == ("verified", True)


def test_unknown_delivery_is_told_by_its_path(team: Team):
    pool = make_pool(team)
    with pytest.raises(InvalidFields) as caught:
        values = {"tiers": {"mini": {"delivery": "later"}}}
        pool_update(pool=pool, values=values, actor=ACTOR)
    assert list(caught.value.fields) == ["tiers.mini.delivery"]


def test_pool_without_a_conductor_plans_with_nobody(team: Team):
    assert {
        name: tier["planner"] for name, tier in tiers_of(make_pool(team)).items()
    } == {"mini": "single_worker"}


def test_pool_with_a_conductor_has_both_tiers(pool: Pool):
    assert {name: tier["planner"] for name, tier in tiers_of(pool).items()} == {
        "mini": "conductor",
        "ultra": "conductor",
    }


def test_tier_of_null_is_left_out(team: Team):
    conductor = make_conductor(team)
    pool = make_pool(team, conductor_id=str(conductor.id), tiers={"mini": None})
    assert list(tiers_of(pool)) == ["ultra"]


def test_update_changes_what_is_given_and_nothing_else(pool: Pool):
    before = pool_values(pool)
    after = update(pool, tiers={"ultra": {"max_steps": 3, "max_cost_usd": "0.5"}})
    expected = {**before["tiers"]["ultra"], "max_steps": 3, "max_cost_usd": "0.5"}
    assert tiers_of(after) == {**before["tiers"], "ultra": expected}
    assert after.version == 2
    data = entries(after.team)[-1].data
    assert (list(data["before"]), list(data["after"])) == (["tiers"], ["tiers"])
    assert data["version"] == 2


def test_update_that_changes_nothing_records_nothing(pool: Pool):
    before = actions(pool.team)
    assert update(pool, **pool_values(pool)).version == 1
    assert actions(pool.team) == before


def test_tier_goes_by_null_and_comes_back_by_name(pool: Pool):
    assert list(tiers_of(update(pool, tiers={"ultra": None}))) == ["mini"]
    assert list(tiers_of(update(pool, is_default=True))) == ["mini"]
    assert tiers_of(update(pool, tiers={"ultra": {}}))["ultra"]["max_steps"] == 5


def test_order_of_workers_can_change(pool: Pool):
    ids = pool_values(pool)["worker_ids"]
    after = update(pool, worker_ids=ids[::-1])
    assert pool_values(after)["worker_ids"] == ids[::-1]
    assert after.version == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "a/b"}, "name"),
        ({"name": ""}, "name"),
        ({"worker_ids": []}, "worker_ids"),
        ({"worker_ids": "all"}, "worker_ids"),
        ({"worker_ids": None}, "worker_ids"),
        ({"worker_ids": ["7"]}, "worker_ids[0]"),
        ({"fallback_id": None}, "fallback_id"),
        ({"fallback_id": str(uuid.uuid4())}, "fallback_id"),
        ({"conductor_id": str(uuid.uuid4())}, "conductor_id"),
        ({"tiers": {"maxi": {}}}, "tiers.maxi"),
        ({"tiers": {"mini": None, "ultra": None}}, "tiers"),
        ({"tiers": []}, "tiers"),
        ({"tiers": {"mini": 1}}, "tiers.mini"),
        ({"tiers": {"mini": {"planner": "me"}}}, "tiers.mini.planner"),
        ({"tiers": {"mini": {"max_steps": 0}}}, "tiers.mini.max_steps"),
        ({"tiers": {"mini": {"max_steps": 51}}}, "tiers.mini.max_steps"),
        ({"tiers": {"mini": {"max_calls": 4, "max_steps": 5}}}, "tiers.mini.max_calls"),
        ({"tiers": {"mini": {"max_cost_usd": "0"}}}, "tiers.mini.max_cost_usd"),
        ({"tiers": {"mini": {"max_cost_usd": "-1"}}}, "tiers.mini.max_cost_usd"),
        ({"tiers": {"mini": {"max_cost_usd": 0.5}}}, "tiers.mini.max_cost_usd"),
        ({"tiers": {"mini": {"max_tokens": 10**13}}}, "tiers.mini.max_tokens"),
        ({"tiers": {"mini": {"wall_time_s": 86_401}}}, "tiers.mini.wall_time_s"),
        ({"tiers": {"mini": {"id": 1}}}, "tiers.mini.id"),
        ({"version": 7}, "version"),
        ({"team_id": str(uuid.uuid4())}, "team_id"),
    ],
)
def test_bad_value_is_told_by_its_field_and_nothing_is_saved(
    pool: Pool, changes: dict[str, Any], field: str
):
    before, recorded = pool_values(pool), actions(pool.team)
    for attempt in (
        lambda: update(pool, **changes),
        lambda: pool_create(
            team=pool.team,
            values={**before, "name": "new", **changes},
            actor=ACTOR,
        ),
    ):
        with pytest.raises(InvalidFields) as caught:
            attempt()
        assert list(caught.value.fields) == [field]
    assert pool_values(access_pool(pool.team_id, pool.id)) == before
    assert actions(pool.team) == recorded
    assert Pool.objects.for_team(pool.team_id).count() == 1


def test_rows_of_another_team_do_not_exist(pool: Pool):
    other = TeamFactory.create()
    worker, conductor = make_worker(other), make_conductor(other)
    ids = [*pool_values(pool)["worker_ids"], str(worker.id)]
    values = {"worker_ids": ids, "conductor_id": str(conductor.id)}
    with pytest.raises(InvalidFields) as caught:
        update(pool, **values)
    assert caught.value.fields == {
        "worker_ids[3]": ["does not exist"],
        "conductor_id": ["does not exist"],
    }


def test_worker_is_in_a_pool_once(pool: Pool):
    first, *rest = pool_values(pool)["worker_ids"]
    with pytest.raises(InvalidFields) as caught:
        update(pool, worker_ids=[first, *rest, first])
    assert caught.value.fields == {"worker_ids[3]": ["is in the pool already"]}


def test_fallback_cannot_be_left_behind(pool: Pool):
    ids = pool_values(pool)["worker_ids"]
    with pytest.raises(InvalidFields, match="one of the pool's workers"):
        update(pool, worker_ids=ids[1:])
    assert update(pool, worker_ids=ids[1:], fallback_id=ids[1]).version == 2


def test_conductor_cannot_leave_tiers_that_need_one(pool: Pool):
    with pytest.raises(InvalidFields) as caught:
        update(pool, conductor_id=None)
    assert list(caught.value.fields) == ["tiers.mini.planner", "tiers.ultra.planner"]


def test_name_is_taken_once_a_team(pool: Pool):
    with pytest.raises(InvalidFields, match="name: is taken already"):
        make_pool(pool.team, make_worker(pool.team))
    assert make_pool(TeamFactory.create()).name == "main"


# --- versions ------------------------------------------------------------------------


def test_update_of_the_version_that_was_read_is_taken(pool: Pool):
    assert update_if(1, pool, name="renamed").version == 2


def test_update_of_an_older_version_is_refused(pool: Pool):
    update_if(1, pool, name="first")
    with pytest.raises(VersionConflict, match="at version 2 by now, not at 1"):
        update_if(1, pool, name="second")
    assert access_pool(pool.team_id, pool.id).name == "first"


def test_version_beside_the_pool_counts_too(pool: Pool):
    worker_update(worker=pool.fallback, values={"model": "new"}, actor=ACTOR)
    with pytest.raises(VersionConflict):
        update_if(1, pool, name="late")


# --- the default ---------------------------------------------------------------------


def test_first_pool_is_the_default_whatever_is_said(team: Team):
    assert make_pool(team, is_default=False).is_default


def test_another_pool_takes_the_default_over(pool: Pool):
    second = make_pool(pool.team, pool.fallback, name="second", is_default=True)
    assert second.is_default
    first = access_pool(pool.team_id, pool.id)
    assert (first.is_default, first.version) == (False, 2)
    assert actions(pool.team)[-2:] == ["pool.created", "pool.changed"]
    assert update(first, is_default=True).is_default


def test_default_cannot_be_given_up(pool: Pool):
    with pytest.raises(InvalidFields, match="another pool the default"):
        update(pool, is_default=False)


def test_default_goes_last(pool: Pool):
    second = make_pool(pool.team, pool.fallback, name="second")
    with pytest.raises(Conflict, match="'main' is the default"):
        pool_delete(pool=pool, actor=ACTOR)
    pool_delete(pool=second, actor=ACTOR)
    pool_delete(pool=pool, actor=ACTOR)
    assert actions(pool.team)[-2:] == ["pool.deleted", "pool.deleted"]
    for model in (Pool, Tier, PoolVersion):
        assert not model.objects.for_team(pool.team_id).exists()


def test_deleted_pool_is_not_found(pool: Pool):
    stale = access_pool(pool.team_id, pool.id)
    pool_delete(pool=pool, actor=ACTOR)
    with pytest.raises(NotFound):
        update(stale, name="late")


def test_pool_of_another_team_is_not_found(pool: Pool):
    with pytest.raises(NotFound):
        access_pool(TeamFactory.create().id, pool.id)


def test_change_is_felt_by_the_next_run(
    pool: Pool, django_capture_on_commit_callbacks: Any
):
    assert pool_snapshot(pool.team_id).tiers["mini"].max_steps == 1
    with django_capture_on_commit_callbacks(execute=True):
        update(pool, tiers={"mini": {"max_steps": 2}})
    assert pool_snapshot(pool.team_id).tiers["mini"].max_steps == 2
    snapshots_forget(pool.team_id)


def test_team_with_pools_can_be_deleted(team: Team):
    PoolFactory.create(team=team)
    team.delete()
    assert not Pool.objects.across_teams().exists()


def test_embedding_worker_is_no_fallback(team: Team):
    worker = make_worker(team, kind="embedding")
    pool = PoolFactory.create(team=team)
    ids = [str(place.worker_id) for place in pool.places.all()]
    with pytest.raises(InvalidFields) as caught:
        update(pool, worker_ids=[*ids, str(worker.id)], fallback_id=str(worker.id))
    assert list(caught.value.fields) == ["fallback_id"]
