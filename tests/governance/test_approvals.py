"""Approvals over HTTP: a plan waits, people decide, the run goes on. On record."""

from __future__ import annotations

import threading
import uuid
from datetime import timedelta
from typing import Any

import httpx
import openai
import orjson
import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import Role, Scope, User
from apps.audit.models import Entry
from apps.audit.rows import verify_rows
from apps.audit.selectors import entry_list
from apps.audit.verify import verify_team
from apps.engine import events as ev
from apps.governance.approvals.edited_plans import plan_read, plan_stored
from apps.governance.emails import approvers_notify
from apps.governance.run_entries import run_entry_append
from apps.runs.execution.executor import get_executor
from apps.runs.models import ApprovalState, PlanApproval, Run
from apps.runs.selectors import run_events
from tests.conftest import Site
from tests.factories import ACTOR, MembershipFactory, UserFactory
from tests.governance.test_policies import PROMPT, in_force, only, tag
from tests.rest.conftest import Caller, keyed, member
from tests.runs.asking import eventually

HOLD = {
    "name": "Falcon needs a second pair of eyes",
    "conditions": {"words": ["Project Falcon"]},
    "effect": {"kind": "require_approval"},
}
TWO = {**HOLD, "effect": {"kind": "require_approval", "approvers": 2, "hours": 4}}


def start(who: Caller, prompt: str = PROMPT) -> uuid.UUID:
    """Start a run and return its id once its plan waits."""
    response = who.post("runs/", {"model": "conductor-ultra", "prompt": prompt})
    assert response.status_code == 201, response.content
    run_id = uuid.UUID(response.json()["id"])
    while not waiting(run_id):
        assert Run.objects.across_teams().get(id=run_id).state == "running"
    return run_id


def waiting(run_id: uuid.UUID) -> bool:
    rows = PlanApproval.objects.across_teams().filter(run_id=run_id)
    return rows.filter(state=ApprovalState.WAITING, settled_at=None).exists()


def pending(who: Caller, run_id: uuid.UUID) -> dict[str, Any]:
    response = who.get(f"runs/{run_id}/approval/")
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


def approve(who: Caller, run_id: uuid.UUID, digest: str, **more: Any) -> Any:
    path = f"runs/{run_id}/approval/approve/"
    return who.post(path, {"plan_digest": digest, **more})


def refuse(who: Caller, run_id: uuid.UUID, digest: str, reason: str) -> Any:
    path = f"runs/{run_id}/approval/refuse/"
    return who.post(path, {"plan_digest": digest, "reason": reason})


def ended(run_id: uuid.UUID) -> Run:
    """Return the run once it has ended; it must end by itself."""
    rows = Run.objects.across_teams().exclude(state="running").filter(id=run_id)
    while (run := rows.first()) is None:
        pass
    return run


def actions_of(run_id: uuid.UUID) -> list[str]:
    rows = Entry.objects.across_teams().filter(subject_id=run_id).order_by("seq")
    return list(rows.values_list("action", flat=True))


def test_an_approved_plan_runs_and_the_record_says_who_approved_it(site: Site) -> None:
    in_force(site, HOLD)
    bob, alice = member(site.cast.bob), member(site.cast.alice)
    run_id = start(bob)
    found = pending(alice, run_id)
    assert found["requested_by"] == "Bob"
    assert "Falcon needs a second pair of eyes" in found["reason"]
    assert found["steps"] == found["original_steps"] != []
    assert alice.get("approvals/").json()["data"][0]["run_id"] == str(run_id)

    assert approve(alice, run_id, found["plan_digest"]).status_code == 200
    run = ended(run_id)
    assert run.state == "completed"
    assert alice.get("approvals/").json()["data"] == []
    actions = actions_of(run_id)
    order = ["approval.requested", "approval.granted", "approval.settled"]
    assert [a for a in actions if a.startswith("approval.")] == order
    assert actions.index("approval.settled") < actions.index("step.started")
    told = alice.get(f"runs/{run_id}/").json()["approvals"]
    assert [(a["outcome"], a["approvers"]) for a in told] == [("approved", ["Alice"])]


def test_a_refused_plan_ends_the_run_with_the_reason_and_calls_no_worker(
    site: Site,
) -> None:
    in_force(site, HOLD)
    alice = member(site.cast.alice)
    run_id = start(member(site.cast.bob))
    digest = pending(alice, run_id)["plan_digest"]
    assert refuse(alice, run_id, digest, "  ").status_code == 400
    assert refuse(alice, run_id, digest, "Not with these data.").status_code == 200
    run = ended(run_id)
    assert (run.state, run.error_code) == ("failed", "approval_refused")
    assert "refused by Alice: Not with these data." in run.error_message
    assert "step.started" not in actions_of(run_id)
    entries = entry_list(site.cast.team.id, subject_id=run_id)
    refused = next(e for e in entries if e.action == "approval.refused")
    assert refused.actor.display == "Alice"
    assert refused.bodies["reason"] == "Not with these data."
    assert (entries[-1].action, entries[-1].outcome) == ("run.failed", "denied")


def test_an_edited_plan_runs_and_both_plans_are_on_record(site: Site) -> None:
    in_force(site, HOLD)
    alice = member(site.cast.alice)
    run_id = start(member(site.cast.bob))
    found = pending(alice, run_id)
    worker = found["workers"][-1]
    steps = [
        {"worker": worker, "subtask": "Only list what is public.", "access": []},
        {"worker": worker, "subtask": "Summarize it.", "access": [0]},
    ]
    response = approve(alice, run_id, found["plan_digest"], steps=steps)
    assert response.status_code == 200, response.content
    assert ended(run_id).state == "completed"
    events = [
        each.event for each in run_events(Run.objects.across_teams().get(id=run_id))
    ]
    (accepted,) = [e for e in events if isinstance(e, ev.PlanAccepted)]
    assert accepted.planner == "approver"
    assert accepted.subtasks == ("Only list what is public.", "Summarize it.")
    (request,) = [e for e in events if isinstance(e, ev.ApprovalRequested)]
    assert list(request.workers) == [s["worker"] for s in found["original_steps"]]
    assert "approval.plan_edited" in actions_of(run_id)
    row = PlanApproval.objects.across_teams().get(run_id=run_id)
    assert (row.edited_plan, row.reason) == ("", "")  # the ledger has the texts


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([], "at least 1"),
        ([{"worker": "nobody", "subtask": "x"}], "not in the pool"),
        ([{"worker": "*", "subtask": " "}], "blank"),
        ([{"worker": "*", "subtask": "x", "access": [0]}], "only earlier steps"),
        ([{"worker": "*", "subtask": "x", "access": [-1]}], "access list"),
        ([{"worker": "*", "subtask": "x"}] * 40, "at most"),
        ([{"worker": "*", "subtask": "x", "tool": "y"}], "no such field"),
    ],
)
def test_an_edited_plan_keeps_the_rules_of_the_conductor(
    site: Site, steps: list[dict[str, Any]], words: str
) -> None:
    in_force(site, HOLD)
    alice = member(site.cast.alice)
    run_id = start(member(site.cast.bob))
    found = pending(alice, run_id)
    known = found["workers"][0]
    steps = [
        {**s, "worker": known if s["worker"] == "*" else s["worker"]} for s in steps
    ]
    response = approve(alice, run_id, found["plan_digest"], steps=steps)
    assert response.status_code == 400, response.content
    assert words in response.content.decode()
    assert waiting(run_id)
    assert pending(alice, run_id)["plan_digest"] == found["plan_digest"]


def test_an_approver_cannot_bring_back_a_worker_that_the_policy_refuses(
    site: Site,
) -> None:
    tag(site, "sim-delta", "eu")
    in_force(site, only("eu"), HOLD)
    alice = member(site.cast.alice)
    run_id = start(member(site.cast.bob))
    found = pending(alice, run_id)
    assert found["workers"] == ["sim-delta"]
    steps = [{"worker": "sim-birch", "subtask": "Do it."}]
    response = approve(alice, run_id, found["plan_digest"], steps=steps)
    assert "not in the pool" in response.content.decode()


def decisions_of(run_id: uuid.UUID) -> list[tuple[str, str]]:
    run = Run.objects.across_teams().get(id=run_id)
    events = [each.event for each in run_events(run)]
    found = [e for e in events if isinstance(e, ev.PolicyDecided)]
    return [(each.stage, each.outcome) for each in found]


def test_a_rule_holds_a_plan_once_and_says_nothing_of_its_steps(site: Site) -> None:
    in_force(site, HOLD)
    alice = member(site.cast.alice)
    run_id = start(member(site.cast.bob))
    approve(alice, run_id, pending(alice, run_id)["plan_digest"])
    ended(run_id)
    assert decisions_of(run_id) == [("run", "allowed"), ("plan", "approval")]


def test_in_shadow_mode_a_plan_is_not_held_but_on_record(site: Site) -> None:
    in_force(site, {**HOLD, "mode": "shadow"})
    bob = member(site.cast.bob)
    sent = {"model": "conductor-ultra", "prompt": PROMPT}
    run_id = uuid.UUID(bob.post("runs/", sent).json()["id"])
    run = ended(run_id)
    events = [each.event for each in run_events(run)]
    shadow = [e.shadow_rules for e in events if isinstance(e, ev.PolicyDecided)]
    assert (run.state, shadow[1]) == ("completed", (f"team: {HOLD['name']}",))


# --- who may decide -------------------------------------------------------------------


def test_who_started_a_run_does_not_approve_it(site: Site) -> None:
    in_force(site, HOLD)
    alice = member(site.cast.alice)
    run_id = start(alice)
    digest = pending(alice, run_id)["plan_digest"]
    for response in (
        approve(alice, run_id, digest),
        refuse(alice, run_id, digest, "No."),
    ):
        assert response.status_code == 403
        assert "somebody else" in response.json()["error"]["message"]
    assert waiting(run_id)


def test_who_made_the_key_that_started_a_run_does_not_approve_it(site: Site) -> None:
    in_force(site, HOLD)
    run_id = start(
        keyed(site.cast.team, Scope.RUN, Scope.READ, created_by=site.cast.alice)
    )
    alice, ada = member(site.cast.alice), member(colleague(site, "ada", Role.ADMIN))
    digest = pending(alice, run_id)["plan_digest"]
    assert approve(alice, run_id, digest).status_code == 403
    assert approve(ada, run_id, digest).status_code == 200
    assert ended(run_id).state == "completed"


@pytest.mark.parametrize("name", ["bob", "vera", "key", "mallory"])
def test_others_cannot_decide(site: Site, name: str) -> None:
    in_force(site, HOLD)
    alice = member(site.cast.alice)
    run_id = start(alice)
    digest = pending(alice, run_id)["plan_digest"]
    who = (
        keyed(site.cast.team, *Scope)
        if name == "key"
        else member(getattr(site.cast, name))
    )
    for response in (approve(who, run_id, digest), refuse(who, run_id, digest, "No.")):
        assert response.status_code == (404 if name == "mallory" else 403)
    assert waiting(run_id)


def test_a_reviewer_may_approve(site: Site) -> None:
    in_force(site, HOLD)
    run_id = start(member(site.cast.bob))
    rita = member(colleague(site, "rita", Role.REVIEWER))
    assert (
        approve(rita, run_id, pending(rita, run_id)["plan_digest"]).status_code == 200
    )
    assert ended(run_id).state == "completed"


# --- two approvers, races, time -------------------------------------------------------


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
        plan_read({"steps": [step]}, workers=found["workers"], max_steps=3)
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
    while get_executor().live_ids:
        pass
    assert get_executor().room == room


# --- over the API ---------------------------------------------------------------------


def test_a_held_stream_lives_says_why_and_ends_with_the_answer(site: Site) -> None:
    in_force(site, HOLD)
    ada = member(colleague(site, "ada", Role.ADMIN))
    names: list[str] = []
    headers = {"Authorization": f"Bearer {site.key}", "X-Conductor-Events": "true"}
    body = {
        "model": "conductor-ultra",
        "stream": True,
        "messages": [{"role": "user", "content": PROMPT}],
    }
    url = f"{site.api_url}/chat/completions"
    with httpx.stream("POST", url, json=body, headers=headers, timeout=30) as response:
        for line in response.iter_lines():
            if line.startswith("event: "):
                names.append(line.removeprefix("event: "))
            if line == "event: approval.requested":
                run = Run.objects.for_team(site.cast.team.id).latest("id")
                digest = pending(ada, run.id)["plan_digest"]
                assert approve(ada, run.id, digest).status_code == 200
            if line.startswith("data: {") and names[-1:] == ["approval.requested"]:
                assert "subtasks" not in orjson.loads(line.removeprefix("data: "))
    assert names.index("approval.requested") < names.index("approval.settled")
    assert names.index("approval.settled") < names.index("plan.accepted")


def test_an_api_client_learns_that_its_plan_was_refused(site: Site) -> None:
    in_force(site, HOLD)
    ada = member(colleague(site, "ada", Role.ADMIN))

    def refuse_it() -> None:
        while (row := PlanApproval.objects.across_teams().first()) is None:
            pass
        refuse(ada, row.run_id, row.plan_digest, "Ask legal first.")
        connection.close()

    decider = threading.Thread(target=refuse_it)
    decider.start()
    client = openai.OpenAI(base_url=site.api_url, api_key=site.key, max_retries=3)
    with pytest.raises(openai.PermissionDeniedError, match="Ask legal first") as caught:
        client.chat.completions.create(
            model="conductor-ultra", messages=[{"role": "user", "content": PROMPT}]
        )
    decider.join()
    assert caught.value.code == "approval_refused"
    assert Run.objects.for_team(site.cast.team.id).count() == 1  # no retry


# --- mails ---------------------------------------------------------------------------


def test_those_who_can_approve_get_one_mail_that_quotes_nothing(
    site: Site, mailoutbox: list[Any]
) -> None:
    in_force(site, HOLD)
    colleague(site, "rita", Role.REVIEWER)
    run_id = start(member(site.cast.alice))
    while not mailoutbox:
        pass
    approvers_notify(run_id)  # as after a restart
    (mail,) = mailoutbox
    assert mail.to == ["rita@example.org"]
    assert f"/runs/{run_id}/approval/" in mail.body
    assert "Falcon" not in mail.body + mail.subject


# --- the record -----------------------------------------------------------------------


def test_rows_and_chain_agree_after_every_way_out(site: Site) -> None:
    in_force(site, HOLD)
    bob, alice = member(site.cast.bob), member(site.cast.alice)
    for decide in (
        lambda run_id, digest: approve(alice, run_id, digest),
        lambda run_id, digest: refuse(alice, run_id, digest, "No."),
        lambda run_id, digest: bob.post(f"runs/{run_id}/cancel/"),
    ):
        run_id = start(bob)
        decide(run_id, pending(alice, run_id)["plan_digest"])
        ended(run_id)
    assert verify_team(site.cast.team.id).is_intact
    assert not verify_rows(site.cast.team.id).faults
    assert not PlanApproval.objects.across_teams().filter(settled_at=None).exists()


def colleague(site: Site, name: str, role: Role) -> User:
    user = UserFactory.create(email=f"{name}@example.org", name=name.title())
    MembershipFactory.create(team=site.cast.team, user=user, role=role)
    return user
