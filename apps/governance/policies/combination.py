"""Checks a run against the site's policy and its team's, which both bind it.

Each policy is checked by itself: an `allow` rule ends the check of its own policy only,
so no team lifts a rule of the site. What the policies take away adds up: the lower
limit, the stricter approval, all refused workers and all kinds to redact. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from apps.governance.policies.evaluation import (
    PlanFacts,
    PolicyOutcome,
    RunFacts,
    evaluate,
    lower_limits,
)
from apps.governance.types import PolicyInForce


def evaluate_all(
    policies: Sequence[PolicyInForce],
    facts: RunFacts,
    plan: PlanFacts | None,
    now: datetime,
    *,
    is_approved: bool = False,
) -> PolicyOutcome:
    """Return what all policies come to; arguments as for `evaluate`. Never raises.

    Rules have the name of their policy (`site: EU only`), reasons name its version.
    """
    total = PolicyOutcome()
    for policy in policies:
        if policy.is_readable:
            found = evaluate(policy.document, facts, plan, now, is_approved=is_approved)
            _name(found, policy)
        else:
            found = PolicyOutcome(is_denied=True, reasons=[unreadable(policy)])
        _add(total, found)
    return total


def unreadable(policy: PolicyInForce) -> str:
    """Return why a policy that cannot be read denies every run."""
    return f"What the {policy.place} says cannot be read"


def _name(outcome: PolicyOutcome, policy: PolicyInForce) -> None:
    """Say in an outcome whose rules they are."""
    outcome.rules = [f"{policy.name}: {name}" for name in outcome.rules]
    outcome.shadow_rules = [f"{policy.name}: {name}" for name in outcome.shadow_rules]
    if outcome.reasons:
        reasons = "; ".join(outcome.reasons)
        outcome.reasons = [f"{reasons} ({policy.place})"]


def _add(total: PolicyOutcome, found: PolicyOutcome) -> None:
    """Add one policy's outcome: the stricter of the two counts in everything."""
    total.rules += found.rules
    total.shadow_rules += found.shadow_rules
    total.reasons += found.reasons
    total.is_denied = total.is_denied or found.is_denied
    total.refused_workers |= found.refused_workers
    lower_limits(total.limits, found.limits)
    total.approvals_needed = max(total.approvals_needed, found.approvals_needed)
    hours = [h for h in (total.approval_hours, found.approval_hours) if h]
    total.approval_hours = min(hours, default=0)
    total.redacts |= found.redacts
    total.off_record |= found.off_record
    total.restores = total.restores and found.restores
