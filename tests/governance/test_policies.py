"""Policies over HTTP: set by people, met by every run, on record in the ledger."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import orjson
import pytest

from apps.accounts.models import Scope
from apps.audit.models import Entry
from apps.engine import events as ev
from apps.engine.events import PolicyDecided
from apps.pools.models import Worker
from apps.pools.selectors import snapshots_forget
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Cast, Site
from tests.patience import awaited
from tests.rest.conftest import Caller, actions, fault, keyed, member

PROMPT = "What does Project Falcon cost?"
DENY_FALCON = {
    "name": "No Falcon",
    "conditions": {"words": ["Project Falcon"]},
    "effect": {"kind": "deny"},
}


def only(*tags: str, **more: Any) -> dict[str, Any]:
    effect = {"kind": "only_workers", "tags": list(tags)}
    return {"name": "Tagged only", "effect": effect, **more}


def put(caller: Caller, *rules: dict[str, Any], version: str = "*") -> Any:
    return caller.put("policy/", {"rules": list(rules)}, if_match=version)


def in_force(site: Site, *rules: dict[str, Any]) -> None:
    assert put(member(site.cast.alice), *rules).status_code == 200


def tag(site: Site, name: str, *tags: str) -> None:
    change(site, name, tags=list(tags))


def change(site: Site, name: str, **values: Any) -> None:
    team_id = site.cast.team.id
    Worker.objects.for_team(team_id).filter(name=name).update(**values)
    snapshots_forget(team_id)


def ask(site: Site, prompt: str = PROMPT, model: str = "conductor-ultra") -> Any:
    return httpx.post(
        f"{site.api_url}/chat/completions",
        json={"model": model, "messages": [{"role": "user", "content": prompt}]},
        headers={"Authorization": f"Bearer {site.key}"},
        timeout=30,
    )


def last_events(site: Site) -> list[ev.Event]:
    run = Run.objects.for_team(site.cast.team.id).latest("id")
    recorded = run_events(run)
    return [each.event for each in recorded]


def decisions(site: Site) -> list[PolicyDecided]:
    return [event for event in last_events(site) if isinstance(event, PolicyDecided)]


# --- the document ---------------------------------------------------------------------


def test_a_team_begins_without_rules(cast: Cast) -> None:
    response = member(cast.alice).get("policy/")
    assert response["ETag"] == '"0"'
    assert response.json() == {
        "version": 0,
        "updated_at": None,
        "updated_by": None,
        "rules": [],
        "patterns": [],
        "error": None,
    }


def test_a_policy_is_replaced_as_a_new_version_on_record(cast: Cast) -> None:
    alice = member(cast.alice)
    first = put(alice, DENY_FALCON, version='"0"')
    assert (first.status_code, first["ETag"]) == (200, '"1"')
    assert put(alice, DENY_FALCON, only("eu"), version='"1"').json()["version"] == 2
    assert put(alice, DENY_FALCON, only("eu")).json()["version"] == 2  # nothing changed
    assert actions(cast.team).count("policy.updated") == 2
    entry = Entry.objects.for_team(cast.team.id).latest("seq")
    told = orjson.loads(bytes(entry.canonical))
    assert told["data"] == {
        "version": 2,
        "before": {"rules": [DENY_FALCON]},
        "after": {"rules": [DENY_FALCON, only("eu")]},
    }
    versions = alice.get("policy/versions/").json()["data"]
    assert [row["version"] for row in versions] == [2, 1]
    assert alice.get("policy/versions/1/").json()["rules"] == [DENY_FALCON]
    fault(alice.get("policy/versions/9/"), 404)


def test_a_change_names_the_version_it_is_of(cast: Cast) -> None:
    alice = member(cast.alice)
    fault(alice.put("policy/", {"rules": []}), 428)
    fault(put(alice, DENY_FALCON, version='"1"'), 412)
    assert put(alice, DENY_FALCON, version='"0"').status_code == 200


def test_a_wrong_rule_is_refused_and_nothing_changes(cast: Cast) -> None:
    alice = member(cast.alice)
    error = fault(put(alice, {"name": "X", "effect": {"kind": "explode"}}), 400)
    assert error["message"].startswith("rules[0].effect: expected the kind to be")
    assert "explode" not in error["message"]
    assert alice.get("policy/").json()["version"] == 0
    assert "policy.updated" not in actions(cast.team)


def test_only_people_who_manage_may_change_the_policy(cast: Cast) -> None:
    for person in (cast.bob, cast.vera):
        fault(put(member(person), DENY_FALCON), 403)
        assert member(person).get("policy/").status_code == 200
    fault(put(keyed(cast.team, *Scope), DENY_FALCON), 403)
    assert keyed(cast.team, Scope.AUDIT_READ).get("policy/").status_code == 200
    fault(keyed(cast.team, Scope.RUN).get("policy/"), 403)
    put(member(cast.alice), DENY_FALCON)
    assert member(cast.mallory).get("policy/").json()["rules"] == []


# --- runs -----------------------------------------------------------------------------


def test_without_rules_runs_record_no_decision(site: Site) -> None:
    assert ask(site).status_code == 200
    assert decisions(site) == []


def test_a_denied_run_calls_no_model_and_names_rule_and_version(site: Site) -> None:
    in_force(site, DENY_FALCON)
    response = ask(site)
    assert response.status_code == 403
    error = response.json()["error"]
    assert error["code"] == "policy_denied"
    assert "'No Falcon'" in error["message"]
    assert "version 1" in error["message"]
    assert [event.action for event in last_events(site)] == [
        "run.created",
        "policy.decided",
        "run.failed",
    ]
    (decision,) = decisions(site)
    assert (decision.stage, decision.outcome) == ("run", "denied")
    assert decision.rules == ("team: No Falcon",)
    assert ask(site, "What does a kestrel cost?").status_code == 200


@pytest.mark.parametrize("model", ["conductor-ultra", "conductor-mini"])
def test_only_tagged_workers_are_called(site: Site, model: str) -> None:
    tag(site, "sim-delta", "eu")
    in_force(site, only("eu"))
    assert ask(site, model=model).status_code == 200
    started = [e for e in last_events(site) if isinstance(e, ev.StepStarted)]
    assert {event.worker for event in started} == {"sim-delta"}
    assert decisions(site)[0].refused_workers == ("sim-birch",)
    assert [d.stage for d in decisions(site)] == ["run", "plan"]


def test_a_direct_call_of_a_refused_worker_is_denied(site: Site) -> None:
    tag(site, "sim-delta", "eu")
    in_force(site, only("eu"))
    assert ask(site, model="worker/sim-delta").status_code == 200
    assert ask(site, model="worker/sim-birch").json()["error"]["code"] == (
        "policy_denied"
    )


def test_without_any_tagged_worker_every_run_is_denied(site: Site) -> None:
    in_force(site, only("moon"))
    error = ask(site).json()["error"]
    assert error["code"] == "policy_denied"
    assert "'Tagged only'" in error["message"]


def test_a_rule_on_the_plan_is_checked_before_it_is_accepted(site: Site) -> None:
    in_force(
        site,
        {
            "name": "Cheap plans",
            "conditions": {"cost_over_usd": "0.000001"},
            "effect": {"kind": "deny"},
        },
    )
    assert ask(site).json()["error"]["code"] == "policy_denied"
    names = [event.action for event in last_events(site)]
    assert "plan.replied" in names
    assert "plan.accepted" not in names
    assert "step.started" not in names


def test_no_conductor_answers_with_one_worker(site: Site) -> None:
    in_force(site, {"name": "Alone", "effect": {"kind": "no_conductor"}})
    assert ask(site).status_code == 200
    names = [event.action for event in last_events(site)]
    assert "plan.requested" not in names
    (accepted,) = [e for e in last_events(site) if isinstance(e, ev.PlanAccepted)]
    assert (accepted.planner, len(accepted.workers)) == ("fallback", 1)


def outcomes(site: Site, outcome: str) -> list[tuple[str, str]]:
    """Return action and subject of the ledger's entries with an outcome, in order."""
    found = member(site.cast.alice).get(f"ledger/?outcome={outcome}").json()["data"]
    return [(each["action"], each["subject_id"]) for each in reversed(found)]


def test_the_ledger_finds_denials_by_their_outcome(site: Site) -> None:
    in_force(site, DENY_FALCON)
    assert ask(site, "What is 6 times 7?").status_code == 200
    assert outcomes(site, "denied") == []
    ask(site)
    run_id = str(Run.objects.for_team(site.cast.team.id).latest("id").id)
    denials = [("policy.decided", run_id), ("run.failed", run_id)]
    assert outcomes(site, "denied") == denials
    assert not set(denials) & set(outcomes(site, "failure"))
    fault(member(site.cast.alice).get("ledger/?outcome=unknown"), 400)


def test_a_rule_in_shadow_mode_is_recorded_and_changes_nothing(site: Site) -> None:
    in_force(site, {**DENY_FALCON, "mode": "shadow"})
    assert ask(site).status_code == 200
    assert decisions(site)[0].shadow_rules == ("team: No Falcon",)
    assert decisions(site)[0].outcome == "allowed"


def test_roles_are_those_of_the_present_membership(site: Site) -> None:
    in_force(
        site,
        {
            "name": "Owners only",
            "conditions": {"roles": ["member", "api_key"]},
            "effect": {"kind": "deny"},
        },
    )
    assert ask(site).json()["error"]["code"] == "policy_denied"
    body = {"model": "conductor-mini", "prompt": "Hello"}
    for person, state in ((site.cast.alice, "completed"), (site.cast.bob, "failed")):
        client = httpx.Client(
            base_url=site.url, cookies={"sessionid": _session(member(person))}
        )
        with client:
            csrf = client.get("/").cookies.get("csrftoken") or client.cookies.get(
                "csrftoken"
            )
            made = client.post(
                "/api/v1/runs/", json=body, headers={"X-CSRFToken": csrf or ""}
            )
            assert made.status_code == 201, made.text
            assert _ended(client, made.json()["id"]) == state


def test_rules_know_workers_by_their_provider(site: Site) -> None:
    change(site, "sim-birch", base_url="https://eu.api.openai.com/v1")
    effect = {"kind": "no_workers", "tags": ["provider:openai"]}
    in_force(site, {"name": "Not there", "effect": effect})
    assert ask(site).status_code == 200
    assert decisions(site)[0].refused_workers == ("sim-birch",)
    answer = ask(site, model="worker/sim-birch")
    assert answer.json()["error"]["code"] == "policy_denied"


@pytest.mark.parametrize(("source", "is_of_v1"), [("api", True), ("rest", False)])
def test_a_rule_tells_the_api_from_the_rest_api(
    site: Site, source: str, is_of_v1: bool
) -> None:
    in_force(site, {**DENY_FALCON, "conditions": {"sources": [source]}})
    assert ask(site).status_code == (403 if is_of_v1 else 200)
    headers = {"Authorization": f"Bearer {site.key}"}
    with httpx.Client(base_url=site.url, headers=headers) as client:
        body = {"model": "conductor-mini", "prompt": PROMPT}
        made = client.post("/api/v1/runs/", json=body).json()
        state = "completed" if is_of_v1 else "failed"
        assert _ended(client, made["id"]) == state
        (listed,) = client.get("/api/v1/runs/?source=rest").json()["data"]
    assert (listed["id"], listed["source"]) == (made["id"], "rest")


def test_a_policy_of_another_team_binds_nobody_else(site: Site) -> None:
    put(member(site.cast.mallory), {"name": "All", "effect": {"kind": "deny"}})
    assert ask(site).status_code == 200


def test_the_run_of_a_denied_prompt_is_verified(site: Site) -> None:
    in_force(site, DENY_FALCON)
    ask(site)
    run = Run.objects.for_team(site.cast.team.id).latest("id")
    assert (run.state, run.error_code) == ("failed", "policy_denied")
    found = member(site.cast.alice).get(f"runs/{run.id}/").json()
    assert found["policy_decisions"][0]["rules"] == ["team: No Falcon"]
    assert isinstance(run.id, uuid.UUID)


def _session(caller: Caller) -> str:
    return str(caller.client.cookies["sessionid"].value)


def _ended(client: httpx.Client, run_id: str) -> str:
    def look() -> str | None:
        state: str = client.get(f"/api/v1/runs/{run_id}/").json()["state"]
        return state if state != "running" else None

    return awaited(look)
