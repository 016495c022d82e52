"""Changes to providers' keys. What is stored can be used and replaced, never read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import Conflict
from apps.core.input_parts import values_read
from apps.pools.base_urls import authority, scheme_of
from apps.pools.credentials import credential_holds, credential_seal
from apps.pools.models import Conductor, Credential, Worker
from apps.pools.pool_file_import import credential_put
from apps.pools.pool_transaction import differences, pool_change
from apps.pools.selectors import access_credential
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
    bound = {"scheme": scheme_of(given.base_url), "host": authority(given.base_url)}
    with pool_change(team.id, actor) as change:
        rows = Credential.objects.for_team(team.id)
        faults = Faults()
        faults.add("base_url", address_fault(given.base_url))
        if rows.filter(name=given.name, **bound).exists():
            faults.add("name", TAKEN)
        faults.raise_any()
        row = Credential(team=team, name=given.name, **bound)
        credential_seal(row, given.secret.get_secret_value())
        row.save()
        change.record("credential.created", row, after={"name": row.name, **bound})
    return row


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


def _bound(row: Credential) -> dict[str, str]:
    return {"scheme": row.scheme, "host": row.host}


def _names(rows: Any) -> list[str]:
    return [repr(name) for name in rows.values_list("name", flat=True)]
