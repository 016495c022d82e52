"""Opens, raises and closes alerts: once each, whatever other processes do meanwhile.

The entry in the ledger and the mails to be sent commit together with the change.
Webhooks read the entry.
"""

from __future__ import annotations

import logging
import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.alerts.mails import mails_add
from apps.alerts.models import Alert, AlertRule
from apps.alerts.types import AlertKind, AlertSeverity, Observation
from apps.audit.services import entries_append
from apps.audit.types import SERVICE, Batch, EntryDraft
from apps.core.errors import ConductorError

logger = logging.getLogger(__name__)
SWITCHED_OFF = "the rule was switched off"
TEST_LASTS = timedelta(minutes=10)
"""A test alert closes by itself after it."""


def alert_open(rule: AlertRule, seen: Observation, now: datetime) -> Alert | None:
    """Open an alert; None: another process was faster."""
    row = Alert(
        team_id=rule.team_id,
        kind=rule.kind,
        subject=seen.subject,
        name=seen.name,
        severity=_severity(seen),
        figures=dict(seen.figures),
        opened_at=now,
        critical_at=now if seen.is_critical else None,
    )
    muted = Alert.objects.for_team(rule.team_id).filter(
        kind=row.kind, subject=row.subject, muted_until__gt=now
    )
    with transaction.atomic():
        before = muted.order_by("-id").first()
        if before is not None:
            row.muted_until, row.muted_by = before.muted_until, before.muted_by
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError:
            return None
        if before is None:
            mails_add(row, rule)
        _record(row, "alert.opened", _facts(row, rule, now))
    return row


def alert_note(alert: Alert, rule: AlertRule, seen: Observation, now: datetime) -> None:
    """Keep the newest figures of an alert that stays open.

    A warning that becomes critical for the first time is told of again.
    """
    figures, severity = dict(seen.figures), _severity(seen)
    if (figures, severity, seen.name) == (alert.figures, alert.severity, alert.name):
        return
    is_rise = seen.is_critical and alert.severity == AlertSeverity.WARNING
    rows = Alert.objects.for_team(alert.team_id).filter(id=alert.id, closed_at=None)
    with transaction.atomic():
        rows.update(figures=figures, severity=severity, name=seen.name)
        if is_rise and rows.filter(critical_at=None).update(critical_at=now):
            _tell_rise(rows.get(), rule, now)


def alert_close(alert: Alert, rule: AlertRule | None, now: datetime) -> bool:
    """Close an alert; False: another process was faster. A test has no rule.

    Nothing is over when its rule was switched off, so then nobody gets a mail.
    """
    with transaction.atomic():
        rows = Alert.objects.for_team(alert.team_id).filter(id=alert.id)
        if not rows.filter(closed_at__isnull=True).update(closed_at=now):
            return False
        alert = rows.get()
        if rule is None:
            return True
        is_over = rule.is_enabled
        if is_over and rule.mails_when_closed and not _is_muted(alert, now):
            mails_add(alert, rule, is_about_end=True)
        _record(alert, "alert.closed", _facts(alert, rule, now))
    return True


def bell_test_open(*, team_id: uuid.UUID, user_id: uuid.UUID) -> None:
    """Open a test alert for one person's bell; one that is open begins anew."""
    now = timezone.now()
    row = Alert(
        team_id=team_id,
        kind=Alert.TEST,
        subject=str(user_id),
        severity=AlertSeverity.WARNING,
        opened_at=now,
    )
    Alert.objects.bulk_create([row], ignore_conflicts=True)
    same = Alert.objects.for_team(team_id).filter(
        kind=row.kind, subject=row.subject, closed_at__isnull=True
    )
    same.update(
        opened_at=now,
        acknowledged_at=None,
        acknowledged_by="",
        muted_until=None,
        muted_by="",
    )


def _tell_rise(alert: Alert, rule: AlertRule, now: datetime) -> None:
    """Tell of a warning that became critical, also those who know of the warning."""
    alert.acknowledged_at, alert.acknowledged_by = None, ""
    alert.save(update_fields=["acknowledged_at", "acknowledged_by"])
    if not _is_muted(alert, now):
        mails_add(alert, rule, is_about_rise=True)
    _record(alert, "alert.escalated", _facts(alert, rule, now))


def _severity(seen: Observation) -> AlertSeverity:
    return AlertSeverity.CRITICAL if seen.is_critical else AlertSeverity.WARNING


def _is_muted(alert: Alert, now: datetime) -> bool:
    return alert.muted_until is not None and alert.muted_until > now


def _facts(alert: Alert, rule: AlertRule, now: datetime) -> dict[str, Any]:
    facts = {
        "kind": alert.kind,
        "name": alert.name,
        "about": alert.subject,
        "severity": str(alert.severity),
        "figures": dict(alert.figures),
        "channels": list(rule.channels),
        "is_muted": _is_muted(alert, now),
    }
    if alert.closed_at is not None:
        seconds = (alert.closed_at - alert.opened_at).total_seconds()
        facts["open_s"] = max(0, int(seconds))
        if not rule.is_enabled:
            facts["reason"] = SWITCHED_OFF
    return facts


def _record(alert: Alert, action: str, facts: dict[str, Any]) -> None:
    draft = EntryDraft(action, "alert", alert.id, SERVICE, facts)
    try:
        with transaction.atomic():
            entries_append(batch=Batch(alert.team_id, (draft,)))
    except (ConductorError, ValueError, IntegrityError):
        if alert.kind != AlertKind.LEDGER:
            raise
        # A chain that takes no entries is what this alert is about.
        logger.exception("the ledger of team %s takes no entry", alert.team_id)
