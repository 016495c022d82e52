"""Days and months of UTC: when one began, and when the next one does."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from apps.budgets.models import Period


def period_start(period: str, now: datetime) -> date | None:
    """Return the first day of the period `now` lies in; None if it is one run."""
    if period == Period.RUN:
        return None
    today = now.astimezone(UTC).date()
    return today.replace(day=1) if period == Period.MONTH else today


def period_end(period: str, starts_on: date) -> datetime:
    """Return when the period that began on `starts_on` is over."""
    if period == Period.MONTH:
        after = (starts_on.replace(day=28) + timedelta(days=4)).replace(day=1)
    else:
        after = starts_on + timedelta(days=1)
    return datetime.combine(after, time(), UTC)
