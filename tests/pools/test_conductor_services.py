"""Changing conductors. What they share with workers is tried on workers."""

from __future__ import annotations

from typing import Any

import pytest

from apps.accounts.models import Team
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.pools.models import Conductor, Pool
from apps.pools.selectors import access_conductor, conductor_values
from apps.pools.services import (
    conductor_create,
    conductor_delete,
    conductor_update,
    pool_update,
)
from tests.factories import ACTOR, TeamFactory
from tests.pools.making import (
    URL,
    actions,
    entries,
    make_conductor,
    make_credential,
    make_pool,
)


def update(conductor: Conductor, **values: Any) -> Conductor:
    return conductor_update(conductor=conductor, values=values, actor=ACTOR)


def test_what_is_given_comes_back_in_the_same_words(team: Team):
    values = {
        "name": "planner",
        "base_url": URL,
        "protocol": "anthropic",
        "model": "plan-1",
        "credential_id": str(make_credential(team).id),
        "max_tokens_field": "max_tokens",
        "timeouts": {
            "connect_s": 1,
            "first_byte_s": 2,
            "first_token_s": 5,
            "idle_s": 3,
            "total_s": 4,
        },
        "mode": "json_schema",
        "prompt_style": "brief",
        "shows_descriptions": True,
        "shows_measurements": True,
        "uses_prefill": True,
        "context_tokens": 100_000,
        "max_output_tokens": 512,
        "temperature": "0.7",
        "price": {
            "valid_from": "2025-01-01",
            "input_usd": "0.05",
            "output_usd": "0.4",
            "cached_input_usd": None,
        },
    }
    row = conductor_create(team=team, values=values, actor=ACTOR)
    assert conductor_values(access_conductor(team.id, row.id)) == values


def test_update_records_what_changed(team: Team):
    row = update(make_conductor(team, temperature="0.70"), temperature=0.2)
    entry = entries(team)[-1]
    assert (entry.action, entry.subject_id) == ("conductor.updated", row.id)
    assert entry.data["before"] == {"temperature": "0.7"}
    assert entry.data["after"] == {"temperature": "0.2"}
    update(row, **conductor_values(row))
    assert actions(team)[-2:] == ["conductor.created", "conductor.updated"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"temperature": "2.1"}, "temperature"),
        ({"temperature": "-0.1"}, "temperature"),
        ({"temperature": "0.123"}, "temperature"),
        ({"temperature": "NaN"}, "temperature"),
        ({"mode": "prose"}, "mode"),
        ({"uses_prefill": None}, "uses_prefill"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"tags": []}, "tags"),
        ({"description": ""}, "description"),
    ],
)
def test_bad_value_is_told_by_its_field_and_nothing_is_saved(
    team: Team, changes: dict[str, Any], field: str
):
    with pytest.raises(InvalidFields) as caught:
        make_conductor(team, **changes)
    assert list(caught.value.fields) == [field]
    assert not Conductor.objects.for_team(team.id).exists()


def test_foreign_credential_and_taken_name_are_told_together(team: Team):
    make_conductor(team)
    foreign = make_credential(TeamFactory.create())
    with pytest.raises(InvalidFields) as caught:
        make_conductor(team, credential_id=str(foreign.id))
    assert caught.value.fields == {
        "name": ["is taken already"],
        "credential_id": ["does not exist"],
    }


def test_conductor_of_a_pool_stays_until_the_pool_lets_go(team: Team):
    conductor = make_conductor(team)
    pool = make_pool(team, conductor_id=str(conductor.id))
    with pytest.raises(Conflict, match="plans for pool 'main'"):
        conductor_delete(conductor=conductor, actor=ACTOR)
    alone = {"planner": "single_worker"}
    values = {"conductor_id": None, "tiers": {"mini": alone, "ultra": None}}
    pool_update(pool=pool, values=values, actor=ACTOR)
    conductor_delete(conductor=conductor, actor=ACTOR)
    assert actions(team)[-1] == "conductor.deleted"
    with pytest.raises(NotFound):
        access_conductor(team.id, conductor.id)


def test_change_counts_up_the_pools_it_plans_for(team: Team):
    conductor = make_conductor(team)
    make_pool(team, conductor_id=str(conductor.id))
    update(conductor, model="plan-2")
    assert Pool.objects.for_team(team.id).get().version == 2
    entry = entries(team)[-1]
    assert entry.action == "pool.changed"
    assert entry.data["because_of"] == {
        "action": "conductor.updated",
        "name": "planner",
    }
