"""Whose a run is: leases run out, runs change hands, and old hands write nothing."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.accounts.models import Team
from apps.core.ids import new_id
from apps.runs.coordination.leases import (
    QUEUE_S,
    Ownership,
    is_owned,
    leases_sweep,
    process_close,
    process_open,
    process_renew,
    process_reopen,
    runs_claim,
)
from apps.runs.models import Process, ProcessKind, Run, RunState
from tests.factories import TeamFactory

pytestmark = pytest.mark.django_db
WEB = ProcessKind.WEB
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def row(team: Team, owner_id: uuid.UUID | None = None, **values: Any) -> Run:
    """Store an unfinished run."""
    return Run.objects.create(
        **{
            "id": new_id(),
            "team": team,
            "state": RunState.RUNNING,
            "source": "api",
            "pool_version": 1,
            "created_at": datetime.now(UTC),
            "owner_id": owner_id,
            **values,
        }
    )


def expire(lease_id: uuid.UUID) -> None:
    Process.objects.filter(id=lease_id).update(expires_at=LONG_AGO)


def host(run: Run) -> tuple[uuid.UUID | None, int, int]:
    run.refresh_from_db()
    return run.owner_id, run.fence, run.deaths


@pytest.fixture
def team() -> Team:
    return TeamFactory.create()


def test_runs_of_a_lease_that_ran_out_are_nobodys_and_a_death_is_counted(team):
    lease = process_open(WEB)
    run, over = row(team, lease), row(team, lease, finished_at=LONG_AGO)
    leases_sweep()
    assert host(run) == (lease, 0, 0)
    expire(lease)
    leases_sweep()
    assert host(run) == (None, 1, 1)
    assert host(over) == (lease, 0, 0)


def test_runs_of_an_owner_nobody_knows_are_nobodys(team):
    run = row(team, new_id())
    leases_sweep()
    assert host(run) == (None, 1, 1)


def test_who_closes_in_order_dies_no_death(team):
    lease = process_open(WEB)
    run = row(team, lease)
    process_close(lease)
    leases_sweep()
    assert host(run) == (None, 1, 0)
    assert not Process.objects.exists()


def test_a_lease_can_be_renewed_until_others_say_it_is_over(team):
    lease = process_open(WEB)
    expire(lease)
    assert process_renew(lease, 3)
    leases_sweep()
    assert Process.objects.get().live_runs == 3
    expire(lease)
    leases_sweep()
    assert not process_renew(lease, 0)


def test_a_lease_lasts_ten_seconds_of_the_databases_time():
    process_open(WEB)
    left = Process.objects.get().expires_at - datetime.now(UTC)
    assert timedelta(seconds=8) < left <= timedelta(seconds=10.1)


def test_claims_take_turns_of_the_teams(team):
    """T13: a team that queued many runs does not keep another team's waiting."""
    lease = process_open(WEB)
    many = [row(team) for _ in range(4)]
    one = row(TeamFactory.create())
    claimed = runs_claim(lease, 2)
    assert {run.id for run in claimed} == {many[0].id, one.id}


def test_claims_take_the_oldest_and_no_more_than_there_is_room_for(team):
    lease = process_open(WEB)
    runs = [row(team) for _ in range(4)]
    row(team, finished_at=LONG_AGO)
    taken = runs_claim(lease, 3)
    assert [run.id for run in taken] == [run.id for run in runs[:3]]
    assert [(run.owner_id, run.fence) for run in taken] == [(lease, 1)] * 3
    assert host(runs[0]) == (lease, 1, 0)
    assert [run.id for run in runs_claim(lease, 3)] == [runs[3].id]
    assert runs_claim(lease, 3) == []


def test_no_room_no_claim(team):
    lease = process_open(WEB)
    row(team)
    assert runs_claim(lease, 0) == runs_claim(lease, -1) == []


def test_what_belongs_to_another_lease_is_not_claimed(team):
    mine, other = process_open(WEB), process_reopen(WEB)
    run = row(team, other)
    assert runs_claim(mine, 1, run_ids=[run.id]) == []


def test_queued_runs_are_the_workers_for_a_while(team):
    lease = process_open(WEB)
    late = datetime.now(UTC) - timedelta(seconds=QUEUE_S + 1)
    young, old = row(team), row(team, created_at=late)
    interrupted = row(team, fence=1)
    claimed = {run.id for run in runs_claim(lease, 9, leaves_queue=True)}
    assert claimed == {old.id, interrupted.id}
    assert [run.id for run in runs_claim(lease, 9)] == [young.id]


def test_an_old_fence_owns_nothing(team):
    lease = process_open(WEB)
    run = row(team)
    (claimed,) = runs_claim(lease, 1)
    mine = Ownership(lease, claimed.fence)
    assert is_owned(run.id, mine)
    expire(lease)
    leases_sweep()
    assert not is_owned(run.id, mine)


ACTIONS: dict[str, Callable[[uuid.UUID], object]] = {
    "expire": expire,
    "close": process_close,
    "sweep": lambda _: leases_sweep(),
    "renew": lambda lease: process_renew(lease, 0),
}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["open", "claim", *ACTIONS]),
        st.integers(0, 3),
    ),
    max_size=25,
)


@given(steps=STEPS)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_happens_one_hand_can_write_and_every_run_finds_one(team, steps):
    Process.objects.all().delete()
    Run.objects.across_teams().delete()
    runs = [row(team) for _ in range(2)]
    leases = [process_reopen(WEB)]
    held: dict[uuid.UUID, list[Ownership]] = {run.id: [] for run in runs}
    for action, number in steps:
        lease = leases[number % len(leases)]
        if action == "open":
            leases.append(process_reopen(WEB))
        elif action == "claim":
            for run in runs_claim(lease, 1):
                held[run.id].append(Ownership(lease, run.fence))
        else:
            ACTIONS[action](lease)
        for run_id, hands_of_run in held.items():
            assert sum(is_owned(run_id, each) for each in hands_of_run) <= 1
    for lease in leases:
        expire(lease)
    leases_sweep()
    last = process_reopen(WEB)
    assert len(runs_claim(last, 9)) == len(runs)
