"""Making, changing and deleting teams."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models.deletion import ProtectedError, RestrictedError
from django.utils.module_loading import import_string
from django.utils.text import slugify

from apps.accounts.models import Role, Team, User
from apps.accounts.services.fields import (
    clean_name,
    clean_requests_rate,
    clean_tokens_rate,
)
from apps.accounts.services.key_authentication import forget_team
from apps.accounts.services.key_delegation import RATES, require_rates_kept
from apps.accounts.services.ledger_entries import apply_changes, lock_team, record
from apps.accounts.services.members import member_add
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor, EntryDraft
from apps.core.errors import InvalidFields
from apps.core.validation import Cleaner, clean_fields

SLUG_LENGTH = 60
NAMELESS_SLUG = "team"
"""Stands for a name in which no letter has a place in an address."""
_FIELDS: Mapping[str, Cleaner] = {
    "name": clean_name,
    "requests_per_minute": clean_requests_rate,
    "tokens_per_minute": clean_tokens_rate,
}


@transaction.atomic
def team_create(
    *, name: str, actor: Actor, slug: str = "", owner: User | None = None
) -> Team:
    """Create a team and, if given, its first owner.

    Without a slug one is made of the name, with a number if it is taken.
    Raises: InvalidFields if the name is bad, or the slug is bad or taken.
    """
    name = clean_fields({"name": name}, _FIELDS)["name"]
    slug = _check_slug(slug) if slug else _free_slug(name)
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name, slug=slug)
    except IntegrityError:
        raise _taken(slug) from None
    facts = {"slug": slug, "name": name}
    record(team.id, EntryDraft("team.created", "team", team.id, actor, facts))
    if owner is not None:
        member_add(team=team, user=owner, role=Role.OWNER, actor=actor)
    return team


@transaction.atomic
def team_update(
    *, team: Team, actor: Actor, within: KeyHolder | None = None, **changes: Any
) -> Team:
    """Change a team's name, requests_per_minute or tokens_per_minute.

    The team's keys follow new rates at once in this process, within `CACHE_SECONDS` in
    others. `within` is the key that asks, which may only tighten the rates; None if a
    person does. Raises: InvalidFields, NotAllowed, NotFound.
    """
    cleaned = clean_fields(changes, _FIELDS)
    row = lock_team(team.id)
    rates = {name: cleaned[name] for name in RATES if name in cleaned}
    require_rates_kept({name: getattr(row, name) for name in rates}, rates, within)
    data = apply_changes(row, cleaned)
    if data is not None:
        record(row.id, EntryDraft("team.updated", "team", row.id, actor, data))
        forget_team(row.id)
    return row


@transaction.atomic
def team_delete(*, team: Team, confirmation: str, actor: Actor) -> None:
    """Delete a team with all its rows; its ledger stays and tells of it.

    Its keys stop at once in this process, within `CACHE_SECONDS` in others.
    Raises: InvalidFields unless `confirmation` is the team's slug; Conflict if
    something of it must be kept; NotFound.
    """
    row = lock_team(team.id)
    if confirmation != row.slug:
        raise InvalidFields({"confirmation": [f"type {row.slug!r} to confirm"]})
    import_string(settings.TEAM_DELETE_CHECK)(row.id)
    facts = {"slug": row.slug, "name": row.name}
    record(row.id, EntryDraft("team.deleted", "team", row.id, actor, facts))
    forget_team(row.id)
    _delete_with_dependents(row)


def _delete_with_dependents(row: models.Model) -> None:
    # Rows of higher apps hold on to each other: a pool to its fallback. Whatever
    # protects a row of the team is of the team as well, so it goes first. One look
    # names only some of them, so look until nothing is left.
    while True:
        try:
            row.delete()
        except ProtectedError as exc:
            held_by = exc.protected_objects
        except RestrictedError as exc:
            held_by = exc.restricted_objects
        else:
            return
        for other in held_by:
            _delete_with_dependents(other)


def _check_slug(slug: str) -> str:
    if slug != slugify(slug) or len(slug) > SLUG_LENGTH:
        complaint = (
            f"a team's slug is at most {SLUG_LENGTH} lower-case letters, digits and "
            f"hyphens, not {slug!r}"
        )
        raise InvalidFields({"slug": [complaint]})
    if _is_id(slug):
        raise InvalidFields({"slug": ["a team's slug cannot look like an id"]})
    if Team.objects.filter(slug=slug).exists():
        raise _taken(slug)
    return slug


def _free_slug(name: str) -> str:
    stem = slugify(name)[:SLUG_LENGTH].strip("-_")
    if not stem or _is_id(stem):
        stem = NAMELESS_SLUG
    taken = set(
        Team.objects.filter(slug__startswith=stem[: SLUG_LENGTH - 8]).values_list(
            "slug", flat=True
        )
    )
    slug, number = stem, 1
    while slug in taken:
        number += 1
        slug = f"{stem[: SLUG_LENGTH - 8]}-{number}"
    return slug


def _is_id(slug: str) -> bool:
    # Teams are found by slug or id: one must never be taken for the other.
    try:
        uuid.UUID(slug)
    except ValueError:
        return False
    return True


def _taken(slug: str) -> InvalidFields:
    return InvalidFields({"slug": [f"there is a team {slug!r} already"]})
