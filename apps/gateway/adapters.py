"""The gateway's backend over Django's services; the only sync/async bridge here."""

from __future__ import annotations

from channels.db import database_sync_to_async
from django.utils import timezone

from apps.accounts.services import api_key_peek, api_key_resolve
from apps.accounts.types import KeyHolder
from apps.core.single_flight import SingleFlight
from apps.pools.selectors import pool_list
from apps.runs.services import run_start
from apps.runs.types import LiveRun, RunOrder


class DjangoBackend:
    """Answers from memory where it can and asks the database in a thread otherwise."""

    def __init__(self) -> None:
        self._keys: SingleFlight[str, KeyHolder] = SingleFlight(_resolve)

    async def authenticate(self, raw_key: str) -> KeyHolder:
        """Return whom the key speaks for. Raises: NotAuthenticated."""
        return api_key_peek(raw_key) or await self._keys.get(raw_key)

    async def model_names(self, holder: KeyHolder) -> tuple[str, ...]:
        """Return the model names that a key may use, in order."""
        names: tuple[str, ...]
        names = await database_sync_to_async(_read_model_names)(holder)
        return names

    async def start_run(self, order: RunOrder) -> LiveRun:
        """Start a run.

        Raises: InvalidInput, NotFound, NotAllowed, BudgetExceeded, Overloaded.
        """
        return await run_start(order)


async def _resolve(raw_key: str) -> KeyHolder:
    holder: KeyHolder
    resolve = database_sync_to_async(api_key_resolve)
    holder = await resolve(raw_key, now=timezone.now())
    return holder


def _read_model_names(holder: KeyHolder) -> tuple[str, ...]:
    default: list[str] = []
    named: list[str] = []
    direct: list[str] = []
    for pool in pool_list(holder.team_id):
        places = pool.places.filter(worker__is_enabled=True)
        workers = [
            name
            for name in places.values_list("worker__name", flat=True)
            if name in (holder.allowed_workers or {name})
        ]
        tiers = [
            tier.name
            for tier in pool.tiers.all()
            if workers and tier.name in (holder.allowed_tiers or {tier.name})
        ]
        named += [f"{pool.name}/{tier}" for tier in tiers]
        if pool.is_default:
            default = [f"conductor-{tier}" for tier in tiers]
            direct = [f"worker/{name}" for name in workers]
    return (*default, *named, *direct)
