"""Checks a policy's rules against the facts of a run, and of its plan.

Rules are checked in order. A matching `allow` rule ends the check; every other matching
rule takes something away, and a denial takes all. It fails closed: a rule that cannot
be checked denies the run by name. Pure: knows no database.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import cel

from apps.core.data_classes import is_at_least
from apps.governance.policies.expressions import (
    OF_PLAN,
    ExpressionFault,
    expression_holds,
)
from apps.governance.policies.rules import (
    DAYS,
    MICROS,
    Conditions,
    Effect,
    Hours,
    PolicyDocument,
    Rule,
)
from apps.governance.policies.sentences import effect_words
from apps.governance.policies.words import contains_word
from apps.governance.policies.worker_tags import has_one, not_stated
from apps.governance.sensitive_data.classification import Classification
from apps.governance.sensitive_data.detection import KINDS
from apps.governance.sensitive_data.plain_form import plain_words

logger = logging.getLogger(__name__)
WITHOUT_CONDUCTOR = {"max_plan_attempts": 0, "max_replans": 0, "max_rounds": 1}
"""Limits under which the engine makes the fallback plan at once."""


class CannotBeChecked(Exception):
    """A rule needs a fact that is not known. The text says which."""


@dataclass(frozen=True)
class RunFacts:
    """What is known of a run before it has a plan."""

    role: str
    """Of the member who started it; `api_key` for a program; empty: unknown."""
    member_id: uuid.UUID | None
    key_id: uuid.UUID | None
    tier: str
    source: str
    texts: tuple[str, ...]
    """The prompt and the messages it came with."""
    worker_tags: Mapping[str, frozenset[str]]
    """Of every worker of the pool, by name."""
    kinds: tuple[str, ...] = KINDS
    """Kinds of sensitive data that the prompt was searched for."""
    classification: Classification | None = None
    """None: nobody has looked, as no rule depends on it."""

    @cached_property
    def _searchable(self) -> str:
        return "\n".join(plain_words(text) for text in self.texts)

    @cached_property
    def _found(self) -> dict[tuple[str, ...], bool]:
        return {}

    def has_word(self, words: tuple[str, ...]) -> bool:
        """Say whether the texts contain one of these words; each list is read once."""
        if words not in self._found:
            text = self._searchable
            found = any(contains_word(text, plain_words(word)) for word in words)
            self._found[words] = found
        return self._found[words]

    @cached_property
    def _contexts(self) -> dict[PlanFacts | None, cel.Context]:
        return {}

    def context(self, plan: PlanFacts | None) -> cel.Context:
        """Return what expressions see: `expressions.SAMPLE` names it all.

        What is not known is left out, so an expression that needs it cannot be checked.
        """
        if plan not in self._contexts:
            self._contexts[plan] = cel.Context(self._variables(plan))
        return self._contexts[plan]

    def _variables(self, plan: PlanFacts | None) -> dict[str, Any]:
        known: dict[str, Any] = {
            "member_id": str(self.member_id or ""),
            "key_id": str(self.key_id or ""),
            "tier": self.tier,
            "source": self.source,
            "prompt_characters": sum(len(text) for text in self.texts),
            "tags": {name: sorted(tags) for name, tags in self.worker_tags.items()},
        }
        if self.role:
            known["role"] = self.role
        if self.classification is not None:
            findings = self.classification.findings
            known["data_class"] = self.classification.data_class
            known["findings"] = list(findings)
            known["counts"] = dict.fromkeys(self.kinds, 0) | dict(findings)
        if plan is not None:
            known[OF_PLAN] = plan.variables(self.worker_tags)
        return known


@dataclass(frozen=True)
class PlanFacts:
    """What is known of a plan."""

    workers: tuple[str, ...]
    """Of each step."""
    cost_micros: int | None
    """Estimated. None: the price of a worker is unknown."""
    access: tuple[tuple[int, ...], ...] = ()
    """Of each step: the steps whose results it sees, by their places."""

    def variables(self, tags: Mapping[str, frozenset[str]]) -> dict[str, Any]:
        """Return what expressions see of it; `tags` are of the workers, by name."""
        known: dict[str, Any] = {
            "steps": len(self.workers),
            "workers": list(self.workers),
            "access": [list(places) for places in self.access],
            "tags": sorted(
                {tag for name in self.workers for tag in tags.get(name, ())}
            ),
        }
        if self.cost_micros is not None:
            known["cost_usd"] = self.cost_micros / MICROS
        return known


@dataclass
class PolicyOutcome:
    """What the rules of a policy come to."""

    rules: list[str] = field(default_factory=list)
    """Names of the rules that applied, in order."""
    shadow_rules: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why something was taken away, in words; as many as rules that did."""
    is_denied: bool = False
    refused_workers: set[str] = field(default_factory=set)
    limits: dict[str, int] = field(default_factory=dict)
    approvals_needed: int = 0
    """How many people must approve a plan."""
    approval_hours: int = 0
    """How long they may take; the shortest of all rules. 0: nobody must."""
    redacts: set[str] = field(default_factory=set)
    """Kinds of sensitive data that no model may see."""
    off_record: set[str] = field(default_factory=set)
    """Those of them that the record may not have either."""
    restores: bool = True
    """False: a rule says that what is redacted is not put back into the answer."""


def evaluate(
    document: PolicyDocument,
    facts: RunFacts,
    plan: PlanFacts | None,
    now: datetime,
    *,
    is_approved: bool = False,
) -> PolicyOutcome:
    """Return what the rules come to. Never raises.

    `plan` None: rules that need one do not apply yet. `now` is aware of its time zone.
    `is_approved`: people have approved the plan, so no rule holds it back.
    """
    outcome = PolicyOutcome()
    for rule in document.rules:
        if rule.mode == "off" or (rule.needs_plan and plan is None):
            continue
        if is_approved and rule.effect.kind == "require_approval":
            continue
        try:
            is_met = _applies(rule, facts, plan, now)
        except Exception as exc:  # the boundary: a rule in doubt denies
            if not isinstance(exc, CannotBeChecked | ExpressionFault):
                logger.exception("a policy rule could not be checked")
            _deny_in_doubt(rule, exc, outcome)
            continue
        if not is_met:
            continue
        if rule.mode == "shadow":
            outcome.shadow_rules.append(rule.name)
            continue
        outcome.rules.append(rule.name)
        if rule.effect.kind == "allow":
            break
        _take_away(rule, document, facts, outcome)
    return outcome


def _deny_in_doubt(rule: Rule, exc: Exception, outcome: PolicyOutcome) -> None:
    if rule.mode == "shadow":
        outcome.shadow_rules.append(rule.name)
        return
    is_known = isinstance(exc, CannotBeChecked | ExpressionFault)
    why = str(exc) if is_known else type(exc).__name__
    outcome.rules.append(rule.name)
    outcome.is_denied = True
    outcome.reasons.append(f"Rule {rule.name!r} could not be checked ({why})")


def _take_away(
    rule: Rule, document: PolicyDocument, facts: RunFacts, outcome: PolicyOutcome
) -> None:
    effect = rule.effect
    match effect.kind:
        case "deny":
            outcome.is_denied = True
        case "only_workers" | "no_workers":
            outcome.refused_workers |= _refused(effect, facts)
        case "no_conductor":
            lower_limits(outcome.limits, WITHOUT_CONDUCTOR)
        case "limit":
            lower_limits(outcome.limits, effect.limits())
        case "redact":
            kinds = set(effect.kinds or document.kinds)
            outcome.redacts |= kinds
            outcome.off_record |= kinds if effect.off_record else set()
            outcome.restores = outcome.restores and effect.restore
        case "require_approval":
            needed, hours = outcome.approvals_needed, outcome.approval_hours
            outcome.approvals_needed = max(needed, effect.approvers)
            outcome.approval_hours = min(hours or effect.hours, effect.hours)
    says = f"{effect_words(effect)}{_untagged(effect, facts)}"
    outcome.reasons.append(f"Rule {rule.name!r} says: {says}")


def _refused(effect: Effect, facts: RunFacts) -> set[str]:
    """Return the workers that an effect on workers excludes.

    A missing tag excludes: `only_workers` a worker with none of its tags, `no_workers`
    one that states nothing of the kind of one of its tags.
    """
    assert effect.kind in ("only_workers", "no_workers")
    tags = effect.tags
    if effect.kind == "only_workers":
        return {n for n, own in facts.worker_tags.items() if not has_one(own, tags)}
    return {
        name
        for name, own in facts.worker_tags.items()
        if has_one(own, tags) or not_stated(own, tags)
    }


def _untagged(effect: Effect, facts: RunFacts) -> str:
    """Return in words which workers `no_workers` excludes for want of a tag."""
    if effect.kind != "no_workers":
        return ""
    names = [
        repr(name)
        for name, own in sorted(facts.worker_tags.items())
        if not has_one(own, effect.tags) and not_stated(own, effect.tags)
    ]
    return f" (so not {', '.join(names)})" if names else ""


def lower_limits(limits: dict[str, int], given: Mapping[str, int]) -> None:
    """Lower `limits` to those that are given; the lower of two counts."""
    for name, most in given.items():
        limits[name] = min(most, limits.get(name, most))


# --- conditions ----------------------------------------------------------------------


def _applies(
    rule: Rule, facts: RunFacts, plan: PlanFacts | None, now: datetime
) -> bool:
    """Say whether a rule applies. Raises: CannotBeChecked, also for its effect."""
    if not _holds(rule.conditions, facts, plan, now):
        return False
    if rule.effect.kind == "redact":
        _found(facts)
    return True


def _holds(
    wanted: Conditions, facts: RunFacts, plan: PlanFacts | None, now: datetime
) -> bool:
    """Say whether all conditions hold. Raises: CannotBeChecked."""
    return (
        _is_started_by(wanted, facts)
        and (not wanted.tiers or facts.tier in wanted.tiers)
        and (not wanted.sources or facts.source in wanted.sources)
        and (wanted.hours is None or is_within(wanted.hours, now))
        and (not wanted.words or facts.has_word(wanted.words))
        and _holds_data(wanted, facts)
        and (plan is None or _fits_plan(wanted, facts, plan))
        and (
            wanted.expression is None
            or expression_holds(wanted.expression, facts.context(plan))
        )
    )


def _is_started_by(wanted: Conditions, facts: RunFacts) -> bool:
    if wanted.roles:
        if not facts.role:
            raise CannotBeChecked("the role of the member is not known")
        if facts.role not in wanted.roles:
            return False
    if wanted.member_ids and (
        facts.key_id is not None or facts.member_id not in wanted.member_ids
    ):
        return False
    return not wanted.key_ids or facts.key_id in wanted.key_ids


def _holds_data(wanted: Conditions, facts: RunFacts) -> bool:
    if wanted.data_class is None and not wanted.contains:
        return True
    found = _found(facts)
    if wanted.contains and found.findings.keys().isdisjoint(wanted.contains):
        return False
    return wanted.data_class is None or is_at_least(found.data_class, wanted.data_class)


def _found(facts: RunFacts) -> Classification:
    """Return what was found in the prompt. Raises: CannotBeChecked."""
    if facts.classification is None:
        raise CannotBeChecked("the data class of the prompt is not known")
    return facts.classification


def is_within(hours: Hours, now: datetime) -> bool:
    """Say whether a time lies within these hours."""
    local = now.astimezone(ZoneInfo(hours.time_zone))
    begin, end = time.fromisoformat(hours.begin), time.fromisoformat(hours.end)
    clock = local.time()
    if begin < end:
        return begin <= clock < end and DAYS[local.weekday()] in hours.days
    if clock >= begin:
        return DAYS[local.weekday()] in hours.days
    yesterday = (local - timedelta(days=1)).weekday()
    return clock < end and DAYS[yesterday] in hours.days


def _fits_plan(wanted: Conditions, facts: RunFacts, plan: PlanFacts) -> bool:
    if wanted.steps_over is not None and len(plan.workers) <= wanted.steps_over:
        return False
    if wanted.plan_tags and not _uses_tag(wanted.plan_tags, facts, plan):
        return False
    if wanted.cost_over_usd is None:
        return True
    if plan.cost_micros is None:
        raise CannotBeChecked("the price of a worker of the plan is not known")
    return plan.cost_micros > wanted.cost_over_usd * MICROS


def _uses_tag(tags: tuple[str, ...], facts: RunFacts, plan: PlanFacts) -> bool:
    """Say whether a worker of the plan has one of the tags. Raises: CannotBeChecked."""
    present = {name: facts.worker_tags.get(name, ()) for name in plan.workers}
    if any(has_one(own, tags) for own in present.values()):
        return True
    for name, own in present.items():
        if kinds := not_stated(own, tags):
            raise CannotBeChecked(f"worker {name!r} has no tag {kinds[0]}:…")
    return False
