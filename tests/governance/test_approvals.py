"""Approvals over HTTP: a plan waits, people decide, the run goes on. On record."""

from __future__ import annotations

import html
import threading
import uuid
from typing import Any

import httpx
import openai
import orjson
import pytest
from django.db import connection

from apps.accounts.models import Role, Scope
from apps.audit.rows import verify_rows
from apps.audit.selectors import entry_list
from apps.audit.verify import verify_team
from apps.engine import events as ev
from apps.governance.emails import approvers_notify
from apps.runs.models import PlanApproval, Run
from apps.runs.selectors import run_events
from tests.conftest import Site
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
from tests.governance.test_policies import PROMPT, in_force, only, tag
from tests.patience import awaited, eventually
from tests.rest.conftest import keyed, member


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


def test_an_approver_is_offered_the_workers_that_the_run_may_use(site: Site) -> None:
    in_force(site, HOLD)
    limits = {"workers": ["sim-birch"]}
    run_id = start(member(site.cast.bob), conductor=limits)
    assert pending(member(site.cast.alice), run_id)["workers"] == ["sim-birch"]


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
        row = awaited(PlanApproval.objects.across_teams().first)
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
    assert eventually(lambda: bool(mailoutbox))
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


def test_a_held_run_says_who_may_approve_it_and_until_when(site: Site) -> None:
    in_force(site, TWO)
    colleague(site, "ada", Role.ADMIN)
    run_id = start(member(site.cast.bob))
    approval = PlanApproval.objects.across_teams().get(run_id=run_id)
    browser = member(site.cast.bob).client
    for path in (f"/runs/{run_id}/", f"/runs/{run_id}/body/"):
        page = html.unescape(browser.get(path).content.decode())
        told = page[page.index("This plan waits for 2 approvals") :][:600]
        assert "These people may approve it:" in told
        assert "Alice" in told
        assert "Ada" in told
        assert "Bob" not in told  # nobody approves their own run
        assert approval.expires_at.strftime("%H:%M") in told
        assert "data-held" in page
        assert "Usually about" not in page
    outside = member(site.cast.mallory).client.get(f"/runs/{run_id}/")
    assert outside.status_code == 404
