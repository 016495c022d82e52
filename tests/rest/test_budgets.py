"""Budgets and usage over REST."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.budgets.models import Budget
from tests.rest.conftest import actions, fault
from tests.rest.things import make_run

TEAM = {"kind": "team", "period": "month", "limit_usd": "25.00"}


def test_a_budget_is_set_changed_and_lifted(alice, cast):
    answer = alice.post("budgets/", TEAM)
    assert answer.status_code == 201
    told = answer.json()
    assert (told["limit_usd"], told["left_usd"]) == ("25.00", "25.00")
    assert told["resets_at"].endswith("T00:00:00Z")
    place = f"budgets/{told['id']}/"
    assert alice.get(place).json() == told
    assert alice.get("budgets/").json()["data"] == [told]
    assert alice.patch(place, {"limit_usd": "0.000001"}).json()["limit_usd"] == (
        "0.000001"
    )
    assert alice.delete(place).status_code == 204
    fault(alice.get(place), 404)
    assert actions(cast.team)[-3:] == [
        "budget.created",
        "budget.updated",
        "budget.deleted",
    ]


def test_a_member_and_a_key_have_budgets_of_their_own(alice, cast):
    bob = {**TEAM, "kind": "member", "user_id": str(cast.bob.id)}
    assert alice.post("budgets/", bob).json()["target"] == "Bob"
    key = {**TEAM, "kind": "key", "api_key_id": str(cast.key.row.id), "period": "run"}
    told = alice.post("budgets/", key).json()
    assert (told["target"], told["resets_at"]) == ("Build server", None)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"limit_usd": "-1"}, "limit_usd"),
        ({"limit_usd": "0"}, "limit_usd"),
        ({"limit_usd": 5}, "limit_usd"),
        ({"limit_usd": "1.0000001"}, "limit_usd"),
        ({"limit_usd": "9" * 17}, "limit_usd"),
        ({"limit_usd": "1e9"}, "limit_usd"),
        ({"limit_usd": "٣"}, "limit_usd"),
        ({"limit_usd": "1\n"}, "limit_usd"),
        ({"limit_micros": 5}, "limit_micros"),
        ({"kind": "world"}, "kind"),
        ({"period": "year"}, "period"),
        ({"kind": "member"}, "user_id"),
        ({"kind": "member", "user_id": str(uuid.uuid4())}, "user_id"),
        ({"kind": "member", "user_id": 5}, "user_id"),
        ({"user_id": str(uuid.uuid4())}, "user_id"),
        ({"spent_usd": "0"}, "spent_usd"),
    ],
)
def test_a_bad_budget_is_refused(alice, cast, change, field):
    response = alice.post("budgets/", {**TEAM, **change})
    if change == {"limit_usd": "1\n"}:
        assert response.status_code == 201  # the break is no part of the amount
        return
    assert fault(response, 400)["fields"].keys() == {field}
    assert not Budget.objects.for_team(cast.team.id).exists()


def test_a_second_budget_of_the_same_kind_is_refused(alice, cast):
    alice.post("budgets/", TEAM)
    assert fault(alice.post("budgets/", TEAM), 400)["param"] == "period"


def test_another_team_s_people_and_keys_get_no_budget(alice, cast):
    body = {**TEAM, "kind": "member", "user_id": str(cast.mallory.id)}
    assert fault(alice.post("budgets/", body), 400)["param"] == "user_id"


def test_only_the_limit_can_be_changed(alice):
    place = f"budgets/{alice.post('budgets/', TEAM).json()['id']}/"
    assert fault(alice.patch(place, {"period": "day"}), 400)["param"] == "period"


# --- usage ---------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["day", "worker", "member", "key"])
def test_usage_adds_up_to_the_same_however_it_is_grouped(vera, cast, group):
    make_run(cast)
    make_run(cast, has_unknown_cost=True, state="failed")
    told = vera.get(f"usage/?group={group}").json()
    assert told["group"] == group
    cents = sum(round(float(row["cost_usd"]) * 10_000) for row in told["rows"])
    assert cents == 250


def test_usage_is_of_thirty_days_unless_said_otherwise(vera, cast):
    make_run(cast)
    make_run(cast, created_at=timezone.now() - timedelta(days=31))
    told = vera.get("usage/").json()
    (row,) = told["rows"]
    assert row["runs"] == 1
    assert told["since"].endswith("T00:00:00Z")  # whole days
    since = (timezone.now() - timedelta(days=60)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert len(vera.get(f"usage/?since={since}").json()["rows"]) == 2


@pytest.mark.parametrize(
    "query",
    [
        "group=planet",
        "since=yesterday",
        "since=2020-01-01T00:00:00Z",
        "since=9999-12-31T23:59:59Z",
        "until=0001-01-01T00:00:00Z",
        "until=0001-01-01T00:00:00%2B14:00",
        "since=2020-01-02T00:00:00Z&until=2020-01-01T00:00:00Z",
        "from=2020-01-01",
    ],
)
def test_a_bad_span_is_refused(vera, cast, query):
    fault(vera.get(f"usage/?{query}"), 400)
