"""Checks of values against the settings and the team's other rows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, TypeVar

from django.conf import settings
from django.db import models

from apps.core.errors import InvalidFields
from apps.core.scoping import TeamQuerySet
from apps.llm.address_policy import (
    AddressPolicy,
    ForbiddenAddress,
    NetworkNotAllowed,
    PortNotAllowed,
)
from apps.pools.models import Credential
from apps.pools.providers.cloud_addresses import placeholder_of

RowT = TypeVar("RowT", bound=models.Model)
UNKNOWN = "does not exist"
"""Also the message for another team's rows, so that it does not reveal them."""


class Faults:
    """Collects what is wrong, field by field, so that a form can show all of it."""

    def __init__(self) -> None:
        self._fields: dict[str, list[str]] = {}

    def add(self, name: str, why: str) -> None:
        """Note a fault; an empty `why` is none."""
        if why:
            self._fields.setdefault(name, []).append(why)

    def raise_any(self) -> None:
        """Raise what was collected. Raises: InvalidFields."""
        if self._fields:
            raise InvalidFields(self._fields)

    @staticmethod
    def of(name: str, why: str) -> InvalidFields:
        """Return the error for a single fault."""
        return InvalidFields({name: [why]})


def address_fault(base_url: str) -> str:
    """Say why models must not be at this address; empty: they may."""
    if placeholder := placeholder_of(base_url):
        return f"replace {placeholder} with the name of your own"
    policy = AddressPolicy(settings.MODEL_NETWORKS, settings.MODEL_PORTS)
    try:
        policy.check_url(base_url)
    except NetworkNotAllowed as exc:
        return f"{exc}: {_who_allows('MODEL_NETWORKS')}"
    except PortNotAllowed as exc:
        return f"{exc}: {_who_allows('MODEL_PORTS')}"
    except ForbiddenAddress as exc:
        return str(exc)
    return ""


def _who_allows(setting: str) -> str:
    return f"the operator of this site can allow it with the setting {setting}"


def name_fault(rows: TeamQuerySet[Any], name: str, own_id: uuid.UUID | None) -> str:
    """Say that a name is taken by another row; empty: it is free."""
    others = rows.filter(name=name).exclude(pk=own_id)
    return "is taken already" if others.exists() else ""


def credential_of(
    team_id: uuid.UUID, credential_id: uuid.UUID | None, base_url: str, faults: Faults
) -> Credential | None:
    """Return the credential for an address, noting what is wrong with it."""
    if credential_id is None:
        return None
    row = Credential.objects.for_team(team_id).filter(id=credential_id).first()
    if row is None:
        faults.add("credential_id", UNKNOWN)
    elif not row.is_bound_to(base_url):
        faults.add(
            "credential_id",
            f"is bound to {row.origin} and is sent nowhere else: store the key again, "
            "as a new credential, to use it there",
        )
    return row


def merged(present: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the present values under the given ones, in groups too."""
    result = {**present, **given}
    for name, value in given.items():
        group = present.get(name)
        if isinstance(group, Mapping) and isinstance(value, Mapping):
            result[name] = {**group, **value}
    return result
