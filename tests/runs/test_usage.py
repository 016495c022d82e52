"""What a team used, by day, worker, member and key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.core.ids import new_id
from apps.runs.models import Run, RunState, Step
from apps.runs.planning.model_resolver import tier_named
from apps.runs.selectors import usage_by, worker_calls
from tests.conftest import Cast
from tests.factories import TeamFactory

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)
WHOLE = (NOON - timedelta(days=9), NOON + timedelta(days=9))


def ran(cast: Cast, at: datetime = NOON, **fields: Any) -> Run:
    values: dict[str, Any] = {
        "id": fields.get("id") or new_id(),
        "team": cast.team,
        "state": RunState.COMPLETED,
        "source": "api",
        "model": "conductor-ultra",
        "tier": tier_named(fields.get("model", "conductor-ultra")),
        "pool_name": "lab",
        "pool_version": 1,
        "title": "Why?",
        "actor_type": "user",
        "actor_id": "1",
        "actor_name": "Bob",
        "created_at": at,
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "cost_micros": 1_000,
        **fields,
    }
    return Run.objects.create(**values)


def step(run: Run, worker: str, index: int = 0, **fields: Any) -> Step:
    values: dict[str, Any] = {
        "state": "completed",
        "attempts": 1,
        "prompt_tokens": 40,
        "completion_tokens": 5,
        "cost_micros": 300,
        "latency_ms": 700,
        **fields,
    }
    return Step.objects.create(
        run=run, team=run.team, round=0, index=index, worker=worker, **values
    )


def test_days_ascend_and_are_those_of_utc(cast):
    ran(cast, datetime(2030, 2, 1, 0, 0, tzinfo=UTC), state=RunState.FAILED)
    ran(cast, datetime(2030, 1, 31, 23, 59, tzinfo=UTC))
    ran(cast)
    rows = usage_by(cast.team.id, "day", *WHOLE)
    assert [(r.label, r.runs, r.failed) for r in rows] == [
        ("2030-01-31", 2, 0),
        ("2030-02-01", 1, 1),
    ]


def test_members_and_keys_are_named_and_the_dearest_comes_first(cast):
    ran(cast, user=cast.bob, cost_micros=5)
    ran(cast, user=cast.alice, api_key=cast.key.row, cost_micros=7)
    ran(cast, cost_micros=1)
    members = usage_by(cast.team.id, "member", *WHOLE)
    keys = usage_by(cast.team.id, "key", *WHOLE)
    assert [(r.label, r.id, r.cost_micros) for r in members] == [
        ("Alice", cast.alice.id, 7),
        ("Bob", cast.bob.id, 5),
        ("A former member", None, 1),
    ]
    assert [(r.label, r.id, r.cost_micros) for r in keys] == [
        ("Build server", cast.key.row.id, 7),
        ("Without a key", None, 6),
    ]


def test_workers_and_planning_add_up_to_the_whole(cast):
    run = ran(cast)
    step(run, "alpha")
    step(run, "beta", 1, state="failed", cost_micros=None)
    step(run, "gamma", 2, state="skipped", cost_micros=0)
    rows = {r.label: r for r in usage_by(cast.team.id, "worker", *WHOLE)}
    assert set(rows) == {"alpha", "beta", "Planning and interrupted calls"}
    assert sum(r.cost_micros for r in rows.values()) == run.cost_micros
    assert sum(r.prompt_tokens for r in rows.values()) == run.prompt_tokens
    assert rows["beta"].has_unknown_cost and rows["beta"].failed == 1
    # Calls of one worker plan nothing, so nobody knows how many runs it was.
    assert rows["Planning and interrupted calls"].runs is None


def test_planning_without_a_price_is_of_unknown_cost(cast):
    """Promise C5: tokens of a conductor without a price do not read as free."""
    planned = ran(cast, cost_micros=40, has_unknown_cost=True)
    step(planned, "alpha", cost_micros=40)
    rows = {r.label: r for r in usage_by(cast.team.id, "worker", *WHOLE)}
    planning = rows["Planning and interrupted calls"]
    assert planning.prompt_tokens > 0
    assert (planning.cost_micros, planning.has_unknown_cost) == (0, True)
    assert not rows["alpha"].has_unknown_cost


def test_planning_with_a_price_is_of_known_cost(cast):
    run = ran(cast)
    step(run, "alpha")
    rows = {r.label: r for r in usage_by(cast.team.id, "worker", *WHOLE)}
    assert not rows["Planning and interrupted calls"].has_unknown_cost


@pytest.mark.parametrize("group", ["day", "worker", "member", "key"])
def test_other_times_and_teams_are_left_out(cast, group, recorded_queries):
    ran(cast, WHOLE[1])
    ran(cast, WHOLE[0] - timedelta(seconds=1))
    ran(cast, team=TeamFactory.create())
    with recorded_queries():
        assert usage_by(cast.team.id, group, *WHOLE) == []


def test_workers_are_judged_by_their_steps(cast):
    run = ran(cast)
    for index, latency in enumerate((100, 900, 300)):
        step(run, "alpha", index, latency_ms=latency)
    step(run, "alpha", 3, state="failed", latency_ms=9_000)
    step(run, "beta", 4, state="failed")
    step(ran(cast, NOON - timedelta(days=2)), "gamma")
    step(ran(cast, team=cast.other_team), "delta")
    found = worker_calls(cast.team.id, NOON - timedelta(days=1))
    assert found == {"alpha": (4, 1, 300), "beta": (1, 1, None)}
