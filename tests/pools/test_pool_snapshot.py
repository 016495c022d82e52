"""Snapshots: complete, frozen, cached for a moment, of one's own team only."""

from __future__ import annotations

import datetime as dt
from dataclasses import FrozenInstanceError
from decimal import Decimal

import pytest

from apps.accounts.models import Team
from apps.core.errors import NotFound
from apps.core.scoping import UnscopedQuery
from apps.pools.errors import PoolUnusable
from apps.pools.models import Conductor, Pool, PoolWorker, Price, Tier, Worker
from apps.pools.selectors import peek_snapshot, pool_list, pool_snapshot
from apps.pools.types import PriceSnapshot
from tests.factories import PoolFactory, PriceFactory
from tests.pools.conftest import Import
from tests.pools.files import CANARY

pytestmark = pytest.mark.django_db


def test_snapshot_is_complete(team: Team, import_file: Import):
    import_file()
    snapshot = pool_snapshot(team.id, "main")
    strong = snapshot.workers[0]
    assert [worker.name for worker in snapshot.workers] == ["strong", "quick", "local"]
    assert strong.endpoint.base_url == "https://api.example.com/v1"
    assert strong.endpoint.api_key == CANARY
    assert strong.price == PriceSnapshot(1_250_000, 10_000_000, 125_000)
    assert (snapshot.fallback, snapshot.version) == ("strong", 1)
    assert snapshot.tiers["ultra"].max_steps == 5


def test_snapshot_holds_the_conductor(team: Team, import_file: Import):
    import_file()
    conductor = pool_snapshot(team.id).conductor
    assert conductor is not None
    attributes = conductor.attributes
    assert (attributes.mode, attributes.temperature) == ("lists", Decimal("0.2"))
    assert conductor.endpoint.api_key == "sk-planner-1"


def test_snapshot_holds_protocols_and_abilities(team: Team, import_file: Import):
    import_file(
        workers__0__protocol="anthropic",
        workers__0__accepts_images=True,
        workers__0__accepts_prefill=True,
        workers__1__accepts_tools=False,
        workers__1__may_substitute=False,
        conductor__protocol="gemini",
        conductor__context_tokens=32_000,
        tiers__ultra__delivery="verified",
        tiers__ultra__is_hedged=True,
    )
    snapshot = pool_snapshot(team.id)
    strong, quick, _ = snapshot.workers
    assert (strong.endpoint.protocol, quick.endpoint.protocol) == (
        "anthropic",
        "openai",
    )
    shown = strong.attributes
    assert (shown.accepts_images, shown.accepts_tools) == (True, True)
    assert shown.accepts_prefill is True
    assert (quick.attributes.accepts_tools, quick.may_substitute) == (False, False)
    assert snapshot.conductor is not None
    assert snapshot.conductor.endpoint.protocol == "gemini"
    assert snapshot.conductor.attributes.context_tokens == 32_000
    ultra = snapshot.tiers["ultra"]
    assert (ultra.delivery, ultra.is_hedged) == ("verified", True)


def test_unknown_price_is_none_and_not_zero(team: Team, import_file: Import):
    import_file()
    assert pool_snapshot(team.id).workers[1].price is None


def test_timeouts_are_the_workers_or_else_the_sites(
    team: Team, import_file: Import, settings
):
    settings.WORKER_IDLE_TIMEOUT_S = 31
    import_file()
    timeouts = pool_snapshot(team.id).workers[1].endpoint.timeouts
    assert (timeouts.total_s, timeouts.idle_s) == (20, 31)


def test_price_in_force_is_the_latest_that_has_begun(team: Team):
    pool = PoolFactory.create(team=team)
    worker = pool.fallback
    tomorrow = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)
    for day, micros in (("2025-01-01", 1), ("2025-02-01", 2), (tomorrow, 3)):
        PriceFactory.create(worker=worker, valid_from=day, input_micros=micros)
    price = pool_snapshot(team.id).workers[0].price
    assert price is not None
    assert price.input_micros == 2


def test_no_name_means_the_default_pool(team: Team):
    PoolFactory.create(team=team, name="first", workers=("a",))
    PoolFactory.create(team=team, name="other", workers=("b",), is_default=False)
    assert pool_snapshot(team.id).name == "first"


def test_pool_of_another_team_is_not_found(team: Team):
    pool = PoolFactory.create()
    with pytest.raises(NotFound):
        pool_snapshot(team.id, pool.name)


def test_team_without_a_default_pool_is_told_so(team: Team):
    PoolFactory.create(team=team, is_default=False)
    with pytest.raises(NotFound, match="default pool"):
        pool_snapshot(team.id)


def test_disabled_worker_is_left_out_and_the_first_one_falls_back(team: Team):
    pool = PoolFactory.create(team=team)
    Worker.objects.for_team(team.id).filter(id=pool.fallback_id).update(
        is_enabled=False
    )
    snapshot = pool_snapshot(team.id)
    assert [worker.name for worker in snapshot.workers] == ["beta", "gamma"]
    assert snapshot.fallback == "beta"


def test_pool_of_disabled_workers_is_unusable(team: Team):
    PoolFactory.create(team=team)
    Worker.objects.for_team(team.id).update(is_enabled=False)
    with pytest.raises(PoolUnusable):
        pool_snapshot(team.id)


def test_snapshot_is_frozen(team: Team):
    PoolFactory.create(team=team)
    snapshot = pool_snapshot(team.id)
    with pytest.raises(FrozenInstanceError):
        snapshot.version = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        snapshot.tiers["mini"] = None  # type: ignore[index]


def test_cached_snapshot_costs_no_query(team: Team, django_assert_num_queries):
    PoolFactory.create(team=team)
    first = pool_snapshot(team.id)
    with django_assert_num_queries(0):
        assert pool_snapshot(team.id) is first
        assert peek_snapshot(team.id) is first


def test_peek_at_an_unread_pool_asks_nobody(team: Team, django_assert_num_queries):
    PoolFactory.create(team=team)
    with django_assert_num_queries(0):
        assert peek_snapshot(team.id) is None


def test_number_of_queries_does_not_grow_with_the_pool(team: Team, recorded_queries):
    PoolFactory.create(team=team, workers=tuple(f"w{n}" for n in range(20)))
    with recorded_queries():
        pool_snapshot(team.id)


def test_import_is_seen_at_once(team: Team, import_file: Import):
    import_file()
    pool_snapshot(team.id)
    import_file(workers__0__model="big-2")
    snapshot = pool_snapshot(team.id)
    assert (snapshot.version, snapshot.workers[0].endpoint.model) == (2, "big-2")


def test_list_holds_the_pools_of_the_team(team: Team):
    pool = PoolFactory.create(team=team)
    PoolFactory.create()
    assert [row.name for row in pool_list(team.id)] == [pool.name]


@pytest.mark.parametrize("model", [Conductor, Pool, PoolWorker, Price, Tier, Worker])
def test_query_without_a_team_is_refused(model: type[Pool]):
    with pytest.raises(UnscopedQuery):
        list(model.objects.all())
