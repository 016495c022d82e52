"""The shapes of the values that services take."""

from __future__ import annotations

import datetime as dt
from typing import Annotated
from uuid import UUID

import orjson
from pydantic import AfterValidator, Field, SecretStr, StringConstraints
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart, one_line
from apps.pools.attributes import (
    ConductorAttributes,
    EndpointAttributes,
    TierDocument,
    WorkerAttributes,
)
from apps.pools.models import Protocol, TierName
from apps.pools.pool_file import MAX_WORKERS
from apps.pools.value_types import (
    BaseUrl,
    Name,
    Usd,
    price_columns,
)

EARLIEST, LATEST = dt.date(2000, 1, 1), dt.date(2100, 1, 1)
"""A price from any other day is a mistyped one."""


def secret_complaint(secret: str) -> str:
    """Say what is wrong with a provider's key; empty: nothing is."""
    if not secret:
        return "must not be empty"
    if secret.startswith("{"):
        is_key = _service_account(secret)
        return "" if is_key else "is not the JSON key of a Google service account"
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        return "holds characters no key can have"
    return ""


def _usable_secret(value: SecretStr) -> SecretStr:
    secret = value.get_secret_value().strip()
    complaint = secret_complaint(secret)
    if complaint:
        raise PydanticCustomError("secret", "{why}", {"why": complaint})
    return SecretStr(_service_account(secret) or secret)


def _service_account(secret: str) -> str:
    """Return the JSON key of a service account without blanks; empty: it is none."""
    try:
        fields = orjson.loads(secret)
    except ValueError:
        return ""
    is_key = isinstance(fields, dict) and fields.get("type") == "service_account"
    return orjson.dumps(fields).decode() if is_key else ""


Secret = Annotated[SecretStr, Field(max_length=4000), AfterValidator(_usable_secret)]
Label = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
    AfterValidator(one_line),
]


def _not_empty(ids: tuple[UUID, ...]) -> tuple[UUID, ...]:
    # A plain min_length would complain a second time when an id is malformed.
    if not ids:
        raise PydanticCustomError("too_short", "must name at least one worker")
    return ids


WorkerIds = Annotated[
    tuple[UUID, ...], Field(max_length=MAX_WORKERS), AfterValidator(_not_empty)
]


class CredentialInput(InputPart):
    """A new credential. Its base URL decides where it is sent, for good."""

    name: Label
    base_url: BaseUrl
    secret: Secret


class CredentialChange(InputPart):
    """What may change of a credential: never where it is sent."""

    name: Label
    secret: Secret | None = None
    """None: keep the present one."""


class ListingInput(InputPart):
    """Whose models to list, and with which key."""

    base_url: BaseUrl
    protocol: Protocol = Protocol.OPENAI
    credential_id: UUID | None = None
    secret: Secret | None = None


class PriceInput(InputPart):
    """A price in US dollars per million tokens."""

    valid_from: Annotated[dt.date, Field(ge=EARLIEST, le=LATEST)] | None = None
    """None: from today on."""
    input_usd: Usd
    output_usd: Usd
    cached_input_usd: Usd | None = None
    """None: cached tokens cost as much as others."""

    def micros(self) -> dict[str, int | None]:
        """Return the price in whole micro-dollars, under the names of the table."""
        return price_columns(self.input_usd, self.output_usd, self.cached_input_usd)


class EndpointInput(EndpointAttributes):
    """Where a model is served: common to workers and conductors."""

    credential_id: UUID | None = None
    price: PriceInput | None = None
    """None: unknown."""


class WorkerInput(WorkerAttributes, EndpointInput):
    """A worker."""


class ConductorInput(ConductorAttributes, EndpointInput):
    """A model that plans."""


class PoolInput(InputPart):
    """A pool."""

    name: Name
    is_default: bool = False
    conductor_id: UUID | None = None
    worker_ids: WorkerIds
    """In the order in which the conductor sees them."""
    fallback_id: UUID
    """One of `worker_ids`. The first to take over when another one fails."""
    no_substitute_ids: tuple[UUID, ...] = Field(default=(), max_length=MAX_WORKERS)
    """Those of `worker_ids` that take over for no other, unless it is the fallback."""
    retries_refusals: bool = False
    """True: another worker is asked after one has refused the content."""
    tiers: dict[TierName, TierDocument | None] = {}
    """By name; null: the pool has no such tier."""
