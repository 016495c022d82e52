"""Changing workers: what is kept, what is refused, and what the ledger says of it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import Team
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.pools.models import Price, Worker
from apps.pools.selectors import access_worker, pool_snapshot, worker_values
from apps.pools.services import worker_create, worker_delete, worker_update
from tests.factories import ACTOR, PoolFactory, TeamFactory
from tests.pools.making import (
    URL,
    actions,
    entries,
    make_credential,
    make_pool,
    make_worker,
    worker_of,
)

PRICE = {"input_usd": "1.25", "output_usd": "10", "cached_input_usd": "0.125"}


def update(worker: Worker, **values: Any) -> Worker:
    return worker_update(worker=worker, values=values, actor=ACTOR)


def today() -> str:
    return timezone.now().astimezone(dt.UTC).date().isoformat()


def test_what_is_given_comes_back_in_the_same_words(team: Team):
    values = worker_of(
        credential_id=str(make_credential(team).id),
        protocol="gemini",
        kind="embedding",
        description="good at proofs\nand code",
        context_tokens=200_000,
        max_output_tokens=8_000,
        accepts_images=True,
        accepts_tools=False,
        accepts_prefill=True,
        extra_params=["min_p", "top_k"],
        reasoning_effort="low",
        thinking_budget_tokens=2_048,
        extra_body='{"a":0.5}',
        tags=["eu", "strong"],
        is_enabled=False,
        max_tokens_field="max_completion_tokens",
        timeouts={
            "connect_s": 1,
            "first_byte_s": 2,
            "first_token_s": 5,
            "idle_s": None,
            "total_s": 4,
        },
        price={"valid_from": "2025-01-01", **PRICE},
    )
    worker = worker_create(team=team, values=values, actor=ACTOR)
    assert worker_values(access_worker(team.id, worker.id)) == values


def test_the_least_is_a_name_an_address_and_a_model(team: Team):
    values = worker_values(make_worker(team))
    assert (values["price"], values["credential_id"], values["tags"]) == (
        None,
        None,
        [],
    )
    assert (values["is_enabled"], values["max_output_tokens"]) == (True, 4096)
    abilities = ("accepts_images", "accepts_tools", "accepts_prefill")
    assert [values[name] for name in abilities] == [False, True, False]


def test_creation_is_recorded(team: Team):
    worker = make_worker(team, price=PRICE)
    (entry,) = entries(team)
    assert (entry.action, entry.subject_id) == ("worker.created", worker.id)
    assert entry.data["after"]["base_url"] == URL
    assert entry.data["after"]["prices"][today()]["input_usd"] == "1.25"


def test_update_records_what_changed_and_nothing_else(team: Team):
    update(make_worker(team), description="new", model="big-1")
    entry = entries(team)[-1]
    assert entry.action == "worker.updated"
    assert entry.data == {
        "name": "strong",
        "before": {"description": ""},
        "after": {"description": "new"},
    }


def test_update_that_changes_nothing_records_nothing(team: Team):
    worker = make_worker(team, price=PRICE, tags=["a"])
    update(worker, **worker_values(worker))
    update(worker, price=PRICE)
    assert actions(team) == ["worker.created"]
    assert Price.objects.for_team(team.id).count() == 1


def test_group_keeps_what_is_not_given(team: Team):
    worker = make_worker(team, timeouts={"connect_s": 1, "total_s": 4})
    worker = update(worker, timeouts={"total_s": 5, "connect_s": None})
    assert (worker.connect_timeout_s, worker.total_timeout_s) == (None, 5)
    worker = update(worker, timeouts={"idle_s": 3})
    assert (worker.idle_timeout_s, worker.total_timeout_s) == (3, 5)


def test_new_price_stands_beside_the_old_one(team: Team):
    worker = make_worker(team, price={"valid_from": "2025-01-01", **PRICE})
    worker = update(worker, price={**PRICE, "output_usd": "8"})
    days = list(worker.prices.values_list("valid_from", flat=True))
    assert days == [dt.date.fromisoformat(today()), dt.date(2025, 1, 1)]
    assert worker_values(worker)["price"]["output_usd"] == "8"


def test_price_of_the_future_is_recorded_but_not_in_force(team: Team):
    worker = make_worker(team, price={"valid_from": "2025-01-01", **PRICE})
    worker = update(worker, price={**PRICE, "valid_from": "2099-01-01"})
    assert worker_values(worker)["price"]["valid_from"] == "2025-01-01"
    assert "2099-01-01" in entries(team)[-1].data["after"]["prices"]


def test_null_makes_a_price_unknown(team: Team):
    worker = update(make_worker(team, price=PRICE), price=None)
    assert worker_values(worker)["price"] is None
    assert actions(team)[-1] == "worker.updated"


def test_free_is_not_unknown(team: Team):
    worker = make_worker(team, price={"input_usd": 0, "output_usd": "0"})
    assert worker_values(worker)["price"]["input_usd"] == "0"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "a/b"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a\n"}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"name": None}, "name"),
        ({"name": ["a"]}, "name"),
        ({"model": " "}, "model"),
        ({"model": "a\x00b"}, "model"),
        ({"model": "x" * 201}, "model"),
        ({"model": "../../admin"}, "model"),
        ({"model": "models/.."}, "model"),
        ({"model": "."}, "model"),
        ({"description": "a\x00b"}, "description"),
        ({"description": "\ud800"}, "description"),
        ({"description": "x" * 4001}, "description"),
        ({"context_tokens": 0}, "context_tokens"),
        ({"context_tokens": 10**12}, "context_tokens"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_output_tokens": None}, "max_output_tokens"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"tags": ["a b"]}, "tags[0]"),
        ({"tags": "a"}, "tags"),
        ({"tags": ["t"] * 21}, "tags"),
        ({"is_enabled": "perhaps"}, "is_enabled"),
        ({"max_tokens_field": "tokens"}, "max_tokens_field"),
        ({"protocol": "smtp"}, "protocol"),
        ({"timeouts": {"total_s": 0}}, "timeouts.total_s"),
        ({"timeouts": {"total_s": 10**9}}, "timeouts.total_s"),
        ({"timeouts": {"total": 1}}, "timeouts.total"),
        ({"timeouts": 5}, "timeouts"),
        ({"credential_id": "7"}, "credential_id"),
        ({"price": {**PRICE, "input_usd": "-1"}}, "price.input_usd"),
        ({"price": {**PRICE, "input_usd": -1}}, "price.input_usd"),
        ({"price": {**PRICE, "input_usd": 0.1}}, "price.input_usd"),
        ({"price": {**PRICE, "input_usd": True}}, "price.input_usd"),
        ({"price": {**PRICE, "input_usd": "10001"}}, "price.input_usd"),
        ({"price": {**PRICE, "input_usd": "1e999999"}}, "price.input_usd"),
        ({"price": {**PRICE, "input_usd": "0.0000001"}}, "price.input_usd"),
        ({"price": {**PRICE, "input_usd": "NaN"}}, "price.input_usd"),
        ({"price": {**PRICE, "input_usd": "Infinity"}}, "price.input_usd"),
        ({"price": {**PRICE, "input_usd": "a lot"}}, "price.input_usd"),
        ({"price": {**PRICE, "output_usd": None}}, "price.output_usd"),
        ({"price": {"input_usd": "1"}}, "price.output_usd"),
        ({"price": {**PRICE, "valid_from": "1999-12-31"}}, "price.valid_from"),
        ({"price": {**PRICE, "valid_from": "soon"}}, "price.valid_from"),
        ({"price": {**PRICE, "currency": "EUR"}}, "price.currency"),
        ({"price": "1"}, "price"),
        ({"id": "00000000-0000-0000-0000-000000000000"}, "id"),
        ({"team_id": "00000000-0000-0000-0000-000000000000"}, "team_id"),
        ({"last_test": {"ok": True}}, "last_test"),
    ],
)
def test_bad_value_is_told_by_its_field_and_nothing_is_saved(
    team: Team, changes: dict[str, Any], field: str
):
    worker = make_worker(team, name="present")
    for attempt in (
        lambda: make_worker(team, **changes),
        lambda: update(worker, **changes),
    ):
        with pytest.raises(InvalidFields) as caught:
            attempt()
        assert list(caught.value.fields) == [field]
    assert Worker.objects.for_team(team.id).count() == 1
    assert actions(team) == ["worker.created"]


def test_every_fault_is_told_at_once(team: Team):
    with pytest.raises(InvalidFields) as caught:
        make_worker(team, name="a b", model="", price={"input_usd": "-1"})
    assert sorted(caught.value.fields) == [
        "model",
        "name",
        "price.input_usd",
        "price.output_usd",
    ]


def test_name_is_taken_once_a_team(team: Team):
    worker = make_worker(team)
    other = make_worker(team, name="other")
    for attempt in (lambda: make_worker(team), lambda: update(other, name="strong")):
        with pytest.raises(InvalidFields, match="name: is taken already"):
            attempt()
    assert update(worker, name="strong", model="new").model == "new"
    assert make_worker(TeamFactory.create()).name == "strong"


def test_credential_of_another_team_does_not_exist(team: Team):
    foreign = make_credential(TeamFactory.create())
    with pytest.raises(InvalidFields) as caught:
        make_worker(team, credential_id=str(foreign.id))
    assert caught.value.fields == {"credential_id": ["does not exist"]}


def test_credential_goes_to_no_other_host(team: Team):
    key = {"credential_id": str(make_credential(team).id)}
    worker = make_worker(team, **key)
    for attempt in (
        lambda: make_worker(team, name="new", base_url="https://other.com/v1", **key),
        lambda: update(worker, base_url="https://api.example.com:8443/v1"),
    ):
        with pytest.raises(InvalidFields, match="bound to") as caught:
            attempt()
        assert list(caught.value.fields) == ["credential_id"]
    moved = update(worker, base_url="https://other.com/v1", credential_id=None)
    assert moved.credential is None


def test_worker_of_another_team_is_not_found(team: Team):
    worker = make_worker(TeamFactory.create())
    with pytest.raises(NotFound):
        access_worker(team.id, worker.id)


def test_change_is_felt_by_the_next_run(
    team: Team, django_capture_on_commit_callbacks: Any
):
    worker = make_worker(team, price=PRICE)
    make_pool(team, worker)
    assert pool_snapshot(team.id).workers[0].endpoint.model == "big-1"
    with django_capture_on_commit_callbacks(execute=True):
        update(worker, model="big-2", price={**PRICE, "input_usd": "2"})
    snapshot = pool_snapshot(team.id)
    assert (snapshot.version, snapshot.workers[0].endpoint.model) == (2, "big-2")
    assert snapshot.workers[0].price is not None
    assert snapshot.workers[0].price.input_micros == 2_000_000


def test_worker_goes_with_its_prices(team: Team):
    worker_delete(worker=make_worker(team, price=PRICE), actor=ACTOR)
    assert not Price.objects.for_team(team.id).exists()
    assert entries(team)[-1].data["before"]["model"] == "big-1"


def test_worker_of_a_pool_stays(team: Team):
    worker = make_worker(team)
    make_pool(team, worker)
    with pytest.raises(Conflict, match="'main'"):
        worker_delete(worker=worker, actor=ACTOR)
    assert actions(team)[-1] == "pool.created"


def test_deleted_worker_cannot_be_changed(team: Team):
    worker = make_worker(team)
    stale = access_worker(team.id, worker.id)
    worker_delete(worker=worker, actor=ACTOR)
    for attempt in (
        lambda: update(stale, model="x"),
        lambda: worker_delete(worker=stale, actor=ACTOR),
    ):
        with pytest.raises(NotFound):
            attempt()


def test_decimals_are_kept_to_the_micro_dollar(team: Team):
    price = {"input_usd": Decimal("0.000001"), "output_usd": "10000"}
    values = worker_values(make_worker(team, price=price))
    assert values["price"]["input_usd"] == "0.000001"
    assert values["price"]["output_usd"] == "10000"


def test_protocol_without_embeddings_makes_none(team: Team):
    values = worker_of(protocol="anthropic", kind="embedding")
    with pytest.raises(InvalidFields) as caught:
        worker_create(team=team, values=values, actor=ACTOR)
    assert list(caught.value.fields) == ["kind"]


def test_fallback_of_a_pool_cannot_become_an_embedding_worker(team: Team):
    pool = PoolFactory.create(team=team)
    with pytest.raises(InvalidFields) as caught:
        update(pool.fallback, kind="embedding")
    assert list(caught.value.fields) == ["kind"]
