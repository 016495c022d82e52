"""An open alert, as other tests need one."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from apps.accounts.models import Team
from apps.alerts.models import Alert
from apps.alerts.types import AlertKind, AlertSeverity


def make_alert(team: Team, name: str = "coder") -> dict[str, Any]:
    """Open an alert about a budget; return its id and a kind, by argument names."""
    alert = Alert.objects.create(
        team=team,
        kind=AlertKind.BUDGET,
        subject="0199c0de",
        name=name,
        severity=AlertSeverity.WARNING,
        figures={"percent": 85},
        opened_at=timezone.now(),
    )
    return {"alert_id": alert.id, "alert_kind": AlertKind.RUNS.value}
