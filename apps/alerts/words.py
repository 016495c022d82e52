"""What an alert says to people, and the page where one acts on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, timedelta

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from apps.alerts.models import Alert, AlertRule
from apps.alerts.types import AlertKind

Figures = Mapping[str, int]


def alert_title(alert: Alert) -> str:
    """Return what happens, in a few words."""
    if alert.kind == Alert.TEST:
        return "Test alert"
    match AlertKind(alert.kind):
        case AlertKind.BUDGET:
            return f"{alert.name} is {_spent(alert.figures)}"
        case AlertKind.WORKER:
            return f"Worker {alert.name} fails"
        case AlertKind.RUNS:
            return "Runs fail"
        case AlertKind.PLANS:
            return "Runs are answered without a plan"
        case AlertKind.APPROVAL:
            return "A plan waits for approval"
        case AlertKind.LEDGER:
            return "The ledger does not verify"
        case AlertKind.CHECKPOINT:
            return "A checkpoint of the ledger is overdue"


def alert_detail(alert: Alert) -> str:
    """Return what was measured, in a sentence without its full stop."""
    if alert.kind == Alert.TEST:
        return "A person sent it to their own bell"
    return _DETAILS[AlertKind(alert.kind)](alert.figures)


def alert_place(alert: Alert) -> tuple[str, str]:
    """Return the address of the page where one acts, and what it is called."""
    runs = reverse("playground:run_list")
    days = _days(alert)
    places: dict[str, Callable[[], tuple[str, str]]] = {
        Alert.TEST: lambda: (reverse("console:alert_rules"), "Alert rules"),
        AlertKind.BUDGET: lambda: (reverse("console:budget_list"), "Budgets"),
        AlertKind.WORKER: lambda: (
            reverse("console:worker", args=[alert.subject]),
            "Worker",
        ),
        AlertKind.RUNS: lambda: (
            f"{runs}?{urlencode({'state': 'failed', 'period': days})}",
            "Failed runs",
        ),
        AlertKind.PLANS: lambda: (
            f"{runs}?{urlencode({'flag': 'unplanned', 'period': days})}",
            "Runs without a plan",
        ),
        AlertKind.APPROVAL: lambda: (
            reverse("playground:run_approval", args=[alert.subject]),
            "Plan",
        ),
        AlertKind.LEDGER: lambda: (reverse("console:ledger"), "Ledger"),
        AlertKind.CHECKPOINT: lambda: (reverse("console:ledger"), "Ledger"),
    }
    return places[alert.kind]()


def alert_url(alert: Alert) -> str:
    """Return the address of an alert in the list, for mails."""
    return f"{settings.CONDUCTOR_URL}{reverse('console:alert', args=[alert.id])}"


def rule_words(rule: AlertRule) -> str:
    """Return when an alert of a rule opens, in a sentence without its full stop."""
    threshold, least = rule.threshold or 0, rule.least or 0
    window = _minutes(rule.window_minutes or 0)
    words = {
        AlertKind.BUDGET: f"{threshold} % of a budget for a day or month is spent",
        AlertKind.WORKER: f"{threshold} % of a worker's calls failed in {window}, of "
        f"{_number(least, 'call')} or more",
        AlertKind.RUNS: f"{threshold} % of the runs failed in {window}, of "
        f"{_number(least, 'run')} or more",
        AlertKind.PLANS: f"{threshold} % of the runs had no plan in {window}, of "
        f"{_number(least, 'run')} or more",
        AlertKind.APPROVAL: f"a plan has waited for {_minutes(threshold)}",
        AlertKind.LEDGER: "a verification of the whole chain found faults",
        AlertKind.CHECKPOINT: "an entry has had no checkpoint for "
        f"{_minutes(threshold)}",
    }
    return words[AlertKind(rule.kind)]


def kind_label(kind: str) -> str:
    """Return a kind for people."""
    return "Test" if kind == Alert.TEST else str(AlertKind(kind).label)


def _spent(figures: Figures) -> str:
    return "spent" if figures["percent"] >= 100 else "nearly spent"


def _days(alert: Alert) -> str:
    """Return the days of what was measured, from the first window to the last look."""
    window = timedelta(minutes=alert.figures.get("minutes", 0))
    last = alert.closed_at or timezone.now()
    begin = (alert.opened_at - window).astimezone(UTC).date().isoformat()
    end = last.astimezone(UTC).date().isoformat()
    return begin if begin == end else f"{begin}..{end}"


def _of_runs(verb: str) -> Callable[[Figures], str]:
    def detail(figures: Figures) -> str:
        counted = f"{figures['count']:,} of {_number(figures['total'], 'run')}"
        return f"{counted} {verb} in {_minutes(figures['minutes'])}"

    return detail


def _of_calls(figures: Figures) -> str:
    counted = f"{figures['count']:,} of {_number(figures['total'], 'call')}"
    return f"{counted} failed in {_minutes(figures['minutes'])}"


_DETAILS: dict[AlertKind, Callable[[Figures], str]] = {
    AlertKind.BUDGET: lambda f: f"{f['percent']} % of its limit is spent",
    AlertKind.WORKER: _of_calls,
    AlertKind.RUNS: _of_runs("failed"),
    AlertKind.PLANS: _of_runs("had no plan"),
    AlertKind.APPROVAL: lambda f: f"It has waited for {_minutes(f['minutes'])}",
    AlertKind.LEDGER: lambda f: f"{_number(f['count'], 'fault')} found",
    AlertKind.CHECKPOINT: lambda f: (
        f"{_number(f['count'], 'entry', 'entries')} not covered by a checkpoint, the "
        f"oldest for {_minutes(f['minutes'])}"
    ),
}


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _minutes(minutes: int) -> str:
    if minutes < 120:
        return _number(minutes, "minute")
    hours, rest = divmod(minutes, 60)
    return f"{hours:,} h {rest} min" if rest else f"{hours:,} hours"
