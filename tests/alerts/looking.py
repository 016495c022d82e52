"""Looks at the rules of a team, as the regular job does, for tests."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.alerts.evaluation import team_alerts_evaluate
from apps.alerts.models import Alert
from apps.alerts.services import alert_rule_update
from apps.alerts.types import AlertKind
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.insights.runs import FAULT, answered


def look(cast: Cast, now: datetime | None = None) -> int:
    """Look once; return how many alerts opened or closed."""
    return team_alerts_evaluate(cast.team.id, now or timezone.now())


def later(**span: float) -> datetime:
    """Return a moment after now."""
    return timezone.now() + timedelta(**span)


def open_alerts(cast: Cast) -> list[Alert]:
    """Return the open alerts of the team, newest first."""
    return list(Alert.objects.for_team(cast.team.id).filter(closed_at=None))


def change(cast: Cast, kind: AlertKind, **values: Any) -> None:
    """Change a rule of the team."""
    alert_rule_update(team=cast.team, kind=kind, values=values, actor=ACTOR)


def runs(cast: Cast, count: int, **fields: Any) -> None:
    """Put runs on record that ended a minute ago."""
    for _ in range(count):
        answered(cast, later(minutes=-1), **fields)


def fail(cast: Cast, count: int = 10) -> None:
    """Put so many failed runs on record."""
    runs(cast, count, state="failed")


FAILED_CALL = {**FAULT, "fault": "server_error"}
"""A call of beta that another one made up for."""
