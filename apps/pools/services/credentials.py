"""Changes to providers' keys. What is stored can be used and replaced, never read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count
from typing import Any

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import Conflict
from apps.core.input_parts import values_read
from apps.pools.base_urls import authority, scheme_of
from apps.pools.credentials import credential_holds, credential_seal
from apps.pools.models import Conductor, Credential, Worker
from apps.pools.pool_file_import import credential_put
from apps.pools.pool_transaction import PoolChange, differences, pool_change
from apps.pools.selectors import access_credential, credential_list
from apps.pools.service_inputs import CredentialChange, CredentialInput
from apps.pools.validation import Faults, address_fault

TAKEN = "there is a credential of this name for this address already"


def credential_set(
    *, team: Team, name: str, base_url: str, secret: str, actor: Actor
) -> Credential:
    """Store a provider's key for the origin of `base_url`, replacing an earlier one.

    Setting the same secret again changes nothing and records nothing.
    """
    with pool_change(team.id, actor) as change:
        row, kind = credential_put(
            team=team, name=name, base_url=base_url, secret=secret
        )
        if kind != "none":
            change.record("credential.set", row, **_bound(row))
    return row


def credential_create(
    *, team: Team, values: Mapping[str, Any], actor: Actor
) -> Credential:
    """Store a new key, bound to the origin of its base URL. Raises: InvalidFields."""
    given = values_read(CredentialInput, values)
    with pool_change(team.id, actor) as change:
        return _store(change, team, given, given.name)


def credential_keep(
    *, team: Team, values: Mapping[str, Any], actor: Actor
) -> Credential:
    """Return the credential that holds a key for an address, or store the key.

    A new one gets the given name, with a number if that is taken. Raises:
    InvalidFields.
    """
    given = values_read(CredentialInput, values)
    secret = given.secret.get_secret_value()
    with pool_change(team.id, actor) as change:
        rows = list(credential_list(team.id))
        bound = (row for row in rows if row.is_bound_to(given.base_url))
        kept = next((row for row in bound if credential_holds(row, secret)), None)
        if kept is not None:
            return kept
        name = _free_name(given.name, {row.name for row in rows})
        return _store(change, team, given, name)


def credential_update(
    *, credential: Credential, values: Mapping[str, Any], actor: Actor
) -> Credential:
    """Rename a credential or replace its secret. Raises: InvalidFields, NotFound."""
    team_id = credential.team_id
    with pool_change(team_id, actor) as change:
        row = access_credential(team_id, credential.id)
        given = values_read(CredentialChange, {"name": row.name, **values})
        others = Credential.objects.for_team(team_id).exclude(id=row.id)
        if others.filter(name=given.name, **_bound(row)).exists():
            raise Faults.of("name", TAKEN)
        facts: dict[str, Any] = dict(
            differences({"name": row.name}, {"name": given.name})
        )
        secret = given.secret.get_secret_value() if given.secret else ""
        if secret and not credential_holds(row, secret):
            credential_seal(row, secret)
            facts["is_secret_replaced"] = True
        if facts:
            row.name = given.name
            row.save()
            change.record("credential.updated", row, **_bound(row), **facts)
    return row


def credential_delete(*, credential: Credential, actor: Actor) -> None:
    """Forget a key for good. Raises: Conflict while a model uses it, NotFound."""
    team_id = credential.team_id
    with pool_change(team_id, actor) as change:
        row = access_credential(team_id, credential.id)
        users = [
            *_names(Worker.objects.for_team(team_id).filter(credential=row)),
            *_names(Conductor.objects.for_team(team_id).filter(credential=row)),
        ]
        if users:
            raise Conflict(f"credential {row.name!r} is used by {', '.join(users)}")
        before = {"name": row.name, **_bound(row)}
        change.record("credential.deleted", row, before=before)
        row.delete()


def _store(
    change: PoolChange, team: Team, given: CredentialInput, name: str
) -> Credential:
    bound = {"scheme": scheme_of(given.base_url), "host": authority(given.base_url)}
    rows = Credential.objects.for_team(team.id)
    faults = Faults()
    faults.add("base_url", address_fault(given.base_url))
    if rows.filter(name=name, **bound).exists():
        faults.add("name", TAKEN)
    faults.raise_any()
    row = Credential(team=team, name=name, **bound)
    credential_seal(row, given.secret.get_secret_value())
    row.save()
    change.record("credential.created", row, after={"name": row.name, **bound})
    return row


def _free_name(wanted: str, taken: Collection[str]) -> str:
    numbered = (f"{wanted} {number}" for number in count(2))
    return (
        wanted if wanted not in taken else next(n for n in numbered if n not in taken)
    )


def _bound(row: Credential) -> dict[str, str]:
    return {"scheme": row.scheme, "host": row.host}


def _names(rows: Any) -> list[str]:
    return [repr(name) for name in rows.values_list("name", flat=True)]
