"""The events that webhooks deliver, and which facts of an entry each one has. Pure.

An event is an entry of the ledger in the form of CloudEvents. It holds facts, never a
text that is kept apart: no prompt, answer or reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_noop as _

Facts = Mapping[str, Any]
PREFIX = "conductor."
"""Of types in messages."""


def _always(facts: Facts) -> bool:
    return True


def _is_policy_hit(facts: Facts) -> bool:
    return facts.get("outcome") != "allowed"


def _has_faults(facts: Facts) -> bool:
    return facts.get("fault_count") != 0


def _is_sent_alert(facts: Facts) -> bool:
    return "webhook" in facts.get("channels", ()) and not facts.get("is_muted")


@dataclass(frozen=True, slots=True)
class EventType:
    """A kind of event that a webhook can be subscribed to."""

    name: str
    label: str
    actions: tuple[str, ...]
    """Of the entries that are such events."""
    fields: tuple[str, ...]
    """Facts of the entry that the event has."""
    is_match: Callable[[Facts], bool] = _always
    """Says whether an entry of these actions is one, by its facts."""


ENDS = (
    "code",
    "reason",
    "finish_reason",
    "usage",
    "cost_micros",
    "has_unknown_cost",
    "latency_ms",
)
ALERTS = ("kind", "name", "about", "severity", "figures")
TEST = EventType("webhook.test", _("Test"), ("webhook.tested",), ())
"""Goes to the webhook that is tested, whatever it is subscribed to."""
EVENT_TYPES = {
    each.name: each
    for each in (
        EventType(
            "run.ended",
            _("A run ended: completed, failed or cancelled"),
            ("run.completed", "run.failed", "run.cancelled"),
            ENDS,
        ),
        EventType(
            "approval.requested",
            _("A plan waits for approval"),
            ("approval.requested",),
            (
                "round",
                "plan_digest",
                "approvals_needed",
                "expires_at",
                "rules",
                "estimated_cost_micros",
                "data_class",
                "workers",
            ),
        ),
        EventType(
            "approval.settled",
            _("A plan was approved or refused, or its approval expired"),
            ("approval.settled",),
            ("round", "plan_digest", "outcome", "approvers", "is_edited"),
        ),
        EventType(
            "policy.hit",
            _("A rule of the policy denied, held or restricted a run"),
            ("policy.decided",),
            (
                "round",
                "step",
                "outcome",
                "versions",
                "rules",
                "refused_workers",
                "limits",
                "data_class",
                "findings",
            ),
            _is_policy_hit,
        ),
        EventType(
            "budget.crossed",
            _("80 % or all of a budget is spent"),
            ("budget.crossed",),
            ("percent", "kind", "period", "starts_on", "limit_usd", "spent_usd"),
        ),
        EventType(
            "ledger.verification_failed",
            _("The verification of the ledger found faults"),
            ("audit.verified",),
            ("fault_count", "faults", "entries", "run_id"),
            _has_faults,
        ),
        EventType(
            "alert.opened",
            _("An alert opened or became critical, of a rule that uses webhooks"),
            ("alert.opened", "alert.escalated"),
            ALERTS,
            _is_sent_alert,
        ),
        EventType(
            "alert.closed",
            _("An alert of such a rule closed"),
            ("alert.closed",),
            (*ALERTS, "open_s", "reason"),
            _is_sent_alert,
        ),
    )
}
"""By name."""
BATCH = "ledger.entries"
"""What deliveries of a stream are called."""


def actions_of(names: list[str]) -> tuple[str, ...]:
    """Return the actions of the entries that these types are about."""
    known = (EVENT_TYPES[name] for name in names if name in EVENT_TYPES)
    return tuple({action for each in known for action in each.actions})


def events_in(names: list[str], action: str, facts: Facts) -> list[EventType]:
    """Return which of these types an entry is an event of."""
    known = (EVENT_TYPES[name] for name in names if name in EVENT_TYPES)
    return [each for each in known if action in each.actions and each.is_match(facts)]


def data_of(kind: EventType, facts: Facts) -> dict[str, Any]:
    """Return the facts of an entry that its event has; words that are empty are not."""
    return {n: facts[n] for n in kind.fields if facts.get(n, "") != ""}
