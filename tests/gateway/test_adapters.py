"""The backend over Django's services, against the database."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import Team
from apps.accounts.services import api_key_cache_clear
from apps.core.errors import NotAuthenticated, NotFound
from apps.gateway.adapters import DjangoBackend
from apps.pools.models import Worker
from apps.runs.errors import IdempotencyConflict
from tests.factories import PoolFactory, TeamFactory, issue_key

# The bridge closes connections, which would end the transaction of a usual test.
pytestmark = pytest.mark.django_db(transaction=True)
authenticate = async_to_sync(DjangoBackend().authenticate)
model_names = async_to_sync(DjangoBackend().model_names)


def names_for(team: Team, **limits: Any) -> tuple[str, ...]:
    """Return the names that a key of the team may use."""
    names: tuple[str, ...] = model_names(authenticate(issue_key(team, **limits).secret))
    return names


@pytest.fixture(autouse=True)
def _fresh_keys() -> Iterator[None]:
    api_key_cache_clear()
    yield
    api_key_cache_clear()


@pytest.fixture
def team() -> Team:
    team: Team = TeamFactory.create()
    return team


def test_key_is_resolved_once_and_then_remembered(
    team: Team, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    key = issue_key(team)
    assert authenticate(key.secret).team_id == team.id
    with django_assert_num_queries(0):
        assert authenticate(key.secret).key_id == key.row.id


def test_unknown_key_is_refused() -> None:
    with pytest.raises(NotAuthenticated):
        authenticate("cdk_nonsense")


def test_names_of_default_pool_come_first_then_pools_then_workers(team: Team) -> None:
    PoolFactory(team=team, name="lab", workers=("zeta", "alpha"))
    PoolFactory(team=team, name="side", workers=("omega",), is_default=False)
    assert names_for(team) == (
        "conductor-mini",
        "conductor-ultra",
        "lab/mini",
        "lab/ultra",
        "side/mini",
        "side/ultra",
        "worker/zeta",
        "worker/alpha",
    )


def test_disabled_worker_has_no_name(team: Team) -> None:
    PoolFactory(team=team, workers=("alpha", "beta"))
    Worker.objects.for_team(team.id).filter(name="beta").update(is_enabled=False)
    assert "worker/beta" not in names_for(team)


def test_names_of_other_teams_are_not_told(team: Team) -> None:
    PoolFactory()
    assert names_for(team) == ()


def test_a_limited_key_is_told_only_what_it_may_use(team: Team) -> None:
    PoolFactory(team=team, workers=("alpha", "beta"))
    names = names_for(team, allowed_tiers=["mini"], allowed_workers=["beta"])
    pool = team.pools.get()
    assert names == ("conductor-mini", f"{pool.name}/mini", "worker/beta")


def test_a_pool_without_a_worker_for_the_key_is_not_told(team: Team) -> None:
    PoolFactory(team=team, workers=("alpha",))
    PoolFactory(team=team, name="side", workers=("omega",), is_default=False)
    names = names_for(team, allowed_workers=["omega"])
    assert names == ("side/mini", "side/ultra")


def test_a_key_stands_for_one_run_until_it_is_released(team: Team) -> None:
    backend = DjangoBackend()
    claim, release = async_to_sync(backend.claim), async_to_sync(backend.release)
    first, second = uuid.uuid4(), uuid.uuid4()
    assert claim(team.id, "key", b"1" * 32, first) == first
    assert claim(team.id, "key", b"1" * 32, second) == first
    with pytest.raises(IdempotencyConflict):
        claim(team.id, "key", b"2" * 32, second)
    release(team.id, "key", second)
    assert claim(team.id, "key", b"1" * 32, second) == first
    release(team.id, "key", first)
    assert claim(team.id, "key", b"2" * 32, second) == second


def test_a_run_that_is_not_there_is_not_found(team: Team) -> None:
    backend = DjangoBackend()
    run_id = uuid.uuid4()
    assert backend.find_run(team.id, run_id) is None
    assert async_to_sync(backend.asking_worker)(team.id, run_id) == ""
    with pytest.raises(NotFound):
        async_to_sync(backend.run_record)(team.id, run_id)
