"""What an alert says to people, and the page where one acts on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from apps.alerts.models import Alert, AlertRule
from apps.alerts.types import AlertKind, AlertSeverity

Figures = Mapping[str, int]
TEAM = _("the team")
TEST = _("Test")


def alert_title(alert: Alert) -> str:
    """Return what happens, in a few words."""
    if alert.kind == Alert.TEST:
        return gettext("Test alert")
    match AlertKind(alert.kind):
        case AlertKind.BUDGET:
            words = _spent(alert.figures)
            return words % {"budget": _budget(alert.name)}
        case AlertKind.WORKER:
            return gettext("Worker %(name)s fails") % {"name": alert.name}
        case AlertKind.RUNS:
            return gettext("Runs fail")
        case AlertKind.PLANS:
            return gettext("Runs are answered without a plan")
        case AlertKind.PROMISE:
            return gettext("%(name)s is right less often than promised") % {
                "name": alert.name
            }
        case AlertKind.APPROVAL:
            return gettext("A plan waits for approval")
        case AlertKind.LEDGER:
            return gettext("The ledger does not verify")
        case AlertKind.CHECKPOINT:
            return gettext("A checkpoint of the ledger is overdue")


def alert_detail(alert: Alert) -> str:
    """Return what was measured, in a sentence without its full stop."""
    if alert.kind == Alert.TEST:
        return gettext("A person sent it to their own bell")
    return _DETAILS[AlertKind(alert.kind)](alert.figures)


def chat_words(facts: Mapping[str, Any]) -> str:
    """Return what an entry about an alert says, in one line in English."""
    alert = Alert(kind=facts["kind"], name=facts.get("name", ""))
    alert.figures = facts.get("figures", {})
    with translation.override("en"):
        if "open_s" in facts:
            return f"Over: {alert_title(alert)}"
        severity = AlertSeverity(facts["severity"]).label
        return f"{severity}: {alert_title(alert)}. {alert_detail(alert)}."


def alert_place(alert: Alert) -> tuple[str, str]:
    """Return the address of the page where one acts, and what it is called."""
    runs = reverse("playground:run_list")
    days = _days(alert)
    places: dict[str, Callable[[], tuple[str, str]]] = {
        Alert.TEST: lambda: (reverse("console:alert_rules"), gettext("Alert rules")),
        AlertKind.BUDGET: lambda: (reverse("console:budget_list"), gettext("Budgets")),
        AlertKind.WORKER: lambda: (
            reverse("console:worker", args=[alert.subject]),
            gettext("Worker"),
        ),
        AlertKind.RUNS: lambda: (
            f"{runs}?{urlencode({'state': 'failed', 'period': days})}",
            gettext("Failed runs"),
        ),
        AlertKind.PLANS: lambda: (
            f"{runs}?{urlencode({'flag': 'unplanned', 'period': days})}",
            gettext("Runs without a plan"),
        ),
        AlertKind.PROMISE: lambda: (reverse("console:learning"), gettext("Learning")),
        AlertKind.APPROVAL: lambda: (
            reverse("playground:run_approval", args=[alert.subject]),
            gettext("Plan"),
        ),
        AlertKind.LEDGER: lambda: (reverse("console:ledger"), gettext("Ledger")),
        AlertKind.CHECKPOINT: lambda: (reverse("console:ledger"), gettext("Ledger")),
    }
    return places[alert.kind]()


def alert_url(alert: Alert) -> str:
    """Return the address of an alert in the list, for mails."""
    return f"{settings.CONDUCTOR_URL}{reverse('console:alert', args=[alert.id])}"


def rule_words(rule: AlertRule) -> str:
    """Return when an alert of a rule opens, in a sentence without its full stop."""
    words = gettext(_CONDITIONS[AlertKind(rule.kind)])
    least = rule.least or 0
    return words % {
        "percent": rule.threshold or 0,
        "wait": _minutes(rule.threshold or 0),
        "window": _minutes(rule.window_minutes or 0),
        "calls": _calls(least),
        "runs": _runs(least),
    }


def kind_label(kind: str) -> str:
    """Return a kind for people."""
    word = TEST if kind == Alert.TEST else str(AlertKind(kind).label)
    return gettext(word)


_CONDITIONS = {
    AlertKind.BUDGET: _("%(percent)s %% of a daily or monthly budget is spent"),
    AlertKind.WORKER: _(
        "%(percent)s %% of at least %(calls)s to a worker failed in %(window)s"
    ),
    AlertKind.RUNS: _("%(percent)s %% of at least %(runs)s failed in %(window)s"),
    AlertKind.PLANS: _("%(percent)s %% of at least %(runs)s had no plan in %(window)s"),
    AlertKind.PROMISE: _(
        "a worker is right less often than a planner promised; open for %(window)s"
    ),
    AlertKind.APPROVAL: _("a plan has waited %(wait)s for approval"),
    AlertKind.LEDGER: _("a verification of the whole ledger found faults"),
    AlertKind.CHECKPOINT: _("a ledger entry has had no checkpoint for %(wait)s"),
}
_BUDGETS = {
    "Daily budget of ": _("Daily budget of %(name)s"),
    "Monthly budget of ": _("Monthly budget of %(name)s"),
}
"""How the names of alerts about budgets begin, see `conditions.py`, and the same in
other languages."""


def _budget(name: str) -> str:
    """Return the name of a budget, which is kept in English, for the reader."""
    for begin, words in _BUDGETS.items():
        if name.startswith(begin):
            target = name.removeprefix(begin)
            return gettext(words) % {
                "name": gettext(target) if target == TEAM else target
            }
    return name


def _spent(figures: Figures) -> str:
    if figures["percent"] >= 100:
        return gettext("%(budget)s is spent")
    return gettext("%(budget)s is nearly spent")


def _days(alert: Alert) -> str:
    """Return the days of what was measured, from the first window to the last look."""
    window = timedelta(minutes=alert.figures.get("minutes", 0))
    last = alert.closed_at or timezone.now()
    begin = (alert.opened_at - window).astimezone(UTC).date().isoformat()
    end = last.astimezone(UTC).date().isoformat()
    return begin if begin == end else f"{begin}..{end}"


def _shares(words: str) -> Callable[[Figures], str]:
    """Return what says how many of the counted runs or calls something is true of."""

    def detail(figures: Figures) -> str:
        return gettext(words) % {
            "count": f"{figures['count']:,}",
            "runs": _runs(figures["total"]),
            "calls": _calls(figures["total"]),
            "window": _minutes(figures["minutes"]),
        }

    return detail


_DETAILS: dict[AlertKind, Callable[[Figures], str]] = {
    AlertKind.BUDGET: lambda f: (
        gettext("%(percent)s %% of its limit is spent") % {"percent": f["percent"]}
    ),
    AlertKind.WORKER: _shares(_("%(count)s of %(calls)s failed in %(window)s")),
    AlertKind.RUNS: _shares(_("%(count)s of %(runs)s failed in %(window)s")),
    AlertKind.PLANS: _shares(_("%(count)s of %(runs)s had no plan in %(window)s")),
    AlertKind.PROMISE: lambda f: (
        gettext(
            "%(observed)s %% of %(answers)s in one kind of prompts were right, "
            "%(promised)s %% were promised"
        )
        % {**f, "answers": _answers(f["total"])}
    ),
    AlertKind.APPROVAL: lambda f: (
        gettext("The plan has waited %(wait)s") % {"wait": _minutes(f["minutes"])}
    ),
    AlertKind.LEDGER: lambda f: _faults(f["count"]),
    AlertKind.CHECKPOINT: lambda f: _uncovered(f["count"], _minutes(f["minutes"])),
}


def _calls(count: int) -> str:
    return ngettext("%(number)s call", "%(number)s calls", count) % _number(count)


def _answers(count: int) -> str:
    return ngettext("%(number)s answer", "%(number)s answers", count) % _number(count)


def _runs(count: int) -> str:
    return ngettext("%(number)s run", "%(number)s runs", count) % _number(count)


def _faults(count: int) -> str:
    words = ngettext("%(number)s fault found", "%(number)s faults found", count)
    return words % _number(count)


def _uncovered(count: int, oldest: str) -> str:
    words = ngettext(
        "%(number)s entry has not been covered by a checkpoint for %(time)s",
        "%(number)s entries are not covered by a checkpoint, the oldest for %(time)s",
        count,
    )
    return words % {**_number(count), "time": oldest}


def _number(count: int) -> dict[str, str]:
    return {"number": f"{count:,}"}


def _minutes(minutes: int) -> str:
    if minutes < 120:
        words = ngettext("%(number)s minute", "%(number)s minutes", minutes)
        return words % _number(minutes)
    hours, rest = divmod(minutes, 60)
    if rest:
        return gettext("%(hours)s h %(minutes)s min") % {
            "hours": f"{hours:,}",
            "minutes": rest,
        }
    return ngettext("%(number)s hour", "%(number)s hours", hours) % _number(hours)
