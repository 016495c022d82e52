"""Says when teams' sums are due, and for one process of a site to keep them.

What is due takes moments for a team that runs all the time, and minutes at most once:
when this version first sees a large team. Doing it twice, or not at all, changes no
figure: whatever is not kept is summed when it is read.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, date, timedelta

from django.utils import timezone

from apps.accounts.models import Team
from apps.core.ids import first_id
from apps.runs.coordination.leases import is_leader
from apps.runs.models import Run
from apps.runs.usage.daily_rollup import GRACE, usage_days_keep
from apps.runs.usage.intraday_rollup import usage_part_keep

LATE = timedelta(minutes=15)
"""Who has begun no run for so long has no more to keep today."""


def usage_keep(team_id: uuid.UUID) -> None:
    """Keep all sums of a team that are due. Blocks, for minutes at worst."""
    usage_days_keep(team_id)
    usage_part_keep(team_id)


class UsageWatch:
    """Which teams have sums to keep, as one process goes on.

    All teams once a day, and each time those at work; none while there is a process
    that has been there for longer.
    """

    def __init__(self) -> None:
        self._day: date | None = None
        """The day of the latest look at every team."""
        self._looking: date | None = None

    def due(self, lease_id: uuid.UUID) -> Sequence[uuid.UUID]:
        """Return the teams to keep sums of now; call `done` when they are kept."""
        now = timezone.now()
        self._looking = (now - GRACE).astimezone(UTC).date()
        if not is_leader(lease_id):
            self._looking = None
            return []
        if self._looking != self._day:
            return list(Team.objects.order_by("id").values_list("id", flat=True))
        runs = Run.objects.across_teams().filter(id__gte=first_id(now - LATE))
        at_work = runs.order_by("team_id").values_list("team_id", flat=True)
        return list(at_work.distinct())

    def done(self) -> None:
        """Say that what was due is kept."""
        self._day = self._looking
