"""Which approvals count: of two people, at once, in time, and of this very plan."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import Role
from apps.governance.approvals.edited_plans import plan_read, plan_stored
from apps.governance.run_entries import run_entry_append
from apps.runs.execution.executor import get_executor
from apps.runs.models import ApprovalState, PlanApproval
from tests.conftest import Site
from tests.factories import ACTOR
from tests.governance.approval_runs import (
    HOLD,
    TWO,
    actions_of,
    approve,
    colleague,
    ended,
    pending,
    refuse,
    start,
    waiting,
)
from tests.governance.test_policies import in_force
from tests.patience import eventually
from tests.rest.conftest import member


def test_two_approvals_are_of_two_people(site: Site) -> None:
    in_force(site, TWO)
    alice = member(site.cast.alice)
    ada = member(colleague(site, "ada", Role.ADMIN))
    run_id = start(member(site.cast.bob))
    digest = pending(alice, run_id)["plan_digest"]
    assert approve(alice, run_id, digest).status_code == 200
    again = approve(alice, run_id, digest)
    assert again.status_code == 409
    assert waiting(run_id)
    assert pending(ada, run_id)["approved_by"] == ["Alice"]
    assert approve(ada, run_id, digest).status_code == 200
    assert ended(run_id).state == "completed"
    (told,) = alice.get(f"runs/{run_id}/").json()["approvals"]
    assert told["approvers"] == ["Alice", "Ada"]


def test_a_changed_plan_needs_new_approvals(site: Site) -> None:
    in_force(site, TWO)
    alice = member(site.cast.alice)
    ada = member(colleague(site, "ada", Role.ADMIN))
    run_id = start(member(site.cast.bob))
    found = pending(alice, run_id)
    approve(alice, run_id, found["plan_digest"])
    steps = [{"worker": found["workers"][0], "subtask": "Something else."}]
    assert approve(ada, run_id, found["plan_digest"], steps=steps).status_code == 200
    now = pending(alice, run_id)
    assert (now["approved_by"], now["is_edited"]) == (["Ada"], True)
    stale = approve(alice, run_id, found["plan_digest"])
    assert (stale.status_code, waiting(run_id)) == (409, True)
    assert approve(alice, run_id, now["plan_digest"]).status_code == 200
    assert ended(run_id).state == "completed"


@pytest.mark.parametrize("is_lowered", [False, True])
def test_g10_a_row_that_was_changed_approves_nothing(
    site: Site, is_lowered: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody who can write to the database alone is no approver."""
    in_force(site, TWO)
    run_id = start(member(site.cast.bob))
    changes: dict[str, Any] = {"state": "approved", "decided_by": "Alice\nAdam"}
    if is_lowered:  # one of two has approved
        alice = member(site.cast.alice)
        digest = pending(alice, run_id)["plan_digest"]
        assert approve(alice, run_id, digest).status_code == 200
        changes["approvals_needed"] = 1
    PlanApproval.objects.across_teams().filter(run_id=run_id).update(**changes)
    run = ended(run_id)
    assert (run.state, run.error_code) == ("failed", "approval_refused")
    assert "the ledger does not have these approvals" in run.error_message
    assert "step.started" not in actions_of(run_id)
    assert "the ledger does not have" in caplog.text


def test_g10_another_plan_in_the_row_is_not_the_approved_one(site: Site) -> None:
    in_force(site, HOLD)
    alice = member(site.cast.alice)
    run_id = start(member(site.cast.bob))
    found = pending(alice, run_id)
    step = {"worker": found["workers"][0], "subtask": "Tell all.", "access": []}
    other = plan_stored(
        plan_read(
            {"steps": [step]}, workers=found["workers"], max_steps=3, plans_rest=False
        )
    )
    rows = PlanApproval.objects.across_teams().filter(run_id=run_id)
    # Both at once: an approval alone would be acted on before the row is changed.
    row = rows.get()
    place = site.cast.team.id, run_id
    facts = {
        "round": row.round,
        "plan_digest": row.plan_digest,
        "approvals": 1,
        "approvals_needed": 1,
    }
    with transaction.atomic():
        run_entry_append(*place, "approval.granted", ACTOR, facts)
        rows.update(state="approved", decided_by="Alice", edited_plan=other)
    assert ended(run_id).error_code == "approval_refused"
    assert "step.started" not in actions_of(run_id)


def test_of_many_decisions_at_once_one_counts(site: Site) -> None:
    in_force(site, HOLD)
    people = [colleague(site, f"admin{n}", Role.ADMIN) for n in range(4)]
    callers = [member(each) for each in people]
    run_id = start(member(site.cast.bob))
    digest = pending(callers[0], run_id)["plan_digest"]
    begin = threading.Barrier(len(callers))
    statuses: list[int] = []

    def decide(place: int) -> None:
        begin.wait()
        who = callers[place]
        made = (
            refuse(who, run_id, digest, "No.")
            if place % 2
            else approve(who, run_id, digest)
        )
        statuses.append(made.status_code)
        connection.close()

    threads = [threading.Thread(target=decide, args=(n,)) for n in range(len(callers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 409, 409, 409]
    ended(run_id)
    ways = ("approval.granted", "approval.refused")
    decided = [action for action in actions_of(run_id) if action in ways]
    assert len(decided) == 1


def test_a_plan_that_nobody_approves_in_time_ends_the_run(site: Site) -> None:
    in_force(site, HOLD)
    alice = member(site.cast.alice)
    run_id = start(member(site.cast.bob))
    digest = pending(alice, run_id)["plan_digest"]
    rows = PlanApproval.objects.across_teams().filter(run_id=run_id)
    rows.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert approve(alice, run_id, digest).status_code in (404, 409)
    run = ended(run_id)
    assert run.error_code == "approval_expired"
    assert rows.get().state == ApprovalState.EXPIRED


def test_a_cancelled_run_takes_its_plan_back(site: Site) -> None:
    in_force(site, HOLD)
    bob, alice = member(site.cast.bob), member(site.cast.alice)
    run_id = start(bob)
    digest = pending(alice, run_id)["plan_digest"]
    assert bob.post(f"runs/{run_id}/cancel/").status_code == 200
    assert ended(run_id).state == "cancelled"
    row = PlanApproval.objects.across_teams().get(run_id=run_id)
    assert (row.state, row.plan_digest) == (ApprovalState.WITHDRAWN, digest)
    assert approve(alice, run_id, digest).status_code == 404
    (told,) = alice.get(f"runs/{run_id}/").json()["approvals"]
    assert told["outcome"] == "withdrawn"


def test_the_list_of_runs_says_which_wait(site: Site) -> None:
    in_force(site, HOLD)
    run_id = start(member(site.cast.bob))
    page = member(site.cast.vera).client.get("/runs/").content.decode()
    assert f'data-run-id="{run_id}" data-state="approval"' in page
    assert "Waiting for approval" in page


def test_a_waiting_run_takes_no_place_of_the_process(site: Site) -> None:
    in_force(site, HOLD)
    room = get_executor().room
    run_id = start(member(site.cast.bob))
    assert eventually(lambda: get_executor().room == room)
    alice = member(site.cast.alice)
    approve(alice, run_id, pending(alice, run_id)["plan_digest"])
    ended(run_id)
    assert eventually(lambda: not get_executor().live_ids)
    assert get_executor().room == room
