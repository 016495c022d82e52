"""Limits the requests to providers that a team may have in progress beside its runs.

Guarantees: no team has more than `MODEL_CALLS_PER_TEAM` tests, model lists and server
looks under way in this process; one more is refused at once, it never waits.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from django.conf import settings

from apps.pools.errors import TooManyModelCalls

RETRY_AFTER_S = 5


class TeamSlots:
    """Counts by team what is under way."""

    def __init__(self) -> None:
        self._taken: Counter[uuid.UUID] = Counter()
        self._lock = Lock()

    @contextmanager
    def slot(self, team_id: uuid.UUID) -> Iterator[None]:
        """Hold a slot while the block runs. Raises: TooManyModelCalls."""
        self._take(team_id)
        try:
            yield
        finally:
            self._give_back(team_id)

    def has_room(self, team_id: uuid.UUID) -> bool:
        """Say whether the team may have one more under way."""
        return self._taken[team_id] < settings.MODEL_CALLS_PER_TEAM

    def _take(self, team_id: uuid.UUID) -> None:
        limit = settings.MODEL_CALLS_PER_TEAM
        with self._lock:
            if self._taken[team_id] >= limit:
                raise TooManyModelCalls(
                    f"your team has {limit} tests, model lists and server looks under "
                    "way, which is its limit; try again when one of them is done",
                    retry_after_s=RETRY_AFTER_S,
                )
            self._taken[team_id] += 1

    def _give_back(self, team_id: uuid.UUID) -> None:
        with self._lock:
            self._taken[team_id] -= 1
            if not self._taken[team_id]:
                del self._taken[team_id]


model_calls = TeamSlots()
"""This process's."""
