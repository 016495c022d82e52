"""Conditions in CEL: what they see, what is refused, and what denies in doubt."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.governance.policies.evaluation import PlanFacts, RunFacts, evaluate
from apps.governance.policies.expressions import SAMPLE
from apps.governance.policies.rules import PolicyDocument, SitePolicyDocument
from apps.governance.policies.sentences import sentence
from apps.governance.sensitive_data.classification import Classification
from tests.conftest import Cast, Site
from tests.governance.test_policies import ask, decisions, in_force, put, tag
from tests.rest.conftest import fault, member

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
TAGS = {"large": frozenset({"eu", "big"}), "small": frozenset({"us"})}
FACTS = RunFacts(
    role="member",
    member_id=uuid.UUID(int=7),
    key_id=None,
    tier="ultra",
    source="api",
    texts=("Pay 7 now",),
    worker_tags=TAGS,
    classification=Classification("confidential", {"iban": 2}),
)
PLAN = PlanFacts(("small", "large"), 250_000, ((), (0,)))


def document(expression: str, **effect: Any) -> PolicyDocument:
    rule = {
        "name": "E",
        "conditions": {"expression": expression},
        "effect": effect or {"kind": "deny"},
    }
    return values_read(PolicyDocument, {"rules": [rule]})


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("tier == 'ultra' && source == 'api'", True),
        ("role in ['owner', 'admin']", False),
        ("data_class == 'confidential' && 'iban' in findings", True),
        ("counts.iban > 2 || counts.card > 0", False),
        ("prompt_characters == 9", True),
        ("member_id.endsWith('7') && key_id == ''", True),
        ("plan.steps > 1 && plan.cost_usd > 0.2", True),
        ("plan.workers.exists(w, 'us' in tags[w])", True),
        ("plan.workers.all(w, 'eu' in tags[w])", False),
        ("'big' in plan.tags && size(plan.access[1]) == 1", True),
        ("'large' in tags && 'eu' in tags['large']", True),
    ],
)
def test_an_expression_sees_the_facts(expression: str, holds: bool) -> None:
    outcome = evaluate(document(expression), FACTS, PLAN, NOW)
    assert outcome.is_denied is holds
    assert ("could not be checked" in str(outcome.reasons)) is False


def test_an_expression_on_the_plan_waits_for_one() -> None:
    outcome = evaluate(document("plan.steps > 1"), FACTS, None, NOW)
    assert outcome.rules == []


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("tier ==", "not valid CEL"),
        ("nope == 1", "'nope', which is not known"),
        ("tier.matches('(a+)+')", "calls 'matches'"),
        ("prompt.contains('x')", "'prompt', which is not known"),
        ("tags.map(a, tags.map(b, a)) == []", "only once"),
        ("plan.steps", "gives int, not true or false"),
        ("findings > 2", "fails on an example"),
        ("counts.nope > 2", "there is no 'nope'"),
        ("(" * 600 + "true" + ")" * 600, "1000 characters"),
        ("!" * 900 + "true", ""),
        ("[" * 480 + "]" * 480 + " == []", ""),
    ],
)
def test_a_wrong_expression_is_refused(expression: str, words: str) -> None:
    with pytest.raises(InvalidFields) as caught:
        assert document(expression)
        raise InvalidFields({"x": [""]})  # deep, but harmless
    assert words in str(caught.value.fields)


@pytest.mark.parametrize("expression", ["plan.cost_usd > 1.0", "role == 'owner'"])
def test_what_is_not_known_denies_by_name(expression: str) -> None:
    unknown = RunFacts("", None, None, "ultra", "api", ("x",), TAGS)
    free = PlanFacts(("small",), None)
    outcome = evaluate(document(expression), unknown, free, NOW)
    assert outcome.is_denied
    assert "Rule 'E' could not be checked" in outcome.reasons[0]


def test_an_index_out_of_range_denies_by_name() -> None:
    found = document("size(plan.access[1]) > 0")
    outcome = evaluate(found, FACTS, PlanFacts(("small",), 1, ((),)), NOW)
    assert "could not be checked (index out of bounds" in outcome.reasons[0]


def test_documents_know_what_their_expressions_need() -> None:
    assert document("'iban' in findings").needs_classes
    assert document("counts.iban > 0").needs_classes
    assert document("role == 'owner'").needs_roles
    assert document("plan.steps > 1").rules[0].needs_plan
    plain = document("tier == 'mini'")
    assert not (plain.needs_classes or plain.needs_roles or plain.rules[0].needs_plan)
    words = "If “tier == 'mini'” is true: deny it."
    assert sentence(plain.rules[0], {}) == words


def test_a_site_policy_names_no_person() -> None:
    rule = {
        "name": "E",
        "conditions": {"expression": "member_id == 'x'"},
        "effect": {"kind": "deny"},
    }
    with pytest.raises(InvalidFields):
        values_read(SitePolicyDocument, {"rules": [rule]})


@given(
    st.lists(
        st.sampled_from(
            [
                *SAMPLE,
                "plan.steps",
                "tags['large']",
                "'x'",
                "1",
                "1.5",
                "true",
                "&&",
                "||",
                "==",
                "<",
                "+",
                "/",
                "%",
                "-",
                "in",
                "!",
                "?",
                ":",
                "(",
                ")",
                "[",
                "]",
                "{",
                "}",
                ".exists(x,",
                ".size()",
                "size(",
                "has(plan.x)",
                "9223372036854775807",
                "0",
                "null",
            ]
        ),
        max_size=12,
    )
)
def test_no_expression_crashes_a_check(parts: list[str]) -> None:
    try:
        found = document(" ".join(parts))
    except InvalidFields:
        return
    for plan in (None, PLAN, PlanFacts((), None)):
        outcome = evaluate(found, FACTS, plan, NOW)
        assert len(outcome.rules) <= 1


# --- over HTTP ------------------------------------------------------------------------


def test_a_run_meets_an_expression(site: Site) -> None:
    tag(site, "sim-delta", "eu")
    rule = {
        "name": "Ultra only in the EU",
        "conditions": {
            "expression": "tier == 'ultra' && "
            "plan.workers.exists(w, !('eu' in tags[w]))"
        },
        "effect": {"kind": "deny"},
    }
    in_force(site, rule)
    answer = ask(site, "What is 6 times 7?")
    assert answer.json()["error"]["code"] == "policy_denied"
    assert ask(site, "What is 6 times 7?", model="conductor-mini").status_code == 200
    assert ask(site, "?", model="worker/sim-delta").status_code == 200


def test_the_role_is_read_if_only_an_expression_needs_it(site: Site) -> None:
    rule = {
        "name": "No programs",
        "conditions": {"expression": "role == 'api_key'"},
        "effect": {"kind": "deny"},
    }
    in_force(site, rule)
    assert ask(site).json()["error"]["code"] == "policy_denied"
    assert decisions(site)[0].rules == ("team: No programs",)


def test_rest_names_the_place_of_a_wrong_expression(cast: Cast) -> None:
    rule = {
        "name": "E",
        "conditions": {"expression": "tier =="},
        "effect": {"kind": "deny"},
    }
    error = fault(put(member(cast.alice), rule), 400)
    assert error["message"].startswith("rules[0].conditions.expression: is not valid")


def test_the_form_takes_an_expression_and_shows_its_faults(cast: Cast) -> None:
    client = member(cast.alice).client
    values = {
        "name": "E",
        "mode": "enforce",
        "effect": "deny",
        "expression": "counts.nope > 1",
        "version": "0",
    }
    page = client.post("/policy/rules/new/", values).content.decode()
    assert "there is no &#x27;nope&#x27;" in page
    assert "counts.nope &gt; 1</textarea>" in page
    values["expression"] = "counts.iban > 1"
    assert client.post("/policy/rules/new/", values).status_code == 302
    page = client.get("/policy/").content.decode()
    assert "If “counts.iban &gt; 1” is true: deny it." in page
    page = client.get("/policy/rules/0/").content.decode()
    assert "counts.iban &gt; 1</textarea>" in page
