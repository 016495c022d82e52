"""The backend over Django's services, against the database."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import Team
from apps.core.errors import NotAuthenticated, NotFound
from apps.gateway.django_backend import DjangoBackend
from apps.pools.models import Worker
from apps.runs.errors import IdempotencyConflict
from tests.factories import PoolFactory, PriceFactory, TeamFactory, issue_key
from tests.recorded import RecordedQueries

# The bridge closes connections, which would end the transaction of a usual test.
pytestmark = pytest.mark.django_db(transaction=True)
authenticate = async_to_sync(DjangoBackend().authenticate)
models = async_to_sync(DjangoBackend().models)


def names_for(team: Team, **limits: Any) -> tuple[str, ...]:
    """Return the names that a key of the team may use."""
    return tuple(models(authenticate(issue_key(team, **limits).secret)))


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
        "side/worker/omega",
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
    assert names == ("side/mini", "side/ultra", "side/worker/omega")


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


def documents(team: Team, **limits: Any) -> dict[str, dict[str, Any]]:
    """Return what clients are told of each model."""
    found = models(authenticate(issue_key(team, **limits).secret))
    return {name: facts.document() for name, facts in found.items()}


def test_a_workers_record_is_what_clients_choose_by(team: Team) -> None:
    PoolFactory(team=team, workers=("alpha", "beta"))
    alpha = Worker.objects.for_team(team.id).get(name="alpha")
    alpha.context_tokens, alpha.max_output_tokens = 128_000, 8_192
    alpha.accepts_images, alpha.accepts_tools = True, False
    alpha.save()
    cents = {"input_micros": 1_250_000, "output_micros": 0}
    PriceFactory.create(worker=alpha, **cents, cached_input_micros=125_000)
    told = documents(team)["worker/alpha"]
    assert (told["context_length"], told["max_output_tokens"]) == (128_000, 8_192)
    assert told["top_provider"]["max_completion_tokens"] == 8_192
    assert told["pricing"] == {
        "prompt": "0.00000125",
        "completion": "0",
        "input_cache_read": "0.000000125",
    }
    assert told["architecture"]["input_modalities"] == ["text", "image"]
    assert "top_k" in told["supported_parameters"]
    assert "tools" not in told["supported_parameters"]


def test_what_is_unknown_is_null_and_never_zero(team: Team) -> None:
    PoolFactory(team=team, workers=("alpha",))
    told = documents(team)
    for name in ("worker/alpha", "conductor-ultra"):
        assert (told[name]["context_length"], told[name]["pricing"]) == (None, None)


def test_C11_a_tier_costs_the_most_that_any_of_its_models_does(team: Team) -> None:
    pool = PoolFactory.create(team=team, workers=("alpha", "beta"))
    assert pool.conductor is not None
    pool.tiers.filter(name="mini").update(planner="single_worker")
    alpha, beta = Worker.objects.for_team(team.id).order_by("name")
    PriceFactory.create(worker=alpha, input_micros=3_000_000, output_micros=1_000_000)
    PriceFactory.create(worker=beta, input_micros=1_000_000, output_micros=4_000_000)
    told = documents(team)
    assert told["conductor-mini"]["pricing"] == {
        "prompt": "0.000003",
        "completion": "0.000004",
    }
    assert told["conductor-ultra"]["pricing"] is None  # its conductor has no price
    dear = {"input_micros": 5_000_000, "output_micros": 0}
    PriceFactory.create(team=team, worker=None, conductor=pool.conductor, **dear)
    assert documents(team)["conductor-ultra"]["pricing"] == {
        "prompt": "0.000005",
        "completion": "0.000004",
    }
    only = documents(team, allowed_workers=["beta"])["conductor-mini"]["pricing"]
    assert only["prompt"] == "0.000001"


def test_a_tier_is_told_by_the_workers_that_the_key_may_use(team: Team) -> None:
    PoolFactory(team=team, workers=("alpha", "beta", "gamma"))
    for name, context, output, extra in (
        ("alpha", 8_000, 4_096, ["top_k", "min_p"]),
        ("beta", 200_000, 1_024, ["top_k"]),
    ):
        Worker.objects.for_team(team.id).filter(name=name).update(
            context_tokens=context,
            max_output_tokens=output,
            extra_params=extra,
            accepts_images=name == "beta",
        )
    both = documents(team, allowed_workers=["alpha", "beta"])["conductor-mini"]
    assert (both["context_length"], both["max_output_tokens"]) == (200_000, 1_024)
    assert both["architecture"]["input_modalities"] == ["text", "image"]
    assert {"top_k", "tools"} <= set(both["supported_parameters"])
    assert "min_p" not in both["supported_parameters"]
    alone = documents(team, allowed_workers=["alpha"])["conductor-mini"]
    assert alone["context_length"] == 8_000
    assert "min_p" in alone["supported_parameters"]


def test_more_workers_need_no_more_queries(
    team: Team, recorded_queries: RecordedQueries
) -> None:
    PoolFactory(team=team, workers=tuple(f"w{n}" for n in range(20)))
    holder = authenticate(issue_key(team).secret)
    with recorded_queries():
        assert len(models(holder)) == 24
