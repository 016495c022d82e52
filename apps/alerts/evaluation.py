"""The regular job that looks at the rules of every team, and opens and closes alerts.

Any process may do it at any time, several at once too: the database lets one of them
open an alert. Nothing is kept in memory between two looks, so a restart loses nothing.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.db.models import Exists, OuterRef, Q, Subquery
from django.utils import timezone

from apps.accounts.models import Team
from apps.alerts.conditions import observe
from apps.alerts.models import Alert, AlertMail, AlertMailState, AlertRule
from apps.alerts.opening import TEST_LASTS, alert_close, alert_note, alert_open
from apps.alerts.selectors import alert_rules
from apps.audit.models import ChainHead, Entry, FullCheck
from apps.core.database_outage import is_outage
from apps.core.ids import first_id
from apps.runs.models import PlanApproval, Run

logger = logging.getLogger(__name__)
ACTIVE = timedelta(days=2)
"""A team without an entry for so long is left out, unless an alert is open, a plan
waits or a verification found faults: nothing else can have changed."""
KEPT = timedelta(days=365)
"""Closed alerts are forgotten after it; their entries stay."""
MAILS_KEPT = timedelta(days=30)
ROWS_AT_ONCE = 500


def alerts_evaluate(now: datetime | None = None) -> Iterator[int]:
    """Look at every team where something may have changed.

    Yields after each team how many alerts opened or closed.
    """
    moment = now or timezone.now()
    for team_id in list(_teams(moment)):
        try:
            yield team_alerts_evaluate(team_id, moment)
        except Exception as exc:  # other teams must get their turn
            if is_outage(exc):
                raise
            logger.exception("the alerts of team %s cannot be evaluated", team_id)


def team_alerts_evaluate(team_id: uuid.UUID, now: datetime) -> int:
    """Open and close the alerts of a team; return how many.

    A rule that fails is logged and tried again at the next look: the alert about a
    broken ledger must open though the ledger takes no entry of any other.
    """
    rows = Alert.objects.for_team(team_id).filter(closed_at__isnull=True)
    opened = {(row.kind, row.subject): row for row in rows}
    changed = 0
    for rule in alert_rules(team_id):
        mine = {sub: row for (kind, sub), row in opened.items() if kind == rule.kind}
        changed += _try_apply(rule, mine, now)
    for row in opened.values():
        if row.kind == Alert.TEST and row.opened_at <= now - TEST_LASTS:
            changed += alert_close(row, None, now)
    return changed


def alerts_forget(now: datetime | None = None) -> Iterator[int]:
    """Delete alerts that closed a year ago and mails that are done, many at a time."""
    moment = now or timezone.now()
    old = Alert.objects.across_teams().filter(closed_at__lt=moment - KEPT)
    while ids := list(old.values_list("id", flat=True)[:ROWS_AT_ONCE]):
        yield Alert.objects.across_teams().filter(id__in=ids).delete()[0]
    done = AlertMail.objects.across_teams().filter(created_at__lt=moment - MAILS_KEPT)
    done = done.exclude(state=AlertMailState.WAITING)
    while ids := list(done.values_list("id", flat=True)[:ROWS_AT_ONCE]):
        yield AlertMail.objects.across_teams().filter(id__in=ids).delete()[0]


def _try_apply(rule: AlertRule, opened: dict[str, Alert], now: datetime) -> int:
    try:
        return _apply(rule, opened, now)
    except Exception as exc:  # other rules must get their turn
        if is_outage(exc):
            raise
        logger.exception(
            "the %s rule of team %s cannot be evaluated", rule.kind, rule.team_id
        )
        return 0


def _apply(rule: AlertRule, opened: dict[str, Alert], now: datetime) -> int:
    seen = observe(rule, now) if rule.is_enabled else {}
    changed = 0
    for subject, each in seen.items():
        row = opened.get(subject)
        if row is not None:
            alert_note(row, rule, each, now)
        elif each.is_due:
            changed += alert_open(rule, each, now) is not None
    for subject, row in opened.items():
        if subject not in seen:
            changed += alert_close(row, rule, now)
    return changed


def _teams(now: datetime) -> Iterator[uuid.UUID]:
    """Yield the teams to look at: one query, with one step in an index for each."""
    runs = Run.objects.across_teams().filter(
        team=OuterRef("pk"), id__gte=first_id(now - ACTIVE)
    )
    plans = PlanApproval.objects.across_teams().filter(
        team=OuterRef("pk"), settled_at__isnull=True
    )
    alerts = Alert.objects.across_teams().filter(
        team=OuterRef("pk"), closed_at__isnull=True
    )
    heads = ChainHead.objects.filter(team_id=OuterRef(OuterRef("pk"))).values("seq")
    entries = Entry.objects.across_teams().filter(
        team_id=OuterRef("pk"), seq=Subquery(heads[:1]), recorded_at__gte=now - ACTIVE
    )
    faulty = FullCheck.objects.across_teams().filter(
        team_id=OuterRef("pk"), report__fault_count__gt=0
    )
    signs = (alerts, plans, runs, entries, faulty)
    is_due = reduce(or_, (Q(Exists(each)) for each in signs))
    yield from Team.objects.filter(is_due).order_by("id").values_list("id", flat=True)
