"""One run under governance, over REST: held, edited, approved, reviewed, proved."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import orjson

from apps.accounts.models import Role, Scope
from apps.audit.bundles import verifier
from apps.audit.models import Entry
from apps.engine import events as ev
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.audit.bundles.alone import verify_alone
from tests.audit.bundles.forging import own_keys, unzipped, zipped
from tests.conftest import Site
from tests.governance.approval_runs import approve, colleague, ended, pending, start
from tests.governance.test_policies import in_force, tag
from tests.rest.conftest import Caller, fault, keyed, member

IBAN = "DE89 3704 0044 0532 0130 00"
PROMPT = f"Compare the two offers for our customer with the account {IBAN}."
ALLOWED = "sim-delta"
RULES = (
    {
        "name": "Customer data stays in the EU",
        "conditions": {"data_class": "confidential"},
        "effect": {"kind": "only_workers", "tags": ["eu"]},
    },
    {"name": "No account numbers", "effect": {"kind": "redact", "kinds": ["iban"]}},
    {
        "name": "Four eyes on customer data",
        "conditions": {"contains": ["iban"]},
        "effect": {"kind": "require_approval"},
    },
)


def edited(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return another plan than the one that waits: of two steps."""
    assert found["workers"] == [ALLOWED]
    return [
        {"worker": ALLOWED, "subtask": "List the prices.", "access": []},
        {"worker": ALLOWED, "subtask": "Judge them.", "access": [0]},
    ]


def decide(alice: Caller, bob: Caller, run_id: uuid.UUID) -> None:
    """Let somebody else than the member edit the plan and approve it."""
    found = pending(alice, run_id)
    assert found["reason"].count("Four eyes on customer data") == 1
    fault(approve(bob, run_id, found["plan_digest"]), 403)
    answer = approve(alice, run_id, found["plan_digest"], steps=edited(found))
    assert answer.status_code == 200, answer.content


def judge(site: Site, run_id: uuid.UUID) -> str:
    """Send the run to review and judge it; return the reviewer's name."""
    rita = colleague(site, "rita", Role.REVIEWER)
    reviewer = member(rita)
    queued = member(site.cast.alice).post("reviews/", {"run_id": str(run_id)})
    assert queued.status_code in (200, 201), queued.content
    (row,) = reviewer.get("reviews/").json()["data"]
    place = f"reviews/{row['id']}/"
    assert reviewer.post(f"{place}reservation/").status_code in (200, 201)
    rubric = reviewer.get("reviews/settings/").json()["rubric"]
    scores = {each["name"]: 5 if each["kind"] == "scale" else "pass" for each in rubric}
    body = {"verdict": "pass", "reason": "Both prices are right.", "scores": scores}
    judged = reviewer.post(f"{place}judge/", body)
    assert judged.status_code == 200, judged.content
    return rita.name


def events_of(run_id: uuid.UUID) -> list[ev.Event]:
    run = Run.objects.across_teams().get(id=run_id)
    return [each.event for each in run_events(run)]


def test_a_governed_run_from_prompt_to_proof_over_rest(
    site: Site, tmp_path: Path
) -> None:
    cast = site.cast
    tag(site, ALLOWED, "eu")
    in_force(site, *RULES)
    program = keyed(cast.team, *Scope, created_by=cast.bob)
    alice = member(cast.alice)
    run_id = start(program, PROMPT)
    decide(alice, member(cast.bob), run_id)
    assert ended(run_id).state == "completed"

    events = events_of(run_id)
    (accepted,) = [e for e in events if isinstance(e, ev.PlanAccepted)]
    assert (accepted.planner, accepted.subtasks[0]) == ("approver", "List the prices.")
    started = [e for e in events if isinstance(e, ev.StepStarted)]
    assert {each.worker for each in started} == {ALLOWED}
    asked = [e for e in events if isinstance(e, ev.PlanRequested)]
    sent = [each.messages for each in started] + [each.messages for each in asked]
    assert sent and not any(IBAN in messages for messages in sent)
    rita = judge(site, run_id)

    exported = alice.get(f"runs/{run_id}/export/")
    assert exported.status_code == 200
    (tmp_path / "site.pem").write_bytes(own_keys())
    options = ("--public-key=site.pem", f"--run={run_id}", f"--team={cast.team.id}")
    code, out = verify_alone(tmp_path, exported.content, *options)
    assert code == 0, out
    files = unzipped(exported.content)
    told = [orjson.loads(line) for line in files[verifier.ENTRIES].splitlines()]
    by = {entry["action"]: entry["actor"]["display"] for entry in told}
    assert (by["approval.granted"], by["review.judged"]) == ("Alice", rita)
    assert Entry.objects.for_team(cast.team.id).latest("seq").action == "run.exported"

    forged = files[verifier.ENTRIES].replace(ALLOWED.encode(), b"sim-birch", 1)
    changed = zipped({**files, verifier.ENTRIES: forged})
    code, out = verify_alone(tmp_path, changed, *options)
    assert (code, "REFUSED entries.jsonl" in out) == (1, True), out
