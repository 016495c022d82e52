"""Records once for each period when a budget is nearly spent, and when it is spent.

A regular job of the site looks at what the runs that have ended cost: nothing is added
to the path of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from apps.audit.services import entries_append
from apps.audit.types import SERVICE, Batch, EntryDraft
from apps.budgets.models import Spend
from apps.core.money import usd_text

MARKS = (80, 100)
"""Percent of a limit."""


def budget_crossings_record(now: datetime | None = None) -> Iterator[int]:
    """Record the marks that budgets have crossed since the last look.

    Yields the percentage of each one.
    """
    today = (now or timezone.now()).astimezone(UTC).date()
    yesterday = today - timedelta(days=1)
    days = {day for each in (today, yesterday) for day in (each, each.replace(day=1))}
    for percent in reversed(MARKS):
        crossed = Spend.objects.across_teams().filter(
            _is_over(percent), starts_on__in=days, crossed_percent__lt=percent
        )
        for spend_id, team_id in list(crossed.values_list("id", "team_id")):
            with transaction.atomic():
                rows = Spend.objects.for_team(team_id).select_for_update(of=("self",))
                spend = rows.select_related("budget").filter(id=spend_id).first()
                if spend is None or spend.crossed_percent >= percent:
                    continue  # another process was faster
                Spend.objects.for_team(team_id).filter(id=spend_id).update(
                    crossed_percent=percent
                )
                _record(spend, percent)
            yield percent


def _is_over(percent: int) -> Q:
    return Q(spent_micros__gt=0) & Q(
        spent_micros__gte=F("budget__limit_micros") * percent / 100
    )


def _record(spend: Spend, percent: int) -> None:
    budget = spend.budget
    facts = {
        "percent": percent,
        "kind": budget.kind,
        "period": budget.period,
        "starts_on": spend.starts_on.isoformat(),
        "limit_usd": usd_text(budget.limit_micros),
        "spent_usd": usd_text(spend.spent_micros),
    }
    draft = EntryDraft("budget.crossed", "budget", budget.id, SERVICE, facts)
    entries_append(batch=Batch(spend.team_id, (draft,)))
