"""Limits the share of a process's live runs that one team may have.

Guarantees: a team may use what is free, up to TEAM_RUNS_PERCENT of MAX_LIVE_RUNS. What
is left is for teams below their fair share, which is MAX_LIVE_RUNS divided by one more
than the teams with live runs. So no team alone fills a process, and while it is full,
places that become free go to teams with few runs. Each process counts for itself.
"""

from __future__ import annotations

import math
import uuid
from collections import Counter

from django.conf import settings

from apps.core.errors import Overloaded
from apps.runs.errors import TeamRunsExceeded

RETRY_AFTER_S = 2


class TeamShares:
    """Counts live runs by team."""

    def __init__(self) -> None:
        self._live: Counter[uuid.UUID] = Counter()
        self._total = 0

    def require(self, team_id: uuid.UUID) -> None:
        """Raise Overloaded or TeamRunsExceeded if a team may not begin a run now."""
        limit: int = settings.MAX_LIVE_RUNS
        if self._total >= limit:
            raise Overloaded(
                f"{self._total} runs are executing; try again",
                retry_after_s=RETRY_AFTER_S,
            )
        # Rounded up, so that a process of a few runs keeps none back.
        open_to_all = math.ceil(limit * settings.TEAM_RUNS_PERCENT / 100)
        if self._total < open_to_all:
            return
        own = self._live[team_id]
        teams = len(self._live) + (own == 0)
        if own >= limit // (teams + 1):  # one more, which may come next
            raise TeamRunsExceeded(
                f"the process is almost full and your team has {own} live runs, its "
                "share; try again when some of them have ended",
                retry_after_s=RETRY_AFTER_S,
            )

    def add(self, team_id: uuid.UUID) -> None:
        """Count a run that begins."""
        self._live[team_id] += 1
        self._total += 1

    def remove(self, team_id: uuid.UUID, is_set_aside: bool = False) -> None:
        """Count a run no longer; one that is set aside counts no longer already."""
        if is_set_aside:
            return
        self._total -= 1
        self._live[team_id] -= 1
        if not self._live[team_id]:
            del self._live[team_id]

    def set_aside(self, team_id: uuid.UUID, is_set_aside: bool) -> None:
        """Stop counting a run that waits for people, or count it again."""
        if is_set_aside:
            self.remove(team_id)
        else:
            self.add(team_id)
