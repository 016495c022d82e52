"""Sensitive data that is kept off the record: no table and no entry ever has it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from apps.engine.events import RunCreated
from apps.runs.models import Run
from tests.conftest import Cast, Site
from tests.governance.test_data_classes import IBAN, WITH_IBAN, sent
from tests.governance.test_policies import ask, decisions, in_force, last_events, put
from tests.governance.trials import tried
from tests.rest.conftest import fault, member

OFF_RECORD = {
    "name": "Nothing kept",
    "effect": {
        "kind": "redact",
        "kinds": ["iban"],
        "restore": False,
        "off_record": True,
    },
}


def created(site: Site) -> RunCreated:
    first = last_events(site)[0]
    assert isinstance(first, RunCreated)
    return first


def texts_of(site: Site) -> str:
    """Return all events of the newest run, opened, and its row."""
    run = Run.objects.for_team(site.cast.team.id).latest("id")
    return f"{last_events(site)} {vars(run)}"


def test_the_record_has_placeholders_and_says_what_they_replaced(site: Site) -> None:
    in_force(site, OFF_RECORD)
    assert ask(site, WITH_IBAN).status_code == 200
    assert IBAN not in texts_of(site)
    first = created(site)
    assert "[IBAN_1]" in first.prompt
    assert (first.redacted, first.redacted_class) == ({"iban": 1}, "confidential")
    assert "[IBAN_1]" in sent(last_events(site))
    run = Run.objects.for_team(site.cast.team.id).latest("id")
    assert "[IBAN_1]" in run.title


def test_the_answer_has_the_placeholders(site: Site) -> None:
    site.add_worker("echo")
    in_force(site, OFF_RECORD)
    answer = ask(site, WITH_IBAN, model="worker/echo")
    text = answer.json()["choices"][0]["message"]["content"]
    assert "[IBAN_1]" in text
    assert IBAN not in text


def test_other_rules_still_see_what_the_prompt_was(site: Site) -> None:
    by_class = {
        "name": "Denied by class",
        "conditions": {"data_class": "confidential"},
        "effect": {"kind": "deny"},
    }
    by_kind = {**by_class, "conditions": {"contains": ["iban"]}}
    for rule in (by_class, by_kind):
        in_force(site, OFF_RECORD, rule)
        assert ask(site, WITH_IBAN).json()["error"]["code"] == "policy_denied"
        assert IBAN not in texts_of(site)
        assert decisions(site)[0].findings == {"iban": 1}


def test_all_messages_and_what_is_echoed_are_without_it(site: Site) -> None:
    in_force(site, OFF_RECORD)
    body: dict[str, Any] = {
        "model": "conductor-mini",
        "input": [
            {"role": "user", "content": f"My account is {IBAN}."},
            {"role": "assistant", "content": "Noted."},
            {"role": "user", "content": "What is 6 times 7?"},
        ],
        "instructions": f"Never name {IBAN}.",
        "metadata": {"account": IBAN},
    }
    url = f"{site.api_url}/responses"
    headers = {"Authorization": f"Bearer {site.key}"}
    answer = httpx.post(url, json=body, headers=headers, timeout=30)
    assert answer.status_code == 200, answer.text
    assert IBAN not in texts_of(site)
    kept = httpx.get(f"{url}/{answer.json()['id']}", headers=headers, timeout=30)
    assert kept.json()["metadata"] == {"account": "[IBAN_1]"}
    assert IBAN not in kept.text


def test_a_run_in_the_background_is_recorded_without_it(site: Site) -> None:
    in_force(site, OFF_RECORD)
    values = {"model": "conductor-mini", "prompt": WITH_IBAN}
    assert member(site.cast.bob).post("runs/", values).status_code == 201
    assert IBAN not in texts_of(site)


def test_a_denied_run_keeps_everything_off_the_record(site: Site) -> None:
    deny = {
        "name": "Denied",
        "conditions": {"expression": "!('nobody' in tags)"},
        "effect": {"kind": "deny"},
    }
    for_mini = {**OFF_RECORD, "conditions": {"tiers": ["mini"]}}
    in_force(site, deny, for_mini)
    assert ask(site, WITH_IBAN).json()["error"]["code"] == "policy_denied"
    assert IBAN not in texts_of(site)


def test_in_shadow_mode_or_for_others_the_record_has_it(site: Site) -> None:
    for rule in (
        {**OFF_RECORD, "mode": "shadow"},
        {**OFF_RECORD, "conditions": {"tiers": ["direct"]}},
    ):
        in_force(site, rule)
        assert ask(site, WITH_IBAN).status_code == 200
        assert IBAN in created(site).prompt
        assert created(site).redacted is None


def test_a_trial_knows_what_was_replaced(site: Site) -> None:
    in_force(site, OFF_RECORD)
    assert ask(site, WITH_IBAN).status_code == 200
    rule = {
        "name": "R",
        "conditions": {"contains": ["iban"]},
        "effect": {"kind": "deny"},
    }
    assert tried(member(site.cast.alice), rule)["denied"] == 1


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"effect": {"kind": "redact", "off_record": True}}, "cannot be put back"),
        (
            {**OFF_RECORD, "conditions": {"steps_over": 2}},
            "before there is a plan",
        ),
        (
            {**OFF_RECORD, "conditions": {"expression": "plan.steps > 2"}},
            "before there is a plan",
        ),
    ],
)
def test_rules_that_come_too_late_are_refused(
    cast: Cast, rule: dict[str, Any], words: str
) -> None:
    error = fault(put(member(cast.alice), {**rule, "name": "R"}), 400)
    assert words in error["message"]


def test_the_form_makes_such_a_rule(cast: Cast) -> None:
    client = member(cast.alice).client
    values = {
        "name": "Nothing kept",
        "mode": "enforce",
        "effect": "redact",
        "kinds": ["iban"],
        "kept": "off_record",
        "version": "0",
    }
    assert client.post("/policy/rules/new/", values).status_code == 302
    assert member(cast.alice).get("policy/").json()["rules"] == [OFF_RECORD]
    page = client.get("/policy/rules/0/").content.decode()
    assert 'value="off_record"' in page
    listed = client.get("/policy/").content.decode()
    assert "show models placeholders for IBANs, and keep the values nowhere." in listed
