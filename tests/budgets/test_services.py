"""Setting, changing and lifting budgets."""

from __future__ import annotations

from typing import Any

import pytest

from apps.accounts.services import api_key_revoke, api_key_rotate
from apps.audit.selectors import entry_list
from apps.budgets.models import Budget
from apps.budgets.selectors import (
    access_budget,
    budget_list,
    budgets_binding,
    standings_read,
)
from apps.budgets.services import budget_create, budget_delete, budget_update
from apps.core.errors import InvalidFields, NotFound
from tests.conftest import Cast
from tests.factories import ACTOR


def put(cast: Cast, **values: Any) -> Budget:
    wanted = {"kind": "team", "period": "month", "limit_usd": "10.00", **values}
    return budget_create(team=cast.team, values=wanted, actor=ACTOR)


def recorded(cast: Cast, action: str) -> list[dict[str, Any]]:
    entries = entry_list(cast.team.id, limit=500)
    return [dict(entry.data) for entry in entries if entry.action == action]


def test_a_budget_is_kept_in_micro_dollars_and_recorded(cast):
    budget = put(cast, limit_usd="0.000001")
    assert budget.limit_micros == 1
    assert recorded(cast, "budget.created") == [
        {
            "kind": "team",
            "target": "Whole team",
            "period": "month",
            "limit_usd": "0.000001",
        }
    ]


def test_each_kind_names_its_target(cast):
    put(cast)
    put(cast, kind="member", user_id=str(cast.bob.id))
    put(cast, kind="key", api_key_id=str(cast.key.row.id))
    labels = [status.target_label for status in budget_list(cast.team.id)]
    assert labels == ["Whole team", "Bob", "Build server"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"kind": "planet"}, "kind"),
        ({"period": "year"}, "period"),
        ({"limit_usd": "0"}, "limit_usd"),
        ({"limit_usd": "-1"}, "limit_usd"),
        ({"limit_usd": "1e9"}, "limit_usd"),
        ({"limit_usd": "0.0000001"}, "limit_usd"),
        ({"limit_usd": "1000000001"}, "limit_usd"),
        ({"limit_usd": 5}, "limit_usd"),
        ({"limit_usd": None}, "limit_usd"),
        ({"kind": "member"}, "user_id"),
        ({"kind": "key"}, "api_key_id"),
        ({"kind": "key", "api_key_id": "not an id"}, "api_key_id"),
        ({"spent_micros": 0}, "spent_micros"),
    ],
)
def test_bad_values_are_refused_by_field_and_nothing_is_saved(cast, values, field):
    with pytest.raises(InvalidFields) as refusal:
        put(cast, **values)
    assert field in refusal.value.fields
    assert budget_list(cast.team.id) == []


def test_a_person_of_another_team_is_no_target(cast):
    with pytest.raises(InvalidFields) as refusal:
        put(cast, kind="member", user_id=str(cast.mallory.id))
    assert "user_id" in refusal.value.fields


def test_a_revoked_key_is_no_target(cast):
    api_key_revoke(api_key=cast.key.row, actor=ACTOR)
    with pytest.raises(InvalidFields):
        put(cast, kind="key", api_key_id=str(cast.key.row.id))


def test_a_second_budget_for_the_same_target_and_period_is_refused(cast):
    put(cast, kind="key", api_key_id=str(cast.key.row.id))
    with pytest.raises(InvalidFields) as refusal:
        put(cast, kind="key", api_key_id=str(cast.key.row.id))
    assert "period" in refusal.value.fields
    put(cast, kind="key", api_key_id=str(cast.key.row.id), period="day")


def test_a_new_limit_is_recorded_with_the_old_one(cast):
    budget = budget_update(budget=put(cast), values={"limit_usd": "12.5"}, actor=ACTOR)
    assert budget.limit_micros == 12_500_000
    (change,) = recorded(cast, "budget.updated")
    assert (change["before"], change["after"]) == (
        {"limit_usd": "10.00"},
        {"limit_usd": "12.50"},
    )


def test_an_update_that_changes_nothing_records_nothing(cast):
    values = {"limit_usd": "10", "kind": "team", "period": "month", "user_id": None}
    budget_update(budget=put(cast), values=values, actor=ACTOR)
    assert recorded(cast, "budget.updated") == []


@pytest.mark.parametrize("values", [{"kind": "key"}, {"period": "day"}, {"x": 1}])
def test_for_whom_and_how_long_cannot_be_changed(cast, values):
    with pytest.raises(InvalidFields):
        budget_update(budget=put(cast), values=values, actor=ACTOR)


def test_a_lifted_budget_is_gone_and_recorded(cast):
    budget_delete(budget=put(cast), actor=ACTOR)
    assert budget_list(cast.team.id) == []
    assert len(recorded(cast, "budget.deleted")) == 1


def test_a_budget_lifted_meanwhile_is_not_found(cast):
    budget = put(cast)
    budget_delete(budget=access_budget(cast.team.id, budget.id), actor=ACTOR)
    with pytest.raises(NotFound):
        budget_update(budget=budget, values={"limit_usd": "2.00"}, actor=ACTOR)


def test_another_teams_budget_does_not_exist(cast):
    budget = put(cast)
    with pytest.raises(NotFound):
        access_budget(cast.other_team.id, budget.id)
    assert access_budget(cast.team.id, budget.id) == budget


def test_a_budget_binds_the_keys_that_its_key_is_rotated_to(cast):
    put(cast, kind="key", api_key_id=str(cast.key.row.id))
    second, _ = api_key_rotate(api_key=cast.key.row, actor=ACTOR)
    third, _ = api_key_rotate(api_key=second, actor=ACTOR)
    (status,) = budgets_binding(cast.team.id, None, third.id)
    assert status.key_ids == {cast.key.row.id, second.id, third.id}
    (standing,) = standings_read(cast.team.id)
    assert standing.binds(None, third.id) and not standing.binds(None, None)


def test_budgets_bind_their_own_target_alone(cast):
    put(cast)
    put(cast, kind="member", user_id=str(cast.bob.id))
    put(cast, kind="key", api_key_id=str(cast.key.row.id))
    kinds = [
        {status.budget.kind for status in budgets_binding(cast.team.id, *target)}
        for target in (
            (None, None),
            (cast.bob.id, None),
            (cast.alice.id, cast.key.row.id),
        )
    ]
    assert kinds == [{"team"}, {"team", "member"}, {"team", "key"}]
