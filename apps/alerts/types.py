"""Kinds of alerts with their defaults and bounds, and what a look at them finds.

Percentages and minutes are whole numbers: the ledger holds no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import TextChoices
from django.utils.translation import gettext_noop as _


class AlertKind(TextChoices):
    """What an alert rule watches."""

    BUDGET = "budget", _("A budget is nearly spent")
    """A day or month of a budget: of the team, a member or a key."""
    WORKER = "worker", _("A worker fails")
    """Too many of a worker's calls failed."""
    RUNS = "runs", _("Runs fail")
    """Too many runs failed."""
    PLANS = "plans", _("Runs are answered without a plan")
    """The conductor gives no usable plan, or a tier that should plan does not."""
    PROMISE = "promise", _("A planner's promise is broken")
    """A worker is right less often than the light planner in use promised."""
    APPROVAL = "approval", _("A plan waits too long for approval")
    LEDGER = "ledger", _("The ledger does not verify")
    """The last verification of the whole chain found faults."""
    CHECKPOINT = "checkpoint", _("A checkpoint is overdue")
    """Entries of the ledger are not covered by a signed checkpoint."""


class AlertChannel(TextChoices):
    """How people and programs hear of an alert."""

    BELL = "bell", _("Bell")
    """In the header of every page."""
    MAIL = "mail", _("Email")
    WEBHOOK = "webhook", _("Webhook")
    """An event, for the webhooks that are subscribed to it."""


class AlertAudience(TextChoices):
    """Who sees the alerts of a rule in the bell and gets its mails."""

    OWNERS = "owners", _("Owners")
    ADMINS = "admins", _("Owners and admins")
    CHOSEN = "chosen", _("Chosen members")


class AlertSeverity(TextChoices):
    """How bad it is."""

    WARNING = "warning", _("Warning")
    CRITICAL = "critical", _("Critical")


@dataclass(frozen=True, slots=True)
class RuleDefaults:
    """What a rule is before anybody has changed it, and how far it may be changed."""

    threshold: int | None = None
    """Percent, or minutes for the kinds `MINUTES`. None: there is none."""
    highest: int = 100
    """Bound of the threshold."""
    window_minutes: int | None = None
    """How far back runs and calls count. None: there is no window."""
    least: int | None = None
    """With fewer runs or calls in the window no alert opens."""


MINUTES = frozenset({AlertKind.APPROVAL, AlertKind.CHECKPOINT})
"""Kinds whose threshold is a time."""
DAY_MINUTES = 24 * 60
LONGEST_WINDOW = DAY_MINUTES
MOST_LEAST = 10_000
MUTE_MINUTES = 7 * DAY_MINUTES
"""The longest mute: nothing is silenced for good without changing its rule."""
DEFAULTS: Mapping[AlertKind, RuleDefaults] = {
    AlertKind.BUDGET: RuleDefaults(80),
    AlertKind.WORKER: RuleDefaults(50, window_minutes=15, least=5),
    AlertKind.RUNS: RuleDefaults(20, window_minutes=15, least=10),
    AlertKind.PLANS: RuleDefaults(25, window_minutes=60, least=5),
    AlertKind.PROMISE: RuleDefaults(window_minutes=DAY_MINUTES),
    AlertKind.APPROVAL: RuleDefaults(30, highest=7 * DAY_MINUTES),
    AlertKind.LEDGER: RuleDefaults(),
    AlertKind.CHECKPOINT: RuleDefaults(15, highest=DAY_MINUTES),
}
OVER_PERCENT = 80
"""Hysteresis: a share is over when it has fallen below this part of the threshold."""
OVER_BUDGET = 5
"""Hysteresis of budgets, in points of percent: only a higher limit or a new period
takes a budget back."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One subject of a rule that meets its condition, or is not clearly over it yet."""

    subject: str
    """Tells it from others of the kind: an id; empty: the whole team."""
    name: str
    """The subject for people; empty: the whole team."""
    is_due: bool
    """True: an alert opens. False: an open one stays open, and none opens."""
    is_critical: bool = False
    figures: Mapping[str, int] = field(default_factory=dict)
    """What was measured: percent, calls, failed and so on."""
