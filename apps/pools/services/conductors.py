"""Changes to conductors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.accounts.models import Team
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.core.errors import Conflict
from apps.pools.models import Conductor, Pool
from apps.pools.pool_transaction import PoolChange, differences, pool_change
from apps.pools.selectors import access_conductor
from apps.pools.serializers import conductor_values, recorded_values
from apps.pools.service_inputs import ConductorInput
from apps.pools.services.endpoints import endpoint_create, endpoint_update


def conductor_create(
    *,
    team: Team,
    values: Mapping[str, Any],
    actor: Actor,
    within: KeyHolder | None = None,
) -> Conductor:
    """Create a conductor. It plans for no pool yet.

    `within` is the key that makes the change; None if a person does. Raises:
    InvalidFields; NotAllowed for a price that `within` cannot set.
    """
    with pool_change(team.id, actor, within=within) as change:
        row = endpoint_create(Conductor, ConductorInput, team, values)
        change.record("conductor.created", row, after=recorded_values(row))
    return access_conductor(team.id, row.id)


def conductor_update(
    *,
    conductor: Conductor,
    values: Mapping[str, Any],
    actor: Actor,
    within: KeyHolder | None = None,
) -> Conductor:
    """Change the given values of a conductor, in every pool it plans for.

    A price without a day is in force from today; null makes it unknown. Changes for
    runs that begin afterwards. `within` is the key that makes the change; None if a
    person does. Raises: InvalidFields; NotAllowed for a price that `within` cannot set;
    NotFound.
    """
    with pool_change(conductor.team_id, actor, within=within) as change:
        return conductor_put(change, conductor, values)


def conductor_put(
    change: PoolChange, conductor: Conductor, values: Mapping[str, Any]
) -> Conductor:
    """Change the given values of a conductor as a part of a change.

    Raises: as `conductor_update`.
    """
    row = access_conductor(conductor.team_id, conductor.id)
    before = recorded_values(row)
    endpoint_update(row, ConductorInput, conductor_values(row), values)
    row = access_conductor(conductor.team_id, conductor.id)
    changed = differences(before, recorded_values(row))
    if changed:
        change.record("conductor.updated", row, **changed)
    return row


def conductor_delete(*, conductor: Conductor, actor: Actor) -> None:
    """Delete a conductor and its prices. Raises: Conflict while in a pool, NotFound."""
    team_id = conductor.team_id
    with pool_change(team_id, actor) as change:
        row = access_conductor(team_id, conductor.id)
        pools = Pool.objects.for_team(team_id).filter(conductor=row)
        names = [repr(name) for name in pools.values_list("name", flat=True)]
        if names:
            raise Conflict(f"conductor {row.name!r} plans for pool {', '.join(names)}")
        change.record("conductor.deleted", row, before=recorded_values(row))
        row.delete()
