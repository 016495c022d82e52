"""Runs that change hands while they execute, queued runs, and stops from elsewhere."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.db.models import F

from apps.audit.selectors import entry_list
from apps.audit.types import Actor
from apps.core.ids import new_id
from apps.engine import events as ev
from apps.pools.selectors import snapshots_forget
from apps.runs.coordination.cancel_requests import cancel_request
from apps.runs.coordination.leases import MAX_DEATHS, leases_sweep
from apps.runs.execution import resumer
from apps.runs.execution.executor import get_executor
from apps.runs.models import Process, Run, RunState, RunStop
from apps.runs.selectors import run_events
from apps.runs.services import run_cancel, run_start_detached
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.runs.asking import planned
from tests.runs.starting import on_loop, order
from tests.runs.test_leases import LONG_AGO
from tests.runs.test_resume import House, house, speed_up  # noqa: F401


@pytest.fixture
def begun(house: House) -> Callable[[], Run]:  # noqa: F811
    """Start a run and return it in the middle of its second step."""

    def inner() -> Run:
        stage = house.open()
        run = stage.start(planned([2, 3, 2]))
        house.watch(stage, run, "step.completed", "step.started")
        return run

    return inner


def quicken(run: Run) -> None:
    """Let the worker that never answers answer at once, from now on."""
    speed_up()
    snapshots_forget(run.team_id)


def sweep() -> None:
    on_loop(get_executor().lease_keeper.sweep())


def renew() -> None:
    on_loop(get_executor().lease_keeper.renew())


def finished(run: Run) -> Run:
    """Return the run once this process does not execute it any more."""

    async def over() -> None:
        execution = get_executor().find(run.id)
        if execution is not None and execution._task is not None:
            await asyncio.wait([execution._task])

    on_loop(over())
    run.refresh_from_db()
    return run


def completed_steps(run: Run) -> list[int]:
    events = [recorded.event for recorded in run_events(run)]
    return [event.step for event in events if isinstance(event, ev.StepCompleted)]


def give_away(run: Run) -> uuid.UUID:
    """Let another process, which is alive, own the run from now on."""
    get = Process.objects.get()
    other = Process.objects.create(
        id=new_id(),
        kind=get.kind,
        name="elsewhere:1",
        started_at=get.started_at,
        expires_at=get.expires_at,
    )
    rows = Run.objects.across_teams().filter(id=run.id)
    rows.update(owner_id=other.id, fence=F("fence") + 1)
    return other.id


def test_g4_old_hands_write_nothing(begun):
    run = begun()
    give_away(run)
    before = [recorded.seq for recorded in run_events(run)]
    on_loop(get_executor().drop_all())
    assert finished(run).state == RunState.RUNNING
    assert [recorded.seq for recorded in run_events(run)] == before
    call_command("audit_verify")


def test_g3_a_run_whose_owner_is_dead_is_taken_up(begun):
    run = begun()
    other = give_away(run)
    on_loop(get_executor().drop_all())
    finished(run)
    quicken(run)
    Process.objects.filter(id=other).delete()
    sweep()
    assert finished(run).state == RunState.COMPLETED
    assert (completed_steps(run), run.deaths) == ([0, 1, 2], 1)
    call_command("audit_verify")


def test_a_process_that_lost_its_lease_takes_another_one_and_goes_on(begun):
    run = begun()
    Process.objects.all().delete()
    former = get_executor().lease_keeper.lease_id
    renew()
    assert get_executor().lease_keeper.lease_id != former
    finished(run)
    quicken(run)
    sweep()
    assert finished(run).state == RunState.COMPLETED
    assert completed_steps(run) == [0, 1, 2]


def test_g4_a_process_that_stood_still_keeps_what_nobody_took(begun):
    run = begun()
    Process.objects.update(expires_at=LONG_AGO)
    sweep()
    run.refresh_from_db()
    assert (run.owner_id, run.fence) == (get_executor().lease_keeper.lease_id, 0)
    quicken(run)


def test_g4_a_process_that_stood_still_drops_what_others_took(begun):
    run = begun()
    Process.objects.all().delete()
    quicken(run)
    sweep()
    assert finished(run).state == RunState.COMPLETED
    assert completed_steps(run) == [0, 1, 2]


def test_g1_an_outage_is_no_death(begun):
    run = begun()
    Process.objects.all().delete()
    leases_sweep()  # another process's, once the database was back
    run.refresh_from_db()
    assert run.deaths == 1
    renew()
    run.refresh_from_db()
    assert run.deaths == 0
    quicken(run)


def test_g6_what_an_outage_of_the_ledger_dropped_is_taken_up_again(begun):
    run = begun()
    on_loop(get_executor().drop_all())
    assert finished(run).owner_id == get_executor().lease_keeper.lease_id
    quicken(run)
    sweep()
    assert finished(run).state == RunState.COMPLETED
    assert (completed_steps(run), run.deaths) == ([0, 1, 2], 0)


def test_what_executes_here_is_not_taken_up_twice(begun):
    run = begun()
    sweep()
    assert not on_loop(get_executor().claim(run.id))
    run.refresh_from_db()
    assert run.fence == 0
    quicken(run)


def test_g1_a_run_that_kills_its_owners_ends_by_name(begun):
    run = killer(begun)
    sweep()
    run.refresh_from_db()
    assert (run.state, run.error_code) == (RunState.FAILED, "owner_lost")
    assert "3 processes ended" in run.error_message
    call_command("audit_verify")


def test_g1_the_history_of_a_run_that_kills_is_not_read(begun, monkeypatch):
    run = killer(begun)
    read: list[uuid.UUID] = []

    async def entries_of(runs):
        read.extend(each.id for each in runs)
        return {each.id: [] for each in runs}

    monkeypatch.setattr(resumer, "entries_of", entries_of)
    sweep()
    run.refresh_from_db()
    assert (run.error_code, read) == ("owner_lost", [])


def killer(begun):
    """Return a run that as many processes died with as may."""
    run = begun()
    on_loop(get_executor().drop_all())
    finished(run)
    Run.objects.across_teams().filter(id=run.id).update(
        owner_id=None, deaths=MAX_DEATHS
    )
    return run


def test_a_queued_run_waits_for_whoever_claims_it(
    house: House,  # noqa: F811
    settings,
):
    house.open()
    settings.BACKGROUND_RUNS = "workers"
    run_id = on_loop(run_start_detached(_question(house.cast)))
    run = Run.objects.for_team(house.cast.team.id).get(id=run_id)
    assert (run.state, run.owner_id) == (RunState.RUNNING, None)
    assert [type(recorded.event) for recorded in run_events(run)] == [ev.RunCreated]
    assert on_loop(get_executor().claim(run_id))
    assert finished(run).state == RunState.COMPLETED
    events = [recorded.event for recorded in run_events(run)]
    assert not any(isinstance(event, ev.RunResumed) for event in events)
    assert not on_loop(get_executor().claim(run_id))


def test_g9_a_stop_from_elsewhere_is_heard(begun):
    run = begun()
    bob = Actor("user", "bob", "Bob", context={"request_id": "r-2"})
    cancel_request(run, "enough", bob)
    cancel_request(run, "more than enough", ACTOR)
    on_loop(get_executor().lease_keeper.look_for_stops())
    assert finished(run).state == RunState.CANCELLED
    end = run_events(run)[-1].event
    assert isinstance(end, ev.RunCancelled) and end.reason == "enough"
    (entry,) = [
        entry
        for entry in entry_list(run.team_id, subject_id=run.id)
        if entry.action == ev.RunCancelled.action
    ]
    assert (entry.actor, entry.context) == (bob, bob.context)
    assert not RunStop.objects.across_teams().exists()


def test_g9_a_run_of_another_process_can_be_cancelled(begun, monkeypatch):
    run = begun()
    monkeypatch.setattr("apps.runs.services.find_run", lambda *_: None)
    values = {"run_id": run.id, "team_id": run.team_id, "reason": "enough"}
    assert run_cancel(**values, actor=ACTOR)
    assert not run_cancel(**values, actor=ACTOR)
    assert finished(run).state == RunState.CANCELLED


def _question(cast: Cast):
    return order(cast, planned([2, 2]))
