"""Issuing, changing, rotating and revoking API keys.

A key is shown once, as the result of `api_key_issue` or `api_key_rotate`; neither rows,
entries nor errors ever hold it. Every change is felt at once in this process and within
`CACHE_SECONDS` in others.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts import keys
from apps.accounts.digests import API_KEY, digests_of
from apps.accounts.models import DEFAULT_SCOPES, ApiKey, Team, User
from apps.accounts.services.fields import (
    clean_data_class,
    clean_delivery,
    clean_name,
    clean_progress,
    clean_requests_rate,
    clean_scopes,
    clean_tiers,
    clean_tokens_rate,
    clean_workers,
)
from apps.accounts.services.key_authentication import forget_keys
from apps.accounts.services.key_delegation import (
    Bounds,
    last_end,
    require_ends_within,
    require_within,
)
from apps.accounts.services.ledger_entries import apply_changes, record, to_seconds
from apps.audit.types import Actor, EntryDraft
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.core.validation import Cleaner, clean_fields, clean_switch

KEY_LIFETIME = timedelta(days=90)
MAX_KEY_LIFETIME = timedelta(days=3653)
"""Ten years."""
ROTATION_OVERLAP = timedelta(days=1)
"""How long a rotated key goes on working unless said otherwise."""


def _clean_lifetime(value: Any) -> timedelta:
    if not isinstance(value, timedelta) or value <= timedelta():
        raise ValueError("an API key must live for some time")
    if value > MAX_KEY_LIFETIME:
        raise ValueError(f"an API key lives at most {MAX_KEY_LIFETIME.days:,} days")
    return value


_SETTINGS: Mapping[str, Cleaner] = {
    "name": clean_name,
    "scopes": clean_scopes,
    "allowed_tiers": clean_tiers,
    "allowed_workers": clean_workers,
    "requests_per_minute": clean_requests_rate,
    "tokens_per_minute": clean_tokens_rate,
    "always_include_usage": clean_switch,
    "delivery": clean_delivery,
    "progress": clean_progress,
    "data_class": clean_data_class,
}
"""What a key keeps when it is rotated, and what can be changed."""


@transaction.atomic
def api_key_issue(
    *,
    team: Team,
    name: str,
    actor: Actor,
    created_by: User | None = None,
    scopes: Iterable[str] = DEFAULT_SCOPES,
    lifetime: timedelta | None = None,
    always_include_usage: bool = False,
    delivery: str | None = None,
    progress: str | None = None,
    data_class: str | None = None,
    allowed_tiers: Iterable[str] = (),
    allowed_workers: Iterable[str] = (),
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
    within: Bounds = None,
) -> tuple[ApiKey, str]:
    """Create a key; return its row and the key itself, which is not stored.

    `lifetime` of None: `KEY_LIFETIME`, but no longer than `within` lives. `within` is
    the key that asks for it, or its scopes; None if a person does. Raises:
    InvalidFields; NotAllowed for what reaches beyond `within`, in time too.
    """
    values = {
        "name": name,
        "scopes": scopes,
        "allowed_tiers": allowed_tiers,
        "allowed_workers": allowed_workers,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "always_include_usage": always_include_usage,
        "delivery": delivery,
        "progress": progress,
        "data_class": data_class,
        "lifetime": KEY_LIFETIME if lifetime is None else lifetime,
    }
    cleaned = clean_fields(values, {**_SETTINGS, "lifetime": _clean_lifetime})
    require_within(cleaned, within)
    expires_at = timezone.now() + cleaned.pop("lifetime")
    if lifetime is None:
        expires_at = _no_later(expires_at, within)
    require_ends_within(expires_at, within)
    api_key, secret = _make(team.id, created_by, expires_at, cleaned)
    record(team.id, _issued(api_key, actor))
    return api_key, secret


@transaction.atomic
def api_key_update(
    *,
    api_key: ApiKey,
    actor: Actor,
    within: Bounds = None,
    **changes: Any,
) -> ApiKey:
    """Change a key's name, scopes, tiers, workers, rates or ways of answering.

    `within` is the key that asks for it, or its scopes; None if a person does.
    Raises: InvalidFields; NotAllowed for what is new and reaches beyond `within`;
    Conflict if the key works no more; NotFound.
    """
    cleaned = clean_fields(changes, _SETTINGS)
    row = _locked(api_key, now=timezone.now())
    new = {name: v for name, v in cleaned.items() if v != getattr(row, name)}
    if "scopes" in new:
        new["scopes"] = [scope for scope in new["scopes"] if scope not in row.scopes]
    require_within(new, within)
    data = apply_changes(row, cleaned)
    if data is not None:
        facts = {"prefix": row.prefix, **data}
        updated = EntryDraft("api_key.updated", "api_key", row.id, actor, facts)
        record(row.team_id, updated)
        forget_keys([row.id])
    return row


@transaction.atomic
def api_key_rotate(
    *,
    api_key: ApiKey,
    actor: Actor,
    created_by: User | None = None,
    overlap: timedelta = ROTATION_OVERLAP,
    within: Bounds = None,
) -> tuple[ApiKey, str]:
    """Replace a key by a new one with the same settings and the same lifetime.

    The old one works for the overlap, but never longer than it would have. The new one
    is made by `created_by`, or else by who made the old one. `within` is the key that
    asks for it, or its scopes: the new key is in its hands, so it reaches no further
    and ends no later.
    Raises: Conflict if the key works no more or was rotated before; InvalidFields for a
    negative overlap; NotAllowed; NotFound.
    """
    if overlap < timedelta():
        raise InvalidFields({"overlap": ["it cannot be negative"]})
    now = timezone.now()
    old = _locked(api_key, now=now)
    if old.replaced_by_id is not None:
        raise Conflict("this key has been rotated already; rotate the one after it")
    kept = {name: getattr(old, name) for name in _SETTINGS}
    require_within(kept, within)
    expires_at = _no_later(now + (old.expires_at - old.created_at), within)
    new, secret = _make(old.team_id, created_by or old.created_by, expires_at, kept)
    before = old.expires_at
    if overlap < before - now:
        old.expires_at = now + overlap
    old.replaced_by = new
    old.save(update_fields=["expires_at", "replaced_by"])
    data = {
        "name": old.name,
        "prefix": old.prefix,
        "replaced_by": str(new.id),
        "before": {"expires_at": to_seconds(before)},
        "after": {"expires_at": to_seconds(old.expires_at)},
    }
    rotated = EntryDraft("api_key.rotated", "api_key", old.id, actor, data)
    record(old.team_id, rotated, _issued(new, actor))
    forget_keys([old.id])
    return new, secret


@transaction.atomic
def api_key_revoke(*, api_key: ApiKey, actor: Actor) -> ApiKey:
    """Revoke a key for good. Revoking it again changes nothing and records nothing."""
    now = timezone.now()
    row = ApiKey.objects.for_team(api_key.team_id).filter(pk=api_key.pk)
    if row.filter(revoked_at=None).update(revoked_at=now):
        api_key.revoked_at = now
        record(api_key.team_id, _revoked(api_key, actor))
    forget_keys([api_key.id])
    return api_key


def revoke_keys_of(*, team_id: uuid.UUID, user: User, actor: Actor) -> list[EntryDraft]:
    """Revoke the live keys that `user` made in a team; return the entries to record."""
    now = timezone.now()
    live = ApiKey.objects.for_team(team_id).filter(
        created_by=user, revoked_at=None, expires_at__gt=now
    )
    rows = list(live.select_for_update())
    ids = [row.id for row in rows]
    ApiKey.objects.for_team(team_id).filter(id__in=ids).update(revoked_at=now)
    forget_keys(ids)
    return [_revoked(row, actor, reason="its maker left the team") for row in rows]


def _no_later(expires_at: datetime, within: Bounds) -> datetime:
    """Return the end of a key, brought forward to that of the key that makes it."""
    last = last_end(within)
    return expires_at if last is None else min(expires_at, last)


def _locked(api_key: ApiKey, *, now: datetime) -> ApiKey:
    rows = ApiKey.objects.for_team(api_key.team_id).select_for_update()
    row = rows.filter(pk=api_key.pk).first()
    if row is None:
        raise NotFound("there is no such key in this team")
    if not row.is_live(now):
        raise Conflict("this key has been revoked or has expired; issue a new one")
    return row


def _make(
    team_id: uuid.UUID,
    created_by: User | None,
    expires_at: datetime,
    values: Mapping[str, Any],
) -> tuple[ApiKey, str]:
    key = keys.key_generate()
    api_key = ApiKey.objects.create(
        team_id=team_id,
        created_by=created_by,
        prefix=key.lookup,
        digest=digests_of(key.secret, purpose=API_KEY)[0],
        last_four=key.secret[-4:],
        expires_at=expires_at,
        **values,
    )
    return api_key, key.secret


def _issued(api_key: ApiKey, actor: Actor) -> EntryDraft:
    facts = {
        **{name: getattr(api_key, name) for name in _SETTINGS},
        "prefix": api_key.prefix,
        "expires_at": to_seconds(api_key.expires_at),
    }
    return EntryDraft("api_key.issued", "api_key", api_key.id, actor, facts)


def _revoked(api_key: ApiKey, actor: Actor, **more: str) -> EntryDraft:
    facts = {"name": api_key.name, "prefix": api_key.prefix, **more}
    return EntryDraft("api_key.revoked", "api_key", api_key.id, actor, facts)
