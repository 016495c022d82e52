"""Says which requests explore, before they begin: a share that their team has chosen.

On the event loop. The choices of the whole site are read together, at most once in
`CACHE_SECONDS`, so a request costs no query.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import transaction

from apps.core.ids import is_sampled
from apps.core.single_flight import SingleFlight
from apps.core.ttl_cache import TtlCache
from apps.training.models import TrainingSettings

Shares = Mapping[UUID, int]
"""Percent of requests that explore, by team; one that is not there explores none."""
SALT = b"explores"
"""Whether a run explores says nothing about other samples that it is in."""
_shares: TtlCache[None, Shares] = TtlCache()


class LiveExploration:
    """Satisfies `executor.Exploration`."""

    def __init__(self) -> None:
        self._reads: SingleFlight[None, Shares] = SingleFlight(_read)

    async def explores(self, team_id: UUID, run_id: UUID) -> bool:
        """Say whether a run is drawn; the same run always is, or never."""
        shares = _shares.get(None)
        if shares is None:
            shares = await self._reads.get(None)
        return is_sampled(SALT + run_id.bytes, shares.get(team_id, 0))


def shares_forget() -> None:
    """Let this process read the choices anew, once the transaction commits."""
    transaction.on_commit(_shares.clear)


def _read_shares() -> Shares:
    """Return the choices of all teams that have given their consent. Blocks."""
    generation = _shares.generation
    rows = TrainingSettings.objects.across_teams().filter(
        learns_from_requests=True, explored_percent__gt=0
    )
    shares = dict(rows.values_list("team_id", "explored_percent"))
    _shares.put(None, shares, generation=generation)
    return shares


async def _read(_: None) -> Shares:
    read: Shares = await database_sync_to_async(_read_shares)()
    return read
