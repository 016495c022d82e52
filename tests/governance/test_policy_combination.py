"""What the site's policy and the team's come to together."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apps.governance.policies.combination import evaluate_all
from apps.governance.policies.evaluation import PlanFacts, PolicyOutcome, evaluate
from apps.governance.sensitive_data.classification import Classification
from apps.governance.types import PolicyInForce
from tests.governance.test_policy_rules import MONDAY_NOON, document, facts, rule

PLAN = PlanFacts(("frank",), 1_000)
FOUND = Classification("internal", {"email": 1})
APPROVE: dict[str, Any] = {"kind": "require_approval"}
REDACT: dict[str, Any] = {"kind": "redact"}
EFFECTS: list[dict[str, Any]] = [
    {"kind": "deny"},
    {"kind": "allow"},
    {"kind": "no_conductor"},
    {"kind": "only_workers", "tags": ["eu"]},
    {"kind": "no_workers", "tags": ["us"]},
    {"kind": "limit", "max_steps": 2, "max_cost_usd": "1"},
    {"kind": "limit", "max_steps": 5},
    {**APPROVE, "hours": 4},
    {**APPROVE, "approvers": 2},
    {**REDACT, "kinds": ["email"], "restore": False},
    {**REDACT, "kinds": ["iban"]},
]


def both(site: list[dict[str, Any]], team: list[dict[str, Any]]) -> PolicyOutcome:
    policies = (
        PolicyInForce("site", 2, document(*site)),
        PolicyInForce("team", 7, document(*team)),
    )
    return evaluate_all(policies, facts(classification=FOUND), PLAN, MONDAY_NOON)


def test_the_lower_limit_counts_whose_ever_it_is() -> None:
    low, high = ({"kind": "limit", "max_steps": most} for most in (2, 5))
    cost = {"kind": "limit", "max_cost_usd": "1"}
    found = both([rule(low), rule(cost, "C")], [rule(high)])
    assert found.limits == {"max_steps": 2, "max_cost_micros": 1_000_000}
    assert both([rule(high)], [rule(low)]).limits == {"max_steps": 2}


def test_the_stricter_approval_counts() -> None:
    pair, quick = {**APPROVE, "approvers": 2, "hours": 72}, {**APPROVE, "hours": 4}
    for found in (both([rule(pair)], [rule(quick)]), both([rule(quick)], [rule(pair)])):
        assert (found.approvals_needed, found.approval_hours) == (2, 4)
    alone = both([rule(quick)], [rule("allow")])
    assert (alone.approvals_needed, alone.approval_hours) == (1, 4)


def test_what_one_policy_keeps_redacted_is_not_put_back() -> None:
    kept = {**REDACT, "kinds": ["email"], "restore": False}
    found = both([rule(kept)], [rule({**REDACT, "kinds": ["iban"]})])
    assert (found.redacts, found.restores) == ({"email", "iban"}, False)


def test_reasons_and_rules_name_their_policy_and_its_version() -> None:
    found = both([rule("deny", "A")], [rule("no_conductor", "B"), rule("deny", "C")])
    assert found.rules == ["site: A", "team: B", "team: C"]
    first, second = found.reasons
    assert first == "Rule 'A' says: deny it (site policy, version 2)"
    assert second.startswith("Rule 'B' says: ")
    assert second.endswith("Rule 'C' says: deny it (team policy, version 7)")


def test_a_site_rule_that_cannot_be_checked_denies_by_name() -> None:
    policies = [PolicyInForce("site", 1, document(rule("deny", roles=["owner"])))]
    found = evaluate_all(policies, facts(role=""), None, MONDAY_NOON)
    assert found.is_denied
    assert "'R' could not be checked" in found.reasons[0]
    assert found.reasons[0].endswith("(site policy, version 1)")


_rules = st.lists(st.sampled_from(EFFECTS), max_size=4).map(
    lambda effects: [rule(each, f"R{n}") for n, each in enumerate(effects)]
)


@given(site=_rules, team=_rules)
def test_no_team_lifts_what_the_site_takes_away(
    site: list[dict[str, Any]], team: list[dict[str, Any]]
) -> None:
    known = facts(classification=FOUND)
    alone = evaluate(document(*site), known, PLAN, MONDAY_NOON)
    found = both(site, team)
    assert found.is_denied >= alone.is_denied
    assert found.refused_workers >= alone.refused_workers
    assert found.redacts >= alone.redacts
    assert found.restores <= alone.restores
    assert found.approvals_needed >= alone.approvals_needed
    assert all(found.limits[name] <= most for name, most in alone.limits.items())
    if alone.approval_hours:
        assert found.approval_hours <= alone.approval_hours
