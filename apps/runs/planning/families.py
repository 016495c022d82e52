"""Families of tasks that callers name: what may be one, and how many a team has.

Figures are kept by family, so their number is bounded: beyond MAX_FAMILIES a new name
counts as OTHER. A name that was admitted stays admitted.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from channels.db import database_sync_to_async
from django.db import transaction

from apps.accounts.models import Team
from apps.core.errors import InvalidInput
from apps.core.single_flight import SingleFlight
from apps.core.ttl_cache import TtlCache
from apps.core.validation import clean_text
from apps.pools.worker_figures.profiles import FAMILY_LENGTH
from apps.runs.models import NOT_BY_CALLERS, RunFamily
from apps.runs.types import RunOrder

MAX_FAMILIES = 100
"""Names of a team's callers: as many rows as a page can compare."""
OTHER = "other"
"""The family of a run whose caller names one more than that."""
NONE_WORD = "-"
"""Stands for runs without a family in addresses, so it is no name."""
FamilyKey = tuple[uuid.UUID, str]
_admitted: TtlCache[FamilyKey, str] = TtlCache()


def family_read(value: Any, *, param: str) -> str:
    """Return the family that a caller names; empty: None is given.

    Raises: InvalidInput.
    """
    if value is None:
        return ""
    try:
        name = clean_text(value, "family", FAMILY_LENGTH)
    except ValueError as exc:
        raise InvalidInput(f"{param}: {exc}", param=param) from exc
    if name == NONE_WORD:
        raise InvalidInput(f"{param}: {NONE_WORD!r} is no name", param=param)
    return name


class FamilyNames:
    """Bounds the families of new orders, on the event loop."""

    def __init__(self) -> None:
        self._reads: SingleFlight[FamilyKey, str] = SingleFlight(_admit)

    async def bounded(self, order: RunOrder) -> RunOrder:
        """Return an order whose family is one of its team's.

        Families of evaluations are those of stored tasks, and a shadow test has that of
        the run that it repeats. Raises: DatabaseError.
        """
        if not order.family or order.source in NOT_BY_CALLERS:
            return order
        key = (order.team_id, order.family)
        name = _admitted.get(key) or await self._reads.get(key)
        return replace(order, family=name)


async def _admit(key: FamilyKey) -> str:
    generation = _admitted.generation
    name: str = await database_sync_to_async(family_admit)(*key)
    _admitted.put(key, name, generation=generation)
    return name


def family_admit(team_id: uuid.UUID, name: str) -> str:
    """Return the family that a name counts as; the team has it from now on."""
    rows = RunFamily.objects.for_team(team_id)
    if name == OTHER or rows.filter(name=name).exists():
        return name
    if rows.count() >= MAX_FAMILIES:
        return OTHER
    with transaction.atomic():
        # One at a time, so that several processes do not pass the bound together.
        team = Team.objects.select_for_update(no_key=True).filter(id=team_id)
        if not team.values_list("id", flat=True) or rows.count() >= MAX_FAMILIES:
            return OTHER
        rows.get_or_create(team_id=team_id, name=name)
    return name


def family_names(team_id: uuid.UUID) -> list[str]:
    """Return the families that callers of a team have named, by name."""
    rows = RunFamily.objects.for_team(team_id).order_by("name")
    return list(rows.values_list("name", flat=True))
