"""Changes to teams, members and API keys, and the resolving of a key that was sent.

Every change and its ledger entry commit together. A key is shown once, to the caller of
`api_key_issue`; neither rows, entries nor errors ever hold it.
"""

from __future__ import annotations

import hmac
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.text import slugify

from apps.accounts import keys
from apps.accounts.models import (
    DEFAULT_SCOPES,
    ApiKey,
    Membership,
    Role,
    Scope,
    Team,
    User,
)
from apps.accounts.types import KeyHolder
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import InvalidInput, NotAuthenticated
from apps.core.recent import Recent

KEY_LIFETIME = timedelta(days=90)
LAST_USED_PRECISION = timedelta(minutes=1)
"""A key's last use is written at most this often."""
ECHO_LENGTH = 8
"""How much of a refused key a message may repeat: the prefix and four more."""

_cache: Recent[str, KeyHolder] = Recent()
"""By digest of the key; never the key itself."""


# --- teams and members ---------------------------------------------------------------


@transaction.atomic
def team_create(
    *, name: str, actor: Actor, slug: str = "", owner: User | None = None
) -> Team:
    """Create a team and, if given, its first owner.

    Raises: InvalidInput if the slug (made of the name if not given) is bad or taken.
    """
    slug = slug or slugify(name)
    if not slug or slug != slugify(slug):
        raise InvalidInput(
            f"a team's slug is lower-case letters, digits and hyphens, not {slug!r}",
            param="slug",
        )
    if Team.objects.filter(slug=slug).exists():
        raise InvalidInput(f"there is a team {slug!r} already", param="slug")
    team = Team.objects.create(name=name, slug=slug)
    _record(team, "team.created", "team", team.id, actor, {"slug": slug, "name": name})
    if owner is not None:
        member_add(team=team, user=owner, role=Role.OWNER, actor=actor)
    return team


@transaction.atomic
def member_add(*, team: Team, user: User, role: Role, actor: Actor) -> Membership:
    """Make `user` a member of `team`.

    Raises: InvalidInput if they are one already.
    """
    membership, is_new = Membership.objects.for_team(team.id).get_or_create(
        team=team, user=user, defaults={"role": role}
    )
    if not is_new:
        raise InvalidInput(f"{user.email!r} is in team {team.slug!r} already")
    facts = {"user": str(user.id), "role": str(role)}
    _record(team, "member.added", "user", user.id, actor, facts)
    return membership


@transaction.atomic
def member_remove(*, team: Team, user: User, actor: Actor) -> None:
    """End a membership. The team's keys stay, whoever made them.

    Raises: InvalidInput if there is none, or it is the last owner's.
    """
    # Locking the team serialises two owners who remove each other.
    Team.objects.select_for_update().get(pk=team.pk)
    members = Membership.objects.for_team(team.id)
    membership = members.filter(user=user).first()
    if membership is None:
        raise InvalidInput(f"{user.email!r} is not in team {team.slug!r}")
    owners = members.filter(role=Role.OWNER)
    if membership.role == Role.OWNER and owners.count() == 1:
        raise InvalidInput(f"{user.email!r} is the last owner of team {team.slug!r}")
    membership.delete()
    facts = {"user": str(user.id), "role": membership.role}
    _record(team, "member.removed", "user", user.id, actor, facts)


# --- API keys ------------------------------------------------------------------------


@transaction.atomic
def api_key_issue(
    *,
    team: Team,
    name: str,
    actor: Actor,
    created_by: User | None = None,
    scopes: Iterable[str] = DEFAULT_SCOPES,
    lifetime: timedelta = KEY_LIFETIME,
    always_include_usage: bool = False,
) -> tuple[ApiKey, str]:
    """Create a key; return its row and the key itself, which nobody can read again.

    Raises: InvalidInput for an empty name, an unknown scope or no lifetime.
    """
    granted = _check_key_request(name, scopes, lifetime)
    key = keys.key_generate()
    api_key = ApiKey.objects.create(
        team=team,
        created_by=created_by,
        name=name.strip(),
        prefix=key.lookup,
        digest=_digests(key.secret)[0],
        last_four=key.secret[-4:],
        scopes=granted,
        expires_at=timezone.now() + lifetime,
        always_include_usage=always_include_usage,
    )
    facts = {
        "name": api_key.name,
        "prefix": api_key.prefix,
        "scopes": granted,
        "expires_at": api_key.expires_at.isoformat(timespec="seconds"),
    }
    _record(team, "api_key.issued", "api_key", api_key.id, actor, facts)
    return api_key, key.secret


@transaction.atomic
def api_key_revoke(*, api_key: ApiKey, actor: Actor) -> ApiKey:
    """Revoke a key for good. Revoking it again changes nothing and records nothing.

    It stops at once in this process, within `CACHE_SECONDS` in others.
    """
    now = timezone.now()
    row = ApiKey.objects.for_team(api_key.team_id).filter(pk=api_key.pk)
    if row.filter(revoked_at=None).update(revoked_at=now):
        api_key.revoked_at = now
        facts = {"name": api_key.name, "prefix": api_key.prefix}
        _record(api_key.team, "api_key.revoked", "api_key", api_key.id, actor, facts)
    transaction.on_commit(
        lambda: _cache.drop(lambda _, holder: holder.key_id == api_key.id)
    )
    return api_key


def api_key_peek(raw: str) -> KeyHolder | None:
    """Return the holder of a recently resolved key, without touching the database.

    For the event loop: never blocks. None says nothing about the key; ask
    `api_key_resolve` in a thread.
    """
    return _cache.get(_digests(raw)[0])


def api_key_resolve(raw: str, *, now: datetime) -> KeyHolder:
    """Return whom the key `raw` speaks for. Blocks on the database if it must.

    Raises: NotAuthenticated, saying what to do, if the key is missing, malformed,
    unknown, revoked or expired.
    """
    holder = api_key_peek(raw)
    if holder is not None and now < holder.expires_at:
        return holder
    parsed = _parse(raw)
    generation = _cache.generation
    api_key = _find(parsed)
    if api_key is None:
        raise _refusal(raw, "is not known here; check the address and the key")
    if api_key.revoked_at is not None:
        raise _refusal(raw, "has been revoked; ask an admin of your team for a new one")
    if now >= api_key.expires_at:
        day = api_key.expires_at.date().isoformat()
        raise _refusal(
            raw, f"expired on {day}; ask an admin of your team for a new one"
        )
    holder = _holder(api_key)
    lifetime_s = (api_key.expires_at - now).total_seconds()
    _cache.put(_digests(raw)[0], holder, lifetime_s=lifetime_s, generation=generation)
    _note_use(api_key, now)
    return holder


def api_key_cache_clear() -> None:
    """Forget every resolved key of this process, as a restart would."""
    _cache.clear()


def _check_key_request(
    name: str, scopes: Iterable[str], lifetime: timedelta
) -> list[str]:
    granted = sorted({str(scope) for scope in scopes})
    if not name.strip():
        raise InvalidInput("an API key needs a name", param="name")
    if not granted:
        raise InvalidInput("an API key needs at least one scope", param="scopes")
    unknown = [scope for scope in granted if scope not in Scope.values]
    if unknown:
        raise InvalidInput(
            f"unknown scope {unknown[0]!r}, expected one of {Scope.values!r}",
            param="scopes",
        )
    if lifetime <= timedelta():
        raise InvalidInput("an API key must live for some time", param="lifetime")
    return granted


def _parse(raw: str) -> keys.ParsedKey:
    if not raw:
        raise NotAuthenticated(
            "no API key was sent; send the header 'Authorization: Bearer cdk_…'"
        )
    parsed = keys.key_parse(raw)
    if parsed is None:
        raise _refusal(raw, "is not well formed; copy it again as a whole")
    return parsed


def _refusal(raw: str, complaint: str) -> NotAuthenticated:
    return NotAuthenticated(
        f"the API key that begins {raw[:ECHO_LENGTH]!r} {complaint}"
    )


def _find(parsed: keys.ParsedKey) -> ApiKey | None:
    # The one place without a team: the key is what tells us the team.
    api_key = ApiKey.objects.across_teams().filter(prefix=parsed.lookup).first()
    if api_key is None:
        return None
    matches = [
        hmac.compare_digest(api_key.digest, digest)
        for digest in _digests(parsed.secret)
    ]
    return api_key if any(matches) else None


def _holder(api_key: ApiKey) -> KeyHolder:
    return KeyHolder(
        team_id=api_key.team_id,
        key_id=api_key.id,
        display=api_key.name,
        scopes=frozenset(api_key.scopes),
        always_include_usage=api_key.always_include_usage,
        created_by_id=api_key.created_by_id,
        expires_at=api_key.expires_at,
    )


def _note_use(api_key: ApiKey, now: datetime) -> None:
    """Write the last use; only a cache miss comes here, so never the hot path."""
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_PRECISION)
    if (
        api_key.last_used_at is None
        or api_key.last_used_at <= now - LAST_USED_PRECISION
    ):
        rows = ApiKey.objects.for_team(api_key.team_id).filter(stale, pk=api_key.pk)
        rows.update(last_used_at=now)


def _digests(raw: str) -> list[str]:
    """Return the digest of `raw` under each pepper, the current one first."""
    peppers = _peppers((settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))
    return [keys.key_digest(raw, pepper=pepper) for pepper in peppers]


@lru_cache(maxsize=4)
def _peppers(site_secrets: tuple[str, ...]) -> tuple[bytes, ...]:
    """Derive the peppers from the site's secret key and its fallbacks.

    Not from the encryption keys: when those are rotated every sealed value is sealed
    anew and the old key thrown away, which a digest does not survive. `SECRET_KEY`
    has fallbacks made for this.
    """
    return tuple(
        hmac.digest(secret.encode(), b"conductor:api-key-digest:1", "sha256")
        for secret in site_secrets
    )


def _record(
    team: Team,
    action: str,
    subject_type: str,
    subject_id: uuid.UUID,
    actor: Actor,
    data: Mapping[str, Any],
) -> None:
    draft = EntryDraft(
        action=action,
        subject_type=subject_type,
        subject_id=subject_id,
        actor=actor,
        data=dict(data),
    )
    entries_append(batch=Batch(team_id=team.id, drafts=(draft,)))
