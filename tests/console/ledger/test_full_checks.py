"""Verifying a whole chain in the background: asked for on the page, and once a day."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit import jobs, verify
from apps.audit.browsing import full_checks
from apps.audit.browsing.full_checks import full_check_take, full_checks_order_due
from apps.audit.checkpoints.creation import checkpoints_create
from apps.audit.jobs import DEAD_AFTER, JobThread
from apps.audit.models import FullCheck
from apps.audit.selectors import entry_list
from tests.audit.examples import append, chain_of, draft, execute
from tests.console.conftest import text_of
from tests.patience import eventually

PAGE, CHECK, STATUS = "/ledger/", "/ledger/check/", "/ledger/status/"


@pytest.fixture
def thread(transactional_db):
    """The thread of a serving process; it looks when the test says so."""
    return open_thread()


def open_thread():
    """Return the thread of a serving process."""
    return JobThread("full-checks", full_check_take, full_checks_order_due)


def claimed_steps():
    """Return the steps of the check that a process has taken."""
    steps = full_check_take()
    assert steps is not None
    return steps


def finished():
    """Return when each chain was verified last."""
    rows = FullCheck.objects.across_teams().exclude(finished_at=None)
    return {row.team_id: row.finished_at for row in rows}


def row_of(team):
    return FullCheck.objects.for_team(team.id).get()


def test_chain_is_verified_on_demand_and_that_is_recorded(rita, changes, thread):
    before = text_of(rita.get(PAGE))
    assert "Every chain is verified once a day." in before
    page = text_of(rita.post(CHECK, follow=True))
    assert "Waiting for a process to begin" in page
    assert 'data-state="waiting"' in page
    assert ">Verify now<" not in page
    thread.look()
    page = text_of(rita.get(STATUS))
    assert 'data-state="idle"' in page
    assert "Intact</span>" in page
    assert "requested by <bdi>Rita</bdi>" in page
    newest = entry_list(changes.team.id)[-1]
    assert (newest.action, newest.outcome) == ("audit.verified", "success")
    assert newest.actor.display == "Rita"
    assert newest.data["entries"] == newest.seq - 1


def test_second_press_does_not_begin_another(alice, changes):
    alice.post(CHECK)
    asked_at = row_of(changes.team).beat_at
    page = text_of(alice.post(CHECK, follow=True))
    assert "being verified already" in page
    assert row_of(changes.team).beat_at == asked_at


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_who_may_not_read_the_ledger_starts_none(request, cast, who):
    browser = request.getfixturevalue(who)
    assert browser.post(CHECK).status_code == 403
    assert not FullCheck.objects.across_teams().exists()


def test_request_of_a_team_is_about_its_own_chain(mallory, changes, thread):
    mallory.post(CHECK)
    thread.look()
    checked = FullCheck.objects.across_teams().values_list("team_id", flat=True)
    assert list(checked) == [changes.other_team.id]


def test_fault_is_shown_recorded_and_logged(alice, changes, thread, caplog):
    execute(
        "UPDATE audit_entry SET action = 'x' WHERE team_id = %s AND seq = 2",
        changes.team.id,
    )
    alice.post(CHECK)
    thread.look()
    page = text_of(alice.get(PAGE))
    assert "Not intact</span> 1 fault" in page
    assert "column changed" in page
    newest = entry_list(changes.team.id)[-1]
    assert (newest.action, newest.outcome) == ("audit.verified", "failure")
    assert newest.data["faults"][0]["seq"] == 2
    assert "the chain does not hold: column_changed at 2" in caplog.text


def test_progress_is_shown_page_by_page(alice, cast, monkeypatch):
    monkeypatch.setattr(verify, "PAGE", 10)
    monkeypatch.setattr(jobs, "BEAT_S", 0.0)
    append(cast.team.id, *[draft()] * 40)
    alice.post(CHECK)
    steps = claimed_steps()
    next(steps)
    next(steps)
    page = text_of(alice.get(STATUS))
    assert "Verifying: 48 %" in page
    assert 'data-state="running"' in page
    assert list(steps)
    assert 'data-state="idle"' in text_of(alice.get(STATUS))


def test_process_that_ends_gives_its_check_to_another(alice, cast, thread):
    append(cast.team.id, draft())
    alice.post(CHECK)
    steps = claimed_steps()
    next(steps)
    steps.close()
    assert row_of(cast.team).state == "waiting"
    thread.look()
    assert row_of(cast.team).state == "done"


def test_check_of_a_dead_process_is_begun_again(alice, cast, thread):
    append(cast.team.id, draft())
    alice.post(CHECK)
    dead = claimed_steps()
    thread.look()
    assert row_of(cast.team).state == "running"
    FullCheck.objects.for_team(cast.team.id).update(
        beat_at=timezone.now() - 2 * DEAD_AFTER
    )
    assert "Interrupted" in text_of(alice.get(STATUS))
    thread.look()
    found = row_of(cast.team)
    assert found.state == "done"
    # It was slow, not dead: what it finds now counts no more.
    list(dead)
    assert row_of(cast.team).finished_at == found.finished_at
    assert [e.action for e in entry_list(cast.team.id)].count("audit.verified") == 1


def test_check_that_breaks_off_says_so(alice, cast, thread, monkeypatch, caplog):
    def broken(team_id):
        raise RuntimeError("no")
        yield

    append(cast.team.id, draft())
    monkeypatch.setattr(full_checks, "verify_steps", broken)
    alice.post(CHECK)
    thread.look()
    page = text_of(alice.get(PAGE))
    assert "No result</span> <span>It broke off with an error" in page
    assert "broke off" in caplog.text
    assert entry_list(cast.team.id)[-1].outcome == "failure"


def test_chains_are_verified_once_a_day_without_an_entry(cast, thread):
    teams = [chain_of(3), chain_of(2)]
    thread.look(orders_due=True)
    rows = FullCheck.objects.across_teams()
    assert set(rows.values_list("team_id", "state")) >= {
        (team_id, "done") for team_id in teams
    }
    assert [len(entry_list(team_id)) for team_id in teams] == [3, 2]
    first = finished()
    thread.look(orders_due=True)
    assert finished() == first
    rows.filter(team_id=teams[0]).update(
        finished_at=timezone.now() - timedelta(hours=25)
    )
    thread.look(orders_due=True)
    again = finished()
    assert again[teams[1]] == first[teams[1]]
    assert again[teams[0]] > first[teams[0]]


def test_serving_process_does_what_is_asked_for(cast, alice, monkeypatch):
    monkeypatch.setattr(jobs, "LOOK_S", 3600.0)
    append(cast.team.id, draft())
    one = open_thread().start()
    alice.post(CHECK)
    assert eventually(lambda: row_of(cast.team).state == "done")
    one.close()


def test_checkpoint_and_its_lag_are_shown(alice, changes):
    assert "None yet" in text_of(alice.get(PAGE))
    checkpoints_create(team_id=changes.team.id)
    page = text_of(alice.get(PAGE))
    assert "Covers every entry; not yet copied out of the database" in page
    append(changes.team.id, draft(), draft())
    assert "2 newer entries not yet covered" in text_of(alice.get(PAGE))
