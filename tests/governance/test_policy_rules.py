"""Rules of policies: their shape, their order, their conditions and effects."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.governance.policies.evaluation import (
    PlanFacts,
    PolicyOutcome,
    RunFacts,
    evaluate,
)
from apps.governance.policies.rules import MAX_RULES, PolicyDocument, Rule
from apps.governance.policies.sentences import sentence

ALICE, BOT = uuid.UUID(int=1), uuid.UUID(int=2)
MONDAY_NOON = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
TAGS = {
    "frank": frozenset({"eu", "open-weight"}),
    "sam": frozenset({"us"}),
    "plain": frozenset[str](),
}


def rule(
    effect: dict[str, Any] | str, name: str = "R", **values: Any
) -> dict[str, Any]:
    made = {"kind": effect} if isinstance(effect, str) else effect
    mode = {"mode": values.pop("mode")} if "mode" in values else {}
    return {"name": name, "effect": made, "conditions": values, **mode}


def document(*rules: dict[str, Any]) -> PolicyDocument:
    return values_read(PolicyDocument, {"rules": list(rules)})


def facts(**values: Any) -> RunFacts:
    given: dict[str, Any] = {
        "role": "member",
        "member_id": ALICE,
        "key_id": None,
        "tier": "ultra",
        "source": "playground",
        "texts": ("What does Project Falcon cost?",),
        "worker_tags": TAGS,
        **values,
    }
    return RunFacts(**given)


def outcome(
    *rules: dict[str, Any],
    plan: PlanFacts | None = None,
    now: datetime = MONDAY_NOON,
    **values: Any,
) -> PolicyOutcome:
    return evaluate(document(*rules), facts(**values), plan, now)


def test_without_rules_everything_is_allowed():
    assert outcome() == PolicyOutcome()


def test_a_rule_without_conditions_always_applies():
    found = outcome(rule("deny"))
    assert (found.is_denied, found.rules) == (True, ["R"])


@pytest.mark.parametrize(
    ("conditions", "is_met"),
    [
        ({"roles": ["member"]}, True),
        ({"roles": ["admin", "owner"]}, False),
        ({"member_ids": [str(ALICE)]}, True),
        ({"member_ids": [str(BOT)]}, False),
        ({"key_ids": [str(BOT)]}, False),
        ({"tiers": ["ultra"]}, True),
        ({"tiers": ["mini", "direct"]}, False),
        ({"sources": ["api", "rest"]}, False),
        ({"words": ["project falcon"]}, True),
        ({"words": ["PROJECT FALCON", "eagle"]}, True),
        ({"words": ["falc"]}, False),
        ({"words": ["what.does"]}, False),
        ({"words": ["cost?"]}, True),
        ({"words": ["ost?"]}, False),
        ({"words": ["falcon c"]}, False),
        ({"roles": ["member"], "tiers": ["mini"]}, False),
    ],
)
def test_all_given_conditions_must_hold(conditions, is_met):
    assert outcome(rule("deny", **conditions)).is_denied is is_met


def test_words_are_found_in_any_compatible_form():
    assert outcome(rule("deny", words=["IBAN"]), texts=("my ｉｂａｎ is",)).is_denied


def test_a_word_that_ends_in_punctuation_needs_no_end_of_word():
    found = outcome(rule("deny", words=["password:"]), texts=("password:hunter2",))
    assert found.is_denied


def test_a_member_is_not_meant_by_the_runs_of_their_key():
    by_key: dict[str, Any] = {"key_id": BOT, "role": "api_key"}
    assert not outcome(rule("deny", member_ids=[str(ALICE)]), **by_key).is_denied
    assert outcome(rule("deny", key_ids=[str(BOT)]), **by_key).is_denied
    assert outcome(rule("deny", roles=["api_key"]), **by_key).is_denied


@pytest.mark.parametrize(
    ("hours", "is_met"),
    [
        ({"begin": "09:00", "end": "17:00"}, True),
        ({"begin": "12:00", "end": "12:01"}, True),
        ({"begin": "09:00", "end": "12:00"}, False),
        ({"begin": "09:00", "end": "17:00", "days": ["tue"]}, False),
        ({"begin": "22:00", "end": "12:30"}, True),
        ({"begin": "22:00", "end": "12:30", "days": ["sun"]}, True),
        ({"begin": "22:00", "end": "12:30", "days": ["mon"]}, False),
        ({"begin": "13:30", "end": "14:00", "time_zone": "Europe/Berlin"}, False),
        ({"begin": "13:00", "end": "14:00", "time_zone": "Europe/Berlin"}, True),
    ],
)
def test_hours_are_those_of_their_time_zone(hours, is_met):
    assert outcome(rule("deny", hours=hours)).is_denied is is_met


@pytest.mark.parametrize(
    ("conditions", "is_met"),
    [
        ({"steps_over": 1}, True),
        ({"steps_over": 2}, False),
        ({"plan_tags": ["US"]}, True),
        ({"plan_tags": ["open-weight"]}, False),
        ({"cost_over_usd": "0.5"}, True),
        ({"cost_over_usd": "1"}, False),
    ],
)
def test_conditions_on_the_plan(conditions, is_met):
    plan = PlanFacts(("sam", "plain"), 1_000_000)
    assert outcome(rule("deny", **conditions), plan=plan).is_denied is is_met
    assert not outcome(rule("deny", **conditions)).rules  # there is no plan yet


def test_an_unknown_price_denies_by_name():
    plan = PlanFacts(("sam",), None)
    found = outcome(rule("allow", cost_over_usd="1", name="Dear"), plan=plan)
    assert found.is_denied
    assert "'Dear' could not be checked (the price" in found.reasons[0]


def test_an_unknown_role_denies_by_name():
    found = outcome(rule("allow", roles=["owner"], name="Boss"), role="")
    assert found.is_denied
    assert "'Boss'" in found.reasons[0]


def test_only_workers_excludes_workers_without_the_tag():
    found = outcome(rule({"kind": "only_workers", "tags": ["EU"]}))
    assert found.refused_workers == {"sam", "plain"}


def test_no_workers_excludes_workers_with_the_tag():
    found = outcome(rule({"kind": "no_workers", "tags": ["us", "cn"]}))
    assert found.refused_workers == {"sam"}


def test_effects_add_up_and_the_lowest_limit_wins():
    found = outcome(
        rule({"kind": "limit", "max_steps": 3, "max_cost_usd": "0.05"}, name="A"),
        rule({"kind": "limit", "max_steps": 2, "max_tokens": 900}, name="B"),
        rule({"kind": "no_workers", "tags": ["us"]}, name="C"),
    )
    assert found.rules == ["A", "B", "C"]
    assert found.limits == {
        "max_steps": 2,
        "max_cost_micros": 50_000,
        "max_tokens": 900,
    }
    assert found.refused_workers == {"sam"}


def test_an_allow_rule_ends_the_check():
    exception = rule("allow", name="Admins may", roles=["admin"])
    deny = rule("deny", name="Deny")
    assert outcome(exception, deny, role="admin").rules == ["Admins may"]
    assert outcome(exception, deny, role="member").is_denied


def test_a_rule_in_shadow_mode_is_only_noted():
    found = outcome(rule("deny", mode="shadow"), rule("deny", mode="off", name="O"))
    assert found == PolicyOutcome(shadow_rules=["R"])


def test_no_conductor_makes_the_fallback_plan_at_once():
    assert outcome(rule("no_conductor")).limits["max_plan_attempts"] == 0


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"name": "", "effect": {"kind": "deny"}}, "rules[0].name"),
        ({"name": "R"}, "rules[0].effect"),
        ({"name": "R", "effect": {"kind": "explode"}}, "rules[0].effect"),
        ({"name": "R", "effect": {"kind": "limit"}}, "rules[0].effect.limit"),
        (
            {"name": "R", "effect": {"kind": "only_workers", "tags": []}},
            "rules[0].effect.only_workers.tags",
        ),
        (rule("deny", tiers=["huge"]), "rules[0].conditions.tiers[0]"),
        (rule("deny", colour="red"), "rules[0].conditions.colour"),
        (
            rule("deny", hours={"begin": "9", "end": "25:00"}),
            "rules[0].conditions.hours.begin",
        ),
        (
            rule("deny", hours={"begin": "09:00", "end": "10:00", "time_zone": "Mars"}),
            "rules[0].conditions.hours.time_zone",
        ),
        (rule("deny", cost_over_usd="-1"), "rules[0].conditions.cost_over_usd"),
    ],
)
def test_a_wrong_rule_is_refused_by_field(values, field):
    with pytest.raises(InvalidFields) as caught:
        values_read(PolicyDocument, {"rules": [values]})
    assert field in caught.value.fields


def test_two_rules_have_two_names():
    with pytest.raises(InvalidFields, match="rules"):
        document(rule("deny", name="One"), rule("allow", name="one"))


def test_there_are_at_most_a_hundred_rules():
    rules = [rule("deny", name=f"R{i}") for i in range(MAX_RULES + 1)]
    with pytest.raises(InvalidFields):
        document(*rules)


def test_a_document_survives_its_json():
    made = document(
        rule({"kind": "limit", "max_cost_usd": "0.05"}, words=["a"], steps_over=2)
    )
    assert values_read(PolicyDocument, made.values()) == made


words = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20
)


@given(
    st.lists(words, min_size=1, max_size=5),
    st.text(max_size=200),
    st.sampled_from(["deny", "allow", "no_conductor"]),
)
def test_no_rule_and_no_prompt_crash_the_check(wanted, prompt, effect):
    found = outcome(rule(effect, words=wanted), texts=(prompt,))
    assert found.rules in ([], ["R"])


@pytest.mark.parametrize(
    ("given_rule", "words"),
    [
        (rule("deny"), "For every run: deny it."),
        (
            rule({"kind": "only_workers", "tags": ["eu"]}, words=["Falcon", "IBAN"]),
            "If the prompt contains “Falcon” or “IBAN”: use only workers tagged “eu”.",
        ),
        (
            rule(
                {"kind": "limit", "max_steps": 3, "max_cost_usd": "0.05"},
                roles=["member", "api_key"],
                tiers=["ultra"],
            ),
            "If a member or an API key starts the run and the tier is ultra: allow at "
            "most 3 steps a plan and $0.05.",
        ),
        (
            rule("deny", member_ids=[str(ALICE), str(BOT)], steps_over=4),
            "If Alice or someone who has left starts the run and the plan has more "
            "than 4 steps: deny it.",
        ),
        (
            rule("deny", hours={"begin": "18:00", "end": "08:00", "days": ["sat"]}),
            "If it is 18:00 to 08:00 on Saturday (UTC): deny it.",
        ),
    ],
)
def test_rules_read_as_sentences(given_rule, words):
    assert sentence(values_read(Rule, given_rule), {ALICE: "Alice"}) == words


# --- tags of a kind ------------------------------------------------------------------

REGIONS = {
    "frank": frozenset({"Region:EU", "open-weight"}),
    "sam": frozenset({"region:us"}),
    "plain": frozenset({"us"}),
}
NO_US: dict[str, Any] = {"kind": "no_workers", "tags": ["region:us"]}


def test_no_workers_excludes_who_states_nothing_of_the_kind_by_name():
    found = outcome(rule(NO_US), worker_tags=REGIONS)
    assert found.refused_workers == {"sam", "plain"}
    assert found.reasons == [
        "Rule 'R' says: use no worker tagged “region:us”, nor one without a tag "
        "“region:…” (so not 'plain')"
    ]


def test_a_kind_that_all_state_excludes_only_who_has_the_tag():
    stated = {**REGIONS, "plain": frozenset({"region:ch"})}
    found = outcome(rule(NO_US), worker_tags=stated)
    assert found.refused_workers == {"sam"}
    assert "so not" not in found.reasons[0]


def test_only_workers_excludes_who_states_another_tag_of_the_kind_or_none():
    effect = {"kind": "only_workers", "tags": ["REGION:eu"]}
    found = outcome(rule(effect), worker_tags=REGIONS)
    assert found.refused_workers == {"sam", "plain"}


@pytest.mark.parametrize("effect", ["deny", "allow", "no_conductor"])
def test_a_plan_with_a_worker_that_states_nothing_is_denied_by_name(effect: str):
    in_doubt = rule(effect, plan_tags=["region:us"])
    plan = PlanFacts(("frank", "plain"), 0)
    found = outcome(in_doubt, plan=plan, worker_tags=REGIONS)
    assert found.is_denied
    assert found.reasons == [
        "Rule 'R' could not be checked (worker 'plain' has no tag region:…)"
    ]


@pytest.mark.parametrize(
    ("workers", "tags", "is_met"),
    [
        (("frank",), ["region:us"], False),
        (("plain", "sam"), ["region:us"], True),  # one is known, so there is no doubt
        (("plain",), ["us", "region:us"], True),
        (("frank",), ["us"], False),
    ],
)
def test_a_plan_whose_workers_are_known_is_not_in_doubt(
    workers: tuple[str, ...], tags: list[str], is_met: bool
):
    found = outcome(
        rule("deny", plan_tags=tags), plan=PlanFacts(workers, 0), worker_tags=REGIONS
    )
    assert found.is_denied == is_met
    assert not any("could not be checked" in reason for reason in found.reasons)


def test_every_worker_states_its_provider_so_the_sentence_names_no_doubt():
    effect = {"kind": "no_workers", "tags": ["provider:openai"]}
    (made,) = document(rule(effect)).rules
    assert sentence(made, {}) == (
        "For every run: use no worker tagged “provider:openai”."
    )
