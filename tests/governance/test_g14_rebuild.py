"""G14: an auditor rebuilds any run from its export alone, by the printed script."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.audit.bundles.export import bundle_create
from apps.audit.selectors import entry_list
from apps.engine import events as ev
from apps.pools.models import Tier
from apps.pools.selectors import snapshots_forget
from apps.runs.models import PlanApproval, Run, Step
from apps.runs.records.round_view import CallView
from apps.runs.selectors import run_events, run_view
from tests.audit.bundles.alone import verify_alone
from tests.conftest import Site
from tests.docs.reading import snippets
from tests.factories import ACTOR
from tests.gateway.test_images import PNG
from tests.gateway.test_tools_live import QUESTION, WEATHER
from tests.governance.approval_runs import approve, ended, pending, refuse, start
from tests.governance.test_policies import change, in_force
from tests.rest.conftest import member
from tests.runs.asking import planned

RUNS = 50
HOLD = {
    "name": "A second pair of eyes",
    "conditions": {"words": ["merger"]},
    "effect": {"kind": "require_approval"},
}
DENY = {
    "name": "No Falcon",
    "conditions": {"words": ["Project Falcon"]},
    "effect": {"kind": "deny"},
}
HIDE = {"name": "No account numbers", "effect": {"kind": "redact", "kinds": ["iban"]}}
IBAN = "DE89 3704 0044 0532 0130 00"


# --- kinds of runs -------------------------------------------------------------------


def chat(site: Site, model: str, content: Any, **more: Any) -> None:
    """Ask over the API; whatever comes of it."""
    httpx.post(
        f"{site.api_url}/chat/completions",
        json={
            "model": model,
            "messages": [{"role": "user", "content": content}],
            **more,
        },
        headers={"Authorization": f"Bearer {site.key}"},
        timeout=30,
    )


def planned_run(site: Site, number: int) -> None:
    prompt = f"{planned([0, 1, 0])} Number {number}."
    chat(site, "conductor-ultra", prompt, conductor={"rounds": 1})


def simple_run(site: Site, number: int) -> None:
    chat(site, "conductor-mini", f"What is {number} * 23?")


def direct_call(site: Site, number: int) -> None:
    chat(site, "worker/sim-birch", f"What is {number} + 4?")


def run_with_tools(site: Site, number: int) -> None:
    content = f"{QUESTION['content']} Number {number}."
    chat(site, "conductor-mini", content, tools=[WEATHER], tool_choice="required")


def run_with_an_image(site: Site, number: int) -> None:
    text = {"type": "text", "text": f"What is on picture {number}?"}
    image = {"type": "image_url", "image_url": {"url": PNG}}
    chat(site, "conductor-mini", [text, image])


def denied_run(site: Site, number: int) -> None:
    chat(site, "conductor-ultra", f"What does Project Falcon cost in year {number}?")


def redacted_run(site: Site, number: int) -> None:
    chat(site, "conductor-mini", f"Check the account {IBAN}, letter {number}.")


def failed_run(site: Site, number: int) -> None:
    chat(site, "worker/fault-400", f"What is {number} + 5?")


def run_of_two_rounds(site: Site, number: int) -> None:
    """The conductor sees the answer and plans once more; one step fails for good."""
    prompt = f"{planned([3, 0])} Number {number}."
    chat(site, "conductor-ultra", prompt, conductor={"rounds": 2})


def held(site: Site, number: int) -> uuid.UUID:
    return start(member(site.cast.bob), f"Judge merger {number}.")


def approved_run(site: Site, number: int) -> None:
    run_id, alice = held(site, number), member(site.cast.alice)
    found = pending(alice, run_id)
    assert approve(alice, run_id, found["plan_digest"]).status_code == 200
    ended(run_id)


def edited_run(site: Site, number: int) -> None:
    run_id, alice = held(site, number), member(site.cast.alice)
    found = pending(alice, run_id)
    steps = [
        {"worker": found["workers"][0], "subtask": "List the prices.", "access": []},
        {"worker": found["workers"][1], "subtask": "Judge them.", "access": [0]},
    ]
    answer = approve(alice, run_id, found["plan_digest"], steps=steps)
    assert answer.status_code == 200, answer.content
    ended(run_id)


def refused_run(site: Site, number: int) -> None:
    run_id, alice = held(site, number), member(site.cast.alice)
    digest = pending(alice, run_id)["plan_digest"]
    assert refuse(alice, run_id, digest, f"Not now ({number}).").status_code == 200
    ended(run_id)


def cancelled_run(site: Site, number: int) -> None:
    run_id = held(site, number)
    assert member(site.cast.bob).post(f"runs/{run_id}/cancel/").status_code == 200
    ended(run_id)


KINDS: tuple[Callable[[Site, int], None], ...] = (
    planned_run,
    simple_run,
    direct_call,
    run_with_tools,
    run_with_an_image,
    denied_run,
    redacted_run,
    failed_run,
    run_of_two_rounds,
    approved_run,
    edited_run,
    refused_run,
    cancelled_run,
)


@pytest.fixture
def governed(site: Site) -> Site:
    """A site with a policy, a conductor that obeys, and workers that refuse."""
    site.set_conductor("scripted-conductor")
    site.add_worker("fault-400")
    site.add_worker("fault-filtered")
    for name in ("sim-delta", "sim-birch"):
        change(site, name, accepts_images=True)
    Tier.objects.for_team(site.cast.team.id).update(max_rounds=2)
    snapshots_forget(site.cast.team.id)
    in_force(site, HOLD, DENY, HIDE)
    return site


@pytest.fixture
def rebuild(tmp_path: Path) -> Callable[[bytes], dict[str, Any]]:
    """The printed script, as somebody runs it who has nothing of the product."""
    _, code = snippets("docs/governance.md", "python")
    (tmp_path / "rebuild.py").write_text(code)

    def inner(content: bytes) -> dict[str, Any]:
        (tmp_path / "run.zip").write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-I", "rebuild.py", "run.zip"],
            cwd=tmp_path,
            capture_output=True,
            env={},
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return inner


# --- what the database has ------------------------------------------------------------


def calls_of(run: Run) -> Iterator[CallView]:
    """Yield the calls of a run in the order in which they were announced."""
    view = run_view(run)
    yield from sorted(
        (*view.planning_calls, *view.step_calls), key=lambda call: call.seq
    )


def expected_calls(run: Run) -> list[tuple[Any, ...]]:
    return [
        (
            call.worker or None,
            json.loads(call.messages),
            call.output,
            call.model or None,
            None if call.cost.has_unknown else call.cost.micros,
        )
        for call in calls_of(run)
    ]


def rebuilt_calls(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            call["worker"],
            call["input"],
            call["output"],
            call.get("model"),
            call["cost_micros"],
        )
        for call in found["calls"]
    ]


def expected_plans(run: Run) -> list[tuple[Any, ...]]:
    plans = (ev.PlanAccepted, ev.ApprovalRequested)
    events = [each.event for each in run_events(run)]
    return [
        (
            isinstance(event, ev.PlanAccepted),
            list(event.workers),
            [list(reads) for reads in event.access],
            list(event.subtasks),
        )
        for event in events
        if isinstance(event, plans)
    ]


def assert_same(run: Run, found: dict[str, Any]) -> None:
    """Compare what was rebuilt with the rows, and with the texts of the ledger."""
    actor = found["requested_by"]
    told = (actor["type"], actor["id"], actor["display"])
    assert told == (run.actor_type, run.actor_id, run.actor_name)
    assert found["pool"] == run.pool_name
    assert found["pool_version"] == run.pool_version
    assert " ".join(found["prompt"].split()).startswith(run.title.rstrip("…"))
    assert (found["state"], found["error_code"]) == (run.state, run.error_code)
    assert found["cost_micros"] == run.cost_micros
    assert found["answer"] == (run_view(run).answer or "")
    assert rebuilt_calls(found) == expected_calls(run)
    names = ("is_in_force", "workers", "access", "subtasks")
    plans = [tuple(plan[name] for name in names) for plan in found["plans"]]
    assert plans == expected_plans(run)
    assert sum(call["cost_micros"] or 0 for call in found["calls"]) == run.cost_micros
    assert_same_approvals(run, found)
    assert_same_steps(run, found)


def assert_same_approvals(run: Run, found: dict[str, Any]) -> None:
    row = PlanApproval.objects.across_teams().filter(run_id=run.id).first()
    ways = ("approval.granted", "approval.refused")
    decided = [a for a in found["approvals"] if a["action"] in ways]
    if row is None:
        assert decided == []
        return
    assert [a["by"] for a in decided] == [
        name for name in row.decided_by.split("\n") if name
    ]
    if row.state == "refused":
        assert "Not now" in decided[-1]["reason"]
        assert decided[-1]["reason"] in found["why"]


def assert_same_steps(run: Run, found: dict[str, Any]) -> None:
    """Each step that was called has the worker that the plan in force names."""
    rows = Step.objects.for_team(run.team_id).filter(run=run, state="completed")
    called = {call["worker"] for call in found["calls"]}
    assert {row.worker for row in rows} <= called


# --- the promise ---------------------------------------------------------------------


@pytest.mark.slow
def test_g14_fifty_runs_are_rebuilt_from_their_exports_alone(
    governed: Site, rebuild: Callable[[bytes], dict[str, Any]], tmp_path: Path
) -> None:
    for number, make in zip(range(RUNS), itertools.cycle(KINDS)):
        make(governed, number)
    runs = list(Run.objects.for_team(governed.cast.team.id).order_by("id"))
    assert len(runs) == RUNS
    seen: set[str] = set()
    for run in runs:
        made = bundle_create(team_id=run.team_id, run_id=run.id, actor=ACTOR)
        found = rebuild(made.content)
        assert_same(run, found)
        seen |= traits(run, found)
    assert verify_alone(tmp_path, made.content)[0] == 0
    assert seen == TRAITS


TRAITS = {
    "completed",
    "failed",
    "cancelled",
    "policy_denied",
    "approval_refused",
    "edited",
    "approved",
    "tools",
    "image",
    "redacted",
    "two rounds",
    "several steps",
}


def traits(run: Run, found: dict[str, Any]) -> set[str]:
    """Return which kinds of runs one is."""
    sent = json.dumps([call["input"] for call in found["calls"]])
    planners = [plan["planner"] for plan in found["plans"] if plan["is_in_force"]]
    rules = {rule for each in found["decisions"] for rule in each["rules"]}
    is_redacted = any("No account numbers" in rule for rule in rules)
    assert not is_redacted or IBAN not in sent
    are = {
        run.state: True,
        run.error_code: run.error_code in TRAITS,
        "edited": "approver" in planners,
        "approved": any(a["action"] == "approval.granted" for a in found["approvals"]),
        "tools": any(
            entry.action == "run.completed" and entry.bodies.get("tool_calls")
            for entry in entry_list(run.team_id, subject_id=run.id)
        ),
        "image": "image" in sent,
        "redacted": is_redacted and found["state"] == "completed",
        "two rounds": len(planners) > 1,
        "several steps": any(len(plan["workers"]) > 1 for plan in found["plans"]),
    }
    return {name for name, holds in are.items() if holds}
