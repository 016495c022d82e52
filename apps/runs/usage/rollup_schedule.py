"""Says when teams' sums are due, and for one process of a site to keep them.

What is due takes moments for a team that runs all the time, and minutes at most once:
when this version first sees a large team. Doing it twice, or not at all, changes no
figure: whatever is not kept is summed when it is read.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, timedelta

from django.utils import timezone

from apps.accounts.models import Team
from apps.core.ids import first_id
from apps.runs.models import Run
from apps.runs.usage.daily_rollup import GRACE, usage_days_keep
from apps.runs.usage.intraday_rollup import usage_part_keep

LATE = timedelta(minutes=15)
"""Who has begun no run for so long has no more to keep today."""


def usage_keep(team_id: uuid.UUID) -> Iterator[uuid.UUID]:
    """Keep all sums of a team that are due; yields after each commit."""
    for _ in usage_days_keep(team_id):
        yield team_id
    usage_part_keep(team_id)
    yield team_id


class RollupWatch:
    """Which teams have sums of some kind to keep, as one process goes on."""

    def __init__(
        self, keep_team: Callable[[uuid.UUID], Iterator[uuid.UUID]], late: timedelta
    ) -> None:
        """Take what keeps the sums of a team, step by step.

        `late`: who has begun no run for so long has no more to keep today.
        """
        self._keep_team, self._late = keep_team, late
        self._day: date | None = None
        """The day of the latest look at every team."""

    def keep(self) -> Iterator[uuid.UUID]:
        """Keep what is due of all teams once a day, else of those at work.

        Yields the team after each step.
        """
        now = timezone.now()
        day = (now - GRACE).astimezone(UTC).date()
        if day != self._day:
            teams = list(Team.objects.order_by("id").values_list("id", flat=True))
        else:
            runs = Run.objects.across_teams().filter(id__gte=first_id(now - self._late))
            at_work = runs.order_by("team_id").values_list("team_id", flat=True)
            teams = list(at_work.distinct())
        for team_id in teams:
            yield from self._keep_team(team_id)
        self._day = day


def usage_watch() -> RollupWatch:
    """Return what keeps the sums of usage that are due."""
    return RollupWatch(usage_keep, LATE)
