"""Promise T6: a key makes nothing cheaper that the budget binding it counts."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import Scope
from apps.accounts.services import api_key_rotate
from apps.budgets.services import budget_create
from apps.pools.models import Price
from apps.rest import urls as rest_urls
from tests.factories import (
    ACTOR,
    ConductorFactory,
    PriceFactory,
    WorkerFactory,
    issue_key,
)
from tests.rest.conftest import actions, fault, program

BASE_URL = "http://127.0.0.1:9/v1"
FREE = {"input_usd": "0", "output_usd": "0"}
USUAL = {"input_usd": "1", "output_usd": "2"}
HIGHER = {"input_usd": "1.5", "output_usd": "2"}


@pytest.fixture
def own(cast):
    return issue_key(cast.team, scopes=[Scope.POOLS_WRITE], created_by=cast.bob)


@pytest.fixture
def bot(own):
    return program(own.secret)


def limit(team, kind="team", period="month", **target):
    values = {"kind": kind, "period": period, "limit_usd": "10.00", **target}
    return budget_create(team=team, values=values, actor=ACTOR)


@pytest.fixture
def budget(cast):
    """A budget that binds every key of the team."""
    return limit(cast.team)


@pytest.fixture(params=["workers", "conductors"])
def kind(request):
    return request.param


@pytest.fixture
def place(kind, cast):
    """A worker or conductor of one dollar in and two dollars out."""
    if kind == "workers":
        worker = WorkerFactory.create(team=cast.team, base_url=BASE_URL)
        PriceFactory.create(worker=worker)
        return f"workers/{worker.id}/"
    conductor = ConductorFactory.create(team=cast.team, base_url=BASE_URL)
    PriceFactory.create(team=cast.team, worker=None, conductor=conductor)
    return f"conductors/{conductor.id}/"


def amounts(caller: Any, place: str) -> tuple[str, str, str | None] | None:
    price = caller.get(place).json()["price"]
    if price is None:
        return None
    return price["input_usd"], price["output_usd"], price["cached_input_usd"]


def refused(response: Any) -> None:
    assert "a budget binds this API key" in fault(response, 403)["message"]


def day(days: int) -> str:
    today = timezone.now().astimezone(dt.UTC).date()
    return (today + dt.timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    "lower",
    [
        FREE,
        {"input_usd": "0.999999", "output_usd": "2"},
        {"input_usd": "5", "output_usd": "1.999999"},
        {**USUAL, "cached_input_usd": "0.1"},
        {**FREE, "valid_from": "2025-06-01"},
        {**FREE, "valid_from": "2025-01-01"},
        {**FREE, "valid_from": day(1)},
    ],
)
def test_a_bound_key_lowers_no_price(cast, alice, bot, budget, place, lower):
    before = actions(cast.team)
    refused(bot.patch(place, {"price": lower}))
    assert amounts(alice, place) == ("1", "2", None)
    assert Price.objects.for_team(cast.team.id).count() == 1
    assert actions(cast.team) == before


@pytest.mark.parametrize("kind_of_budget", ["member", "key", "rotated", "each run"])
def test_any_budget_that_binds_the_key_keeps_prices(
    cast, bot, own, place, kind_of_budget
):
    match kind_of_budget:
        case "member":
            limit(cast.team, "member", "day", user_id=str(cast.bob.id))
        case "key":
            limit(cast.team, "key", api_key_id=str(own.row.id))
        case "rotated":
            limit(cast.team, "key", api_key_id=str(own.row.id))
            bot = program(api_key_rotate(api_key=own.row, actor=ACTOR)[1])
        case "each run":
            limit(cast.team, period="run")
    refused(bot.patch(place, {"price": FREE}))


def test_a_bound_key_raises_a_price_and_does_not_take_that_back(bot, budget, place):
    assert bot.patch(place, {"price": HIGHER}).status_code == 200
    assert bot.patch(place, {"price": HIGHER}).status_code == 200
    refused(bot.patch(place, {"price": USUAL}))
    assert amounts(bot, place) == ("1.5", "2", None)


def test_a_bound_key_forgets_a_price_and_sets_none_in_its_place(bot, budget, place):
    """A budget refuses a model whose price is unknown, so that loosens nothing."""
    assert bot.patch(place, {"price": None}).status_code == 200
    assert amounts(bot, place) is None
    for price in (USUAL, FREE, {**FREE, "valid_from": day(1)}):
        refused(bot.patch(place, {"price": price}))
    assert amounts(bot, place) is None


def test_a_later_price_is_not_lowered_either(alice, bot, budget, place):
    later = {**HIGHER, "valid_from": day(30)}
    assert alice.patch(place, {"price": later}).status_code == 200
    refused(bot.patch(place, {"price": {**USUAL, "valid_from": day(30)}}))
    refused(bot.patch(place, {"price": {**USUAL, "valid_from": day(31)}}))
    # What was in force on a day that is over counts for no run.
    past = {**FREE, "valid_from": "2024-12-31"}
    assert bot.patch(place, {"price": past}).status_code == 200


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"model": "a-dearer-one"},
        {"base_url": "http://127.0.0.1:10/v1"},
        {"protocol": "anthropic"},
    ],
)
def test_a_bound_key_keeps_no_price_for_another_model(bot, budget, place, elsewhere):
    refused(bot.patch(place, elsewhere))
    refused(bot.patch(place, {**elsewhere, "price": HIGHER}))
    assert bot.patch(place, {**elsewhere, "price": None}).status_code == 200


def test_a_bound_key_keeps_no_price_for_another_body(cast, bot, budget):
    row = WorkerFactory.create(team=cast.team, base_url=BASE_URL)
    PriceFactory.create(worker=row)
    sent = {"extra_body": {"service_tier": "priority"}}
    refused(bot.patch(f"workers/{row.id}/", sent))


def test_a_bound_key_prices_no_new_model(bot, budget, kind):
    sent = {"name": "new", "base_url": BASE_URL, "model": "tiny"}
    for price in (FREE, {"input_usd": "900", "output_usd": "900"}):
        refused(bot.post(f"{kind}/", {**sent, "price": price}))
    assert bot.get(f"{kind}/").json()["data"] == []
    assert bot.post(f"{kind}/", sent).status_code == 201
    assert bot.post(f"{kind}/", {**sent, "name": "n", "price": None}).status_code == 201


def test_a_bound_key_changes_what_costs_nothing_more(bot, budget, place):
    for change in ({"name": "other"}, {"max_output_tokens": 7}):
        assert bot.patch(place, change).status_code == 200
    assert bot.delete(place).status_code == 204


def test_a_person_sets_every_price_by_role(alice, budget, place, kind):
    assert alice.patch(place, {"price": FREE}).status_code == 200
    assert alice.patch(place, {"model": "another"}).status_code == 200
    sent = {"name": "new", "base_url": BASE_URL, "model": "tiny", "price": FREE}
    assert alice.post(f"{kind}/", sent).status_code == 201


def test_a_key_that_no_budget_binds_sets_every_price(cast, bot, place, kind):
    limit(cast.team, "key", api_key_id=str(cast.key.row.id))
    limit(cast.team, "member", user_id=str(cast.vera.id))
    assert bot.patch(place, {"price": FREE}).status_code == 200
    assert bot.patch(place, {"model": "another"}).status_code == 200
    sent = {"name": "new", "base_url": BASE_URL, "model": "tiny", "price": FREE}
    assert bot.post(f"{kind}/", sent).status_code == 201


# --- every route ---------------------------------------------------------------------

CONSIDERED = {
    ("POST", "workers"): "sets no price",
    ("PATCH", "worker"): "lowers no price, and moves none to another model",
    ("DELETE", "worker"): "a model that is gone costs nothing",
    ("POST", "conductors"): "sets no price",
    ("PATCH", "conductor"): "lowers no price, and moves none to another model",
    ("DELETE", "conductor"): "a model that is gone costs nothing",
    ("POST", "pools"): "holds no price: its models keep theirs",
    ("POST", "suites"): "holds no price",
    ("DELETE", "suite"): "holds no price",
    ("POST", "evaluations"): "a model has its price of today, or its last one",
    ("POST", "evaluation_estimate"): "changes nothing",
    ("POST", "evaluation_cancel"): "holds no price",
    ("POST", "ab_tests"): "a model has its price of today, or its last one",
    ("POST", "ab_test_stop"): "holds no price",
    ("PUT", "ab_test_promotion"): "a model that is restored is checked",
    ("DELETE", "ab_test_promotion"): "a model that is restored is checked",
    ("POST", "shadow_tests"): "a model has its price of today, or its last one",
    ("POST", "shadow_test_stop"): "holds no price",
    ("PUT", "shadow_test_promotion"): "a model that is restored is checked",
    ("DELETE", "shadow_test_promotion"): "a model that is restored is checked",
    ("PATCH", "pool"): "holds no price: its models keep theirs",
    ("DELETE", "pool"): "holds no price: its models keep theirs",
    ("POST", "credentials"): "holds no price",
    ("PATCH", "credential"): "stays at its address; the models there keep their prices",
    ("DELETE", "credential"): "holds no price",
    ("POST", "worker_test"): "changes nothing but the result of the test",
    ("POST", "conductor_test"): "changes nothing but the result of the test",
    ("POST", "models"): "changes nothing",
    ("POST", "suites_reviewed"): "holds no price",
    ("POST", "trainings"): "a training changes no price",
    ("POST", "training_cancel"): "holds no price",
    ("PUT", "planner_use"): "says who plans, and holds no price",
    ("POST", "conductor_trainings"): "a training changes no price",
    ("POST", "conductor_training_cancel"): "holds no price",
    ("DELETE", "conductor_version"): "holds no price: its conductor stays",
    ("PUT", "conductor_publish"): "takes the service of conductors, which checks",
    ("PUT", "conductor_use"): "a conductor that is used has its price already",
    ("DELETE", "planner_use"): "says who plans, and holds no price",
}
"""What a key with `pools:write` can send, and why no price gets lower by it."""


def _rights(pattern: Any) -> dict[str, Any]:
    return getattr(pattern.callback.cls, "rights", {})


def test_every_route_that_writes_pools_has_been_considered():
    routes = {
        (method, pattern.name)
        for pattern in rest_urls.urlpatterns
        for method, right in _rights(pattern).items()
        if method != "GET" and Scope.POOLS_WRITE in right.scopes
    }
    assert routes == CONSIDERED.keys()
