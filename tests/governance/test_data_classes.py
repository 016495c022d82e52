"""Data classes over HTTP: stated or found, met by rules, on record; and redaction."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from apps.accounts.models import Scope
from apps.accounts.services import api_key_cache_clear
from apps.engine import events as ev
from apps.governance.policies.rules import PolicyDocument
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site
from tests.governance.test_policies import (
    ask,
    decisions,
    in_force,
    last_events,
    only,
    put,
    tag,
)
from tests.patience import awaited
from tests.rest.conftest import fault, keyed, member

IBAN = "DE89 3704 0044 0532 0130 00"
WITH_IBAN = f"Reverse the word 'orchestra' for the account {IBAN}."
CONFIDENTIAL = {
    "name": "Confidential stays in the EU",
    "conditions": {"data_class": "confidential"},
    "effect": {"kind": "only_workers", "tags": ["eu"]},
}
REDACT = {"name": "No account numbers", "effect": {"kind": "redact", "kinds": ["iban"]}}


def sent(events: list[ev.Event]) -> str:
    """Return everything that models were sent."""
    parts = [
        e.messages for e in events if isinstance(e, ev.PlanRequested | ev.StepStarted)
    ]
    return "\n".join(parts)


def workers(site: Site) -> set[str]:
    return {e.worker for e in last_events(site) if isinstance(e, ev.StepStarted)}


def test_what_is_found_in_the_prompt_counts_and_is_on_record(site: Site) -> None:
    tag(site, "sim-delta", "eu")
    in_force(site, CONFIDENTIAL)
    assert ask(site, WITH_IBAN).status_code == 200
    assert workers(site) == {"sim-delta"}
    first = decisions(site)[0]
    assert (first.data_class, first.findings) == ("confidential", {"iban": 1})
    assert IBAN not in first.reason

    assert ask(site, "What is 6 times 7?").status_code == 200
    first = decisions(site)[0]
    assert (first.data_class, first.findings) == ("internal", {})
    assert first.refused_workers == ()


@pytest.mark.parametrize(
    ("stated", "is_kept"),
    [("restricted", True), ("confidential", True), ("public", False)],
)
def test_what_the_caller_states_counts_if_it_is_higher(
    site: Site, stated: str, is_kept: bool
) -> None:
    tag(site, "sim-delta", "eu")
    in_force(site, CONFIDENTIAL)
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": "What is 6 times 7?"}],
        "conductor": {"data_class": stated},
    }
    assert post(site, body).status_code == 200
    assert decisions(site)[0].data_class == stated
    assert bool(decisions(site)[0].refused_workers) == is_kept


@pytest.mark.parametrize(
    ("header", "field", "found"),
    [
        ("confidential", None, "confidential"),
        ("Restricted", "public", "restricted"),
        ("public", "confidential", "confidential"),
    ],
)
def test_a_header_states_it_for_clients_that_cannot_add_a_field(
    site: Site, header: str, field: str | None, found: str
) -> None:
    in_force(site, {**CONFIDENTIAL, "mode": "shadow"})
    body: dict[str, Any] = {
        "model": "conductor-mini",
        "messages": [{"role": "user", "content": "What is 6 times 7?"}],
    }
    if field:
        body["conductor"] = {"data_class": field}
    answer = post(site, body, **{"X-Conductor-Data-Class": header})
    assert answer.status_code == 200, answer.text
    assert decisions(site)[0].data_class == found


def test_an_unknown_class_in_the_header_is_refused(site: Site) -> None:
    body = {"model": "conductor-mini", "messages": [{"role": "user", "content": "?"}]}
    answer = post(site, body, **{"X-Conductor-Data-Class": "secret"})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "X-Conductor-Data-Class"


def test_a_key_has_a_class_for_all_its_prompts(site: Site) -> None:
    in_force(site, {**CONFIDENTIAL, "effect": {"kind": "deny"}})
    alice = member(site.cast.alice)
    values = {"name": "Ward 3", "scopes": ["runs:create"], "data_class": "restricted"}
    made = alice.post("keys/", values).json()
    assert made["data_class"] == "restricted"
    body = {"model": "conductor-mini", "messages": [{"role": "user", "content": "Hi"}]}
    bearer = {"Authorization": f"Bearer {made['secret']}"}
    lower = {**body, "conductor": {"data_class": "public"}}
    for sent_body in (body, lower):
        answer = post(site, sent_body, **bearer)
        assert answer.json()["error"]["code"] == "policy_denied"
    assert alice.patch(f"keys/{made['id']}/", {"data_class": None}).status_code == 200
    api_key_cache_clear()
    assert post(site, body, **bearer).status_code == 200


def test_a_key_makes_no_key_of_a_lower_class(site: Site) -> None:
    scopes = (Scope.KEYS_WRITE, Scope.RUN)
    own = keyed(site.cast.team, *scopes, data_class="confidential")
    for lower in (None, "internal"):
        values = {"name": "K", "scopes": ["runs:create"], "data_class": lower}
        fault(own.post("keys/", values), 403)
    values = {"name": "K", "scopes": ["runs:create"], "data_class": "restricted"}
    assert own.post("keys/", values).status_code == 201


def test_nobody_states_a_class_below_what_is_found(site: Site) -> None:
    in_force(site, CONFIDENTIAL)
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": WITH_IBAN}],
        "conductor": {"data_class": "public"},
    }
    assert post(site, body).json()["error"]["code"] == "policy_denied"


def test_an_unknown_class_is_refused_by_name(site: Site) -> None:
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": "?"}],
        "conductor": {"data_class": "secret"},
    }
    answer = post(site, body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "conductor.data_class"
    assert "public, internal, confidential, restricted" in answer.text


def test_over_rest_and_after_a_rerun_the_stated_class_stays(site: Site) -> None:
    in_force(site, {**CONFIDENTIAL, "effect": {"kind": "deny"}})
    bob = member(site.cast.bob)
    order = {
        "model": "conductor-mini",
        "prompt": "What is 6 times 7?",
        "conductor": {"data_class": "restricted"},
    }
    run_id = bob.post("runs/", order).json()["id"]
    assert state(run_id) == "policy_denied"
    again = bob.post(f"runs/{run_id}/rerun/").json()["id"]
    assert state(again) == "policy_denied"


def test_a_rule_on_findings(site: Site) -> None:
    rule = {
        "name": "No account numbers",
        "conditions": {"contains": ["iban", "card"]},
        "effect": {"kind": "deny"},
    }
    in_force(site, rule)
    assert ask(site, WITH_IBAN).json()["error"]["code"] == "policy_denied"
    assert ask(site, "What is 6 times 7?").status_code == 200


def test_teams_without_such_rules_do_not_look(site: Site) -> None:
    in_force(site, only("eu", mode="shadow"))
    assert ask(site, WITH_IBAN).status_code == 200
    assert (decisions(site)[0].data_class, decisions(site)[0].findings) == ("", None)


# --- redaction ------------------------------------------------------------------------


def test_no_model_sees_what_is_redacted(site: Site) -> None:
    in_force(site, REDACT)
    assert ask(site, WITH_IBAN).status_code == 200
    events = last_events(site)
    assert IBAN not in sent(events)
    assert "[IBAN_1]" in sent(events)
    assert decisions(site)[0].redacts == ("iban",)


def test_the_values_are_put_back_into_the_answer(site: Site) -> None:
    site.add_worker("echo")
    in_force(site, REDACT)
    answer = ask(site, WITH_IBAN, model="worker/echo")
    assert IBAN in answer.json()["choices"][0]["message"]["content"]
    in_force(site, {**REDACT, "effect": {"kind": "redact", "restore": False}})
    answer = ask(site, WITH_IBAN, model="worker/echo")
    text = answer.json()["choices"][0]["message"]["content"]
    assert "[IBAN_1]" in text
    assert IBAN not in text


def test_a_streamed_answer_has_the_values_too(site: Site) -> None:
    site.add_worker("echo")
    in_force(site, REDACT)
    body = {
        "model": "worker/echo",
        "stream": True,
        "messages": [{"role": "user", "content": WITH_IBAN}],
    }
    headers = {"Authorization": f"Bearer {site.key}"}
    url = f"{site.api_url}/chat/completions"
    text = ""
    with httpx.stream("POST", url, json=body, headers=headers, timeout=30) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line.removeprefix("data: "))["choices"]
                text += "".join(c["delta"].get("content") or "" for c in choices)
    assert IBAN in text
    assert "[IBAN_1]" not in text


def test_a_prompt_without_sensitive_data_is_sent_as_it_is(site: Site) -> None:
    in_force(site, REDACT)
    assert ask(site, "What is 6 times 7?").status_code == 200
    assert (decisions(site)[0].redacts, decisions(site)[0].outcome) == ((), "allowed")


@pytest.mark.parametrize(
    "rule",
    [
        {
            "name": "R",
            "conditions": {"data_class": "secret"},
            "effect": {"kind": "deny"},
        },
        {"name": "R", "conditions": {"contains": ["name"]}, "effect": {"kind": "deny"}},
        {"name": "R", "effect": {"kind": "redact", "kinds": ["everything"]}},
        {"name": "R", "effect": {"kind": "require_approval", "approvers": 3}},
        {"name": "R", "effect": {"kind": "require_approval", "hours": 0}},
    ],
)
def test_rules_of_a_wrong_shape_are_refused(site: Site, rule: dict[str, Any]) -> None:
    fault(put(member(site.cast.alice), rule), 400)


def test_a_request_that_does_not_wait_is_refused_at_once(site: Site) -> None:
    in_force(site, {"name": "Hold", "effect": {"kind": "require_approval"}})
    body = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": "What is 6 times 7?"}],
        "conductor": {"approval": "never"},
    }
    answer = post(site, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (
        403,
        "policy_denied",
    )
    assert "does not wait" in answer.text


def test_documents_know_what_they_need() -> None:
    def needs(**rule: Any) -> bool:
        values = {"name": "R", "effect": {"kind": "deny"}, **rule}
        return PolicyDocument.model_validate({"rules": [values]}).needs_classes

    assert not needs()
    assert needs(conditions={"data_class": "public"})
    assert needs(conditions={"contains": ["iban"]})
    assert needs(effect={"kind": "redact"})


def post(site: Site, body: dict[str, Any], **more: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {site.key}", **more}
    url = f"{site.api_url}/chat/completions"
    return httpx.post(url, json=body, headers=headers, timeout=30)


def state(run_id: str) -> str:
    """Return the error of a run once it has ended."""
    rows = Run.objects.across_teams().exclude(state="running").filter(id=run_id)
    run = awaited(rows.first)
    assert run_events(run)
    return run.error_code
