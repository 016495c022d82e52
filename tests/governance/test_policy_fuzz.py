"""No policy crashes a run: it completes, is denied by name, or is refused at save."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from apps.core.data_classes import DATA_CLASSES
from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.engine import events as ev
from apps.engine.errors import CallFailed, CallFault
from apps.engine.gate import ApprovalOutcome
from apps.engine.limits import Limits
from apps.engine.plan import Plan
from apps.engine.testing import ScriptedPlanner, make_plan
from apps.governance.policies.rules import PolicyDocument, SitePolicyDocument
from apps.governance.sensitive_data.detection import KINDS
from apps.governance.types import PolicyInForce
from tests.governance.policy_runs import (
    DENIED,
    KEY,
    ORDER,
    GivenPolicies,
    Ran,
    calls_after_refusal,
    run,
)

IBAN, CUSTOMER = "DE89 3704 0044 0532 0130 00", "K-123456"
PROMPTS = (
    "What is 6 times 7?",
    f"Pay {IBAN} for the customer {CUSTOMER}.",
    "Project Falcon: password: tr0ub4dor&3xK9q mail ann@example.org",
    "",
)
OWN = ("customer", "order_number")
PATTERNS = (r"K-\d{6}", "(?i)falcon", "x*", "(unclosed", "a" * 20)
EXPRESSIONS = (
    "tier == 'ultra'",
    "counts.iban > 0",
    "counts['customer'] > 0",
    "plan.workers[4] == 'a'",
    "plan.cost_usd > 0.0",
    "plan.workers.exists(w, 'us' in tags[w])",
    "tags['c'] == []",
    "role == 'api_key' && data_class != 'public'",
    "1 / (prompt_characters - prompt_characters) == 1",
    "size(findings)",
    "int(tier) > 0",
    "nonsense(",
)
TAGS = ("us", "EU", "region:us", "region:eu", "provider:openai", " ", "a:b:c")

texts = st.text(max_size=12)
tags = st.lists(st.one_of(st.sampled_from(TAGS), texts), max_size=3)
kinds = st.lists(st.sampled_from((*KINDS, *OWN, "nothing")), max_size=3)
counts = st.integers(-1, 6)
amounts = st.one_of(
    st.sampled_from(("0.000001", "0.00004", "1", "0", "-1", "NaN", "x")),
    st.floats(0, 1),
)


def some(*words: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(words), max_size=3)


hours = st.fixed_dictionaries(
    {
        "begin": st.sampled_from(("00:00", "22:00", "25:00", "noon")),
        "end": st.sampled_from(("00:00", "06:00", "23:59")),
    },
    optional={
        "days": some("mon", "sun", "someday"),
        "time_zone": st.sampled_from(("UTC", "Europe/Berlin", "Mars/Phobos", "../x")),
    },
)
CONDITIONS: dict[str, st.SearchStrategy[Any]] = {
    "roles": some("owner", "api_key", "nobody"),
    "member_ids": some(str(KEY), "me"),
    "key_ids": some(str(KEY), str(ORDER.team_id)),
    "tiers": some("mini", "ultra", "huge"),
    "sources": some("api", "rest", "mail"),
    "words": st.lists(st.one_of(st.just("times 7"), texts), max_size=3),
    "data_class": st.sampled_from((*DATA_CLASSES, "secret", None)),
    "contains": kinds,
    "hours": hours,
    "steps_over": counts,
    "plan_tags": tags,
    "cost_over_usd": amounts,
    "expression": st.one_of(st.sampled_from(EXPRESSIONS), texts),
}
LIMITS = ("max_steps", "max_rounds", "max_calls", "max_tokens")
EFFECTS: tuple[st.SearchStrategy[dict[str, Any]], ...] = (
    st.just({"kind": "deny"}),
    st.just({"kind": "allow"}),
    st.just({"kind": "no_conductor"}),
    st.just({"kind": "teleport"}),
    st.fixed_dictionaries({"kind": st.just("only_workers"), "tags": tags}),
    st.fixed_dictionaries({"kind": st.just("no_workers"), "tags": tags}),
    st.fixed_dictionaries(
        {"kind": st.just("limit")},
        optional={"max_cost_usd": amounts, **dict.fromkeys(LIMITS, counts)},
    ),
    st.fixed_dictionaries(
        {"kind": st.just("require_approval")},
        optional={"approvers": st.integers(0, 3), "hours": st.integers(0, 800)},
    ),
    st.fixed_dictionaries(
        {"kind": st.just("redact")},
        optional={
            "kinds": kinds,
            "restore": st.booleans(),
            "off_record": st.booleans(),
        },
    ),
)
rules = st.fixed_dictionaries(
    {
        "name": st.one_of(st.sampled_from(("R", "S", "T", "U")), texts),
        "effect": st.one_of(EFFECTS),
    },
    optional={
        "mode": st.sampled_from(("enforce", "enforce", "shadow", "off", "loud")),
        # Each condition narrows: of many, none would ever hold.
        "conditions": st.dictionaries(
            st.sampled_from(sorted(CONDITIONS)), st.none(), max_size=2
        ).flatmap(lambda d: st.fixed_dictionaries({n: CONDITIONS[n] for n in d})),
    },
)
patterns = st.fixed_dictionaries(
    {
        "name": st.sampled_from((*OWN, "iban", "Bad")),
        "pattern": st.sampled_from(PATTERNS),
    }
)
documents = st.fixed_dictionaries(
    {"rules": st.lists(rules, max_size=4)},
    optional={"patterns": st.lists(patterns, max_size=2)},
)
plans = st.sampled_from(
    (
        make_plan(("a", ()), ("c", (0,))),
        make_plan(("b", ())),
        make_plan(("b", ()), ("a", ()), ("c", (0, 1)), ("b", (2,))),
    )
)
outcomes = st.sampled_from(
    (
        ApprovalOutcome("approved", ("Alice",)),
        ApprovalOutcome("approved", ("Alice",), make_plan(("a", ()))),
        ApprovalOutcome("refused", ("Alice",), reason="no"),
        ApprovalOutcome("expired"),
    )
)


def saved(shape: type[PolicyDocument], values: dict[str, Any]) -> PolicyDocument:
    """Return a policy of what can be saved, as it would be stored and read."""
    kept: dict[str, Any] = {"patterns": [], "rules": []}
    for part in kept:
        for each in values.get(part, ()):
            more = {**kept, part: [*kept[part], each]}
            with suppress(InvalidFields):
                values_read(shape, more)
                kept = more
    return PolicyDocument.model_validate(values_read(shape, kept).values())


def is_named(why: str, policies: tuple[PolicyInForce, ...]) -> bool:
    """Say whether a reason names a rule, and the policy that it is of."""
    return any(
        policy.place in why and repr(rule.name) in why
        for policy in policies
        for rule in policy.document.rules
    )


def ended_well(ran: Ran, policies: tuple[PolicyInForce, ...]) -> None:
    """Require that a run completed, met a limit, or was denied by name."""
    if ran.end is None:
        assert is_named(ran.refusal, policies), ran.refusal
        assert ran.client.calls == []
        return
    if isinstance(ran.end, ev.RunCompleted):
        return
    assert isinstance(ran.end, ev.RunFailed)
    event(ran.end.code)
    if ran.end.code in DENIED:
        denials = [each for each in ran.of(ev.PolicyDecided) if each.rules]
        assert denials, ran.end.message
        assert ran.end.code != "policy_denied" or is_named(ran.end.message, policies)
        return
    limited = any(each.limits for each in ran.of(ev.PolicyDecided))
    assert limited, (ran.end.code, ran.end.message)


@settings(max_examples=300, deadline=None)
@given(shape=st.sampled_from((PolicyDocument, SitePolicyDocument)), values=documents)
def test_a_policy_is_saved_or_refused(
    shape: type[PolicyDocument], values: dict[str, Any]
) -> None:
    try:
        document = values_read(shape, values)
    except InvalidFields as refused:
        assert all(refused.fields.values())
    else:
        assert PolicyDocument.model_validate(document.values()).rules == document.rules


@settings(max_examples=400, deadline=None)
@given(
    site=documents.map(lambda values: saved(SitePolicyDocument, values)),
    team=documents.map(lambda values: saved(PolicyDocument, values)),
    prompt=st.sampled_from(PROMPTS),
    plan=plans,
    decides=outcomes,
    fails=st.sampled_from(("", "a", "c")),
)
def test_no_policy_crashes_a_run(
    site: PolicyDocument,
    team: PolicyDocument,
    prompt: str,
    plan: Plan,
    decides: ApprovalOutcome,
    fails: str,
) -> None:
    policies = (PolicyInForce("site", 3, site), PolicyInForce("team", 3, team))

    def answer(call: Any, number: int) -> str | CallFailed:
        if call.worker == fails and not number:
            return CallFailed(CallFault.SERVER_ERROR, "for a test")
        return f"{call.worker} says {number}"

    ran = run(
        GivenPolicies(policies, decides),
        ScriptedPlanner(plan, asks=True),
        answer,
        order=replace(ORDER, prompt=prompt),
        limits=Limits(max_rounds=2),
    )
    ended_well(ran, policies)
    assert calls_after_refusal(ran.events) == []
    if any("iban" in each.redacts for each in ran.of(ev.PolicyDecided)[:1]):
        assert not any(IBAN in str(call.messages) for call in ran.client.calls)
