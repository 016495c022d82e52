"""The resolving of an API key that was sent: the one service on every request's path.

A key that was resolved within the last `CACHE_SECONDS` costs no query. A change made in
this process is felt at once, one made in another when the remembered key is forgotten.
"""

from __future__ import annotations

import hmac
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Literal

from django.db import transaction
from django.db.models import Q

from apps.accounts import keys
from apps.accounts.digests import API_KEY, digests_of
from apps.accounts.errors import UnknownKey
from apps.accounts.guesses import guesses
from apps.accounts.models import ApiKey
from apps.accounts.types import KeyHolder, ProgressWord
from apps.core.errors import NotAuthenticated
from apps.core.ttl_cache import TtlCache

LAST_USED_PRECISION = timedelta(minutes=1)
"""A key's last use is written at most this often."""
ECHO_LENGTH = 8
"""How much of a refused key a message may repeat: the prefix and four more."""

_cache: TtlCache[str, KeyHolder] = TtlCache()
"""By digest of the key; never the key itself."""


def api_key_peek(raw: str) -> KeyHolder | None:
    """Return the holder of a recently resolved key, without touching the database.

    For the event loop: never blocks. None says nothing about the key; ask
    `api_key_resolve` in a thread.
    """
    return _cache.get(digests_of(raw, purpose=API_KEY)[0])


def api_key_resolve(raw: str, *, now: datetime) -> KeyHolder:
    """Return whom the key `raw` speaks for. Blocks on the database if it must.

    Raises: NotAuthenticated, saying what to do, if the key is missing, revoked or
    expired; UnknownKey if it is malformed or unknown.
    """
    holder = api_key_peek(raw)
    if holder is not None and now < holder.expires_at:
        return holder
    parsed = _parse(raw)
    generation = _cache.generation
    api_key = _find(parsed)
    if api_key is None:
        raise _unknown(raw, "is not known here; check the address and the key")
    _require_valid(api_key, raw, now)
    holder = _holder(api_key)
    lifetime_s = (api_key.expires_at - now).total_seconds()
    digest = digests_of(raw, purpose=API_KEY)[0]
    _cache.put(digest, holder, lifetime_s=lifetime_s, generation=generation)
    _note_use(api_key, now)
    return holder


def api_key_holder(
    team_id: uuid.UUID, key_id: uuid.UUID | None, *, now: datetime
) -> KeyHolder:
    """Return the holder of a key that was checked when the work began.

    For work in the background, before each part of it. Raises: NotAuthenticated if the
    key is no longer valid.
    """
    keys_of_team = ApiKey.objects.for_team(team_id).select_related("team", "created_by")
    api_key = keys_of_team.filter(id=key_id).first() if key_id else None
    if api_key is None:
        raise NotAuthenticated("the API key has been deleted")
    _require_valid(api_key, f"cdk_{api_key.prefix}", now)
    return _holder(api_key)


def unknown_key_note(address: str) -> None:
    """Count a key, unknown to this site, from an address. Never blocks.

    Raises: TooManyGuesses.
    """
    guesses.note(address)


def api_key_cache_clear() -> None:
    """Forget every resolved key of this process, as a restart would."""
    _cache.clear()


def forget_keys(key_ids: Collection[uuid.UUID]) -> None:
    """Let this process resolve these keys anew, once the transaction commits."""
    wanted = frozenset(key_ids)
    transaction.on_commit(
        lambda: _cache.drop(lambda _, holder: holder.key_id in wanted)
    )


def forget_team(team_id: uuid.UUID) -> None:
    """Let this process resolve a team's keys anew, once the transaction commits."""
    transaction.on_commit(
        lambda: _cache.drop(lambda _, holder: holder.team_id == team_id)
    )


def _parse(raw: str) -> keys.ParsedKey:
    if not raw:
        raise NotAuthenticated(
            "no API key was sent; send the header 'Authorization: Bearer cdk_…'"
        )
    parsed = keys.key_parse(raw)
    if parsed is None:
        raise _unknown(raw, "is not well formed; copy it again as a whole")
    return parsed


def _require_valid(api_key: ApiKey, raw: str, now: datetime) -> None:
    """Raise NotAuthenticated if the key is revoked or expired, or its maker is off."""
    if api_key.revoked_at is not None:
        raise _refusal(raw, "has been revoked; ask an admin of your team for a new one")
    if now >= api_key.expires_at:
        day = api_key.expires_at.date().isoformat()
        raise _refusal(
            raw, f"expired on {day}; ask an admin of your team for a new one"
        )
    maker = api_key.created_by
    if maker is not None and not maker.is_active:
        raise _refusal(raw, "was made by a person whose account is switched off")


def _refusal(raw: str, complaint: str) -> NotAuthenticated:
    return NotAuthenticated(_words(raw, complaint))


def _unknown(raw: str, complaint: str) -> UnknownKey:
    return UnknownKey(_words(raw, complaint))


def _words(raw: str, complaint: str) -> str:
    return f"the API key that begins {raw[:ECHO_LENGTH]!r} {complaint}"


def _find(parsed: keys.ParsedKey) -> ApiKey | None:
    # The one place without a team: the key is what tells us the team.
    rows = ApiKey.objects.across_teams().select_related("team", "created_by")
    api_key = rows.filter(prefix=parsed.lookup).first()
    if api_key is None:
        return None
    matches = [
        hmac.compare_digest(api_key.digest, digest)
        for digest in digests_of(parsed.secret, purpose=API_KEY)
    ]
    return api_key if any(matches) else None


def _holder(api_key: ApiKey) -> KeyHolder:
    return KeyHolder(
        team_id=api_key.team_id,
        team_slug=api_key.team.slug,
        team_name=api_key.team.name,
        key_id=api_key.id,
        display=api_key.name,
        scopes=frozenset(api_key.scopes),
        always_include_usage=api_key.always_include_usage,
        created_by_id=api_key.created_by_id,
        expires_at=api_key.expires_at,
        allowed_tiers=frozenset(api_key.allowed_tiers),
        allowed_workers=frozenset(api_key.allowed_workers),
        requests_per_minute=api_key.requests_per_minute,
        tokens_per_minute=api_key.tokens_per_minute,
        team_requests_per_minute=api_key.team.requests_per_minute,
        team_tokens_per_minute=api_key.team.tokens_per_minute,
        delivery=_delivery(api_key.delivery),
        progress=_progress(api_key.progress),
        data_class=api_key.data_class,
    )


def _delivery(word: str) -> Literal["live", "verified"] | None:
    match word:
        case "live" | "verified":
            return word
    return None


def _progress(word: str) -> ProgressWord | None:
    match word:
        case "reasoning" | "events" | "off":
            return word
    return None


def _note_use(api_key: ApiKey, now: datetime) -> None:
    """Write the last use; only a cache miss comes here, so never the hot path."""
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_PRECISION)
    if (
        api_key.last_used_at is None
        or api_key.last_used_at <= now - LAST_USED_PRECISION
    ):
        rows = ApiKey.objects.for_team(api_key.team_id).filter(stale, pk=api_key.pk)
        rows.update(last_used_at=now)
