"""Kinds of sensitive data that a policy defines itself, over REST and on pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.governance.selectors import policy_newest
from apps.governance.sensitive_data.classification import classify
from apps.governance.sensitive_data.own_patterns import OwnPattern
from apps.governance.sensitive_data.redaction import Redactor
from tests.conftest import Cast, Site
from tests.governance.test_data_classes import sent
from tests.governance.test_policies import ask, decisions, last_events
from tests.rest.conftest import fault, member

CUSTOMER = {"name": "customer_number", "pattern": r"\bK-\d{6}\b"}
PROMPT = "Reverse the word 'orchestra' for K-123456 and K-777777."
REDACT = {
    "name": "No customers",
    "effect": {"kind": "redact", "kinds": ["customer_number"]},
}
DENY = {
    "name": "No customers",
    "conditions": {"contains": ["customer_number"]},
    "effect": {"kind": "deny"},
}


def put_both(cast: Cast, rules: list[Any], patterns: list[Any]) -> Any:
    values = {"rules": rules, "patterns": patterns}
    return member(cast.alice).put("policy/", values, if_match="*")


def test_a_rule_finds_what_only_the_team_has(site: Site) -> None:
    assert put_both(site.cast, [DENY], [CUSTOMER]).status_code == 200
    assert ask(site, PROMPT).json()["error"]["code"] == "policy_denied"
    decision = decisions(site)[0]
    assert decision.findings == {"customer_number": 2}
    assert decision.data_class == "confidential"
    assert ask(site, "What is 6 times 7?").status_code == 200


def test_no_model_sees_it_and_the_answer_has_it_again(site: Site) -> None:
    site.add_worker("echo")
    assert put_both(site.cast, [REDACT], [CUSTOMER]).status_code == 200
    answer = ask(site, PROMPT, model="worker/echo")
    assert "K-123456" not in sent(last_events(site))
    assert "[CUSTOMER_NUMBER_2]" in sent(last_events(site))
    assert "K-777777" in answer.json()["choices"][0]["message"]["content"]


def test_all_kinds_are_the_own_ones_too(site: Site) -> None:
    every = {"name": "R", "effect": {"kind": "redact"}}
    assert put_both(site.cast, [every], [CUSTOMER]).status_code == 200
    assert ask(site, PROMPT).status_code == 200
    assert decisions(site)[0].redacts == ("customer_number",)


def test_patterns_are_read_back_and_are_part_of_a_version(cast: Cast) -> None:
    alice = member(cast.alice)
    assert put_both(cast, [DENY], [CUSTOMER]).status_code == 200
    assert alice.get("policy/").json()["patterns"] == [CUSTOMER]
    assert put_both(cast, [], []).json()["patterns"] == []
    assert alice.get("policy/versions/1/").json()["patterns"] == [CUSTOMER]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ({"name": "Customer", "pattern": "x"}, "lower-case letters"),
        ({"name": "iban", "pattern": "x"}, "built in"),
        ({"name": "a", "pattern": "("}, "missing )"),
        ({"name": "a", "pattern": "x*"}, "empty text"),
        ({"name": "a", "pattern": "(?=x)y"}, "invalid perl operator"),
        ({"name": "a", "pattern": "((x{1000}){1000})"}, "not a valid pattern"),
        ({"name": "a", "pattern": "[\\p{L}\\p{N}]{900}"}, "too large"),
        ({"name": "a", "pattern": "x" * 501}, "500"),
        ({"name": "a", "pattern": "x", "data_class": "top"}, "restricted"),
    ],
)
def test_a_wrong_pattern_is_refused(cast: Cast, pattern: Any, words: str) -> None:
    error = fault(put_both(cast, [], [pattern]), 400)
    assert words in error["message"]
    assert policy_newest(cast.team.id) is None


def test_a_rule_names_no_unknown_kind(cast: Cast) -> None:
    for rule in (DENY, REDACT):
        error = fault(put_both(cast, [rule], []), 400)
        assert "names the kind 'customer_number'" in error["message"]
    error = fault(put_both(cast, [], [CUSTOMER, CUSTOMER]), 400)
    assert "two patterns are named" in error["message"]


def test_a_pattern_hides_nothing_that_is_built_in() -> None:
    everything = OwnPattern(name="a", pattern=".+", data_class="public")
    text = "Pay DE89 3704 0044 0532 0130 00."
    found = classify((text,), (), (everything,))
    assert found.data_class == "confidential"
    assert found.findings == {"iban": 1, "a": 1}


def test_findings_that_overlap_leave_no_part_behind() -> None:
    redactor = Redactor(())
    redactor.patterns = (OwnPattern(name="order", pattern=r"order \S+"),)
    text = "Mail order ana@example.org/77 soon"
    redacted = redactor.redact(text, ("email", "order"))
    assert redacted == "Mail [ORDER_1] soon"
    assert redactor.restore(redacted) == text


def test_a_hostile_pattern_takes_linear_time() -> None:
    pattern = OwnPattern(name="slow", pattern="(a+)+$x|(a|aa)+b")
    assert list(pattern.findings("a" * 1_000_000)) == []


# --- pages ----------------------------------------------------------------------------


def page_of(client: Client, path: str, **values: str) -> str:
    response = client.post(path, values) if values else client.get(path)
    return response.content.decode()


def test_owners_try_add_and_delete_a_kind(cast: Cast) -> None:
    client = member(cast.alice).client
    new = {**CUSTOMER, "data_class": "restricted", "version": "0"}
    tried = page_of(
        client, "/policy/new-pattern/", **new, sample="for K-123456!", **{"try": "1"}
    )
    assert "It finds 1:" in tried
    assert '<code dir="auto">K-123456</code>' in tried
    assert policy_newest(cast.team.id) is None
    assert client.post("/policy/new-pattern/", new).status_code == 302
    page = page_of(client, "/policy/")
    assert "customer_number" in page
    rule = page_of(client, "/policy/rules/new/")
    assert "“customer_number”" in rule
    changed = {**new, "pattern": "C-[0-9]+", "version": "1"}
    path = "/policy/patterns/customer_number/"
    assert client.post(path, changed).status_code == 302
    assert "C-[0-9]+" in page_of(client, "/policy/")
    assert client.post(f"{path}delete/", {"version": "2"}).status_code == 302
    assert "There are none." in page_of(client, "/policy/")
    assert client.get(path).status_code == 404


def test_a_kind_in_use_is_not_deleted(cast: Cast) -> None:
    put_both(cast, [DENY], [CUSTOMER])
    client = member(cast.alice).client
    path = "/policy/patterns/customer_number/delete/"
    response = client.post(path, {"version": "1"}, follow=True)
    page = response.content.decode()
    assert "names the kind" in page
    newest = policy_newest(cast.team.id)
    assert newest is not None
    assert newest.version == 1


def test_changes_of_rules_keep_the_patterns(cast: Cast) -> None:
    put_both(cast, [DENY, REDACT | {"name": "R"}], [CUSTOMER])
    client = member(cast.alice).client
    client.post("/policy/rules/1/move/", {"version": "1"})
    client.post("/policy/examples/")
    client.post("/policy/rules/0/delete/", {"version": "3"})
    newest = policy_newest(cast.team.id)
    assert newest is not None
    assert newest.version == 4
    assert newest.document["patterns"] == [CUSTOMER]


def test_a_wrong_pattern_stays_in_the_form(cast: Cast) -> None:
    client = member(cast.alice).client
    bad = {"name": "a", "pattern": "(", "data_class": "public", "version": "0"}
    page = page_of(client, "/policy/new-pattern/", **bad)
    assert "Is not a valid pattern of RE2" in page
    assert 'value="("' in page
