"""Reads of presets: those that a member or API key may see, and what they say."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db.models import Q

from apps.accounts.models import Permission
from apps.accounts.principal import Principal
from apps.accounts.selectors import role_allows, roles_of
from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.presets.contents import content_of as content_of
from apps.presets.contents import description_of as description_of
from apps.presets.models import Preset, PresetVersion


def preset_list(
    principal: Principal, *, is_archived: bool | None = False
) -> TeamQuerySet[Preset]:
    """Return the presets that the principal sees, by name; None: archived ones too.

    They are its own and the shared ones. Owners and admins also see those of API keys
    and of people who have left, which nobody else could delete.
    """
    seen = _seen_unshared(principal) | Q(is_shared=True)
    rows = Preset.objects.for_team(principal.team_id).filter(seen)
    return rows if is_archived is None else rows.filter(is_archived=is_archived)


def presets_matching(rows: Sequence[Preset], words: str) -> list[Preset]:
    """Return those whose name, owner or description holds every one of the words."""
    wanted = words.casefold().split()
    return [row for row in rows if all(word in _searched(row) for word in wanted)]


def access_preset(principal: Principal, preset_id: uuid.UUID) -> Preset:
    """Return a preset that the principal sees. Raises: NotFound."""
    found = preset_list(principal, is_archived=None).filter(id=preset_id).first()
    if found is None:
        raise NotFound(f"there is no preset {str(preset_id)!r} that you may see")
    return found


def sees_unshared(principal: Principal, preset: Preset) -> bool:
    """Say whether the principal sees a preset even if nobody shares it."""
    rows = Preset.objects.for_team(principal.team_id).filter(id=preset.id)
    return rows.filter(_seen_unshared(principal)).exists()


def preset_version_list(preset: Preset) -> TeamQuerySet[PresetVersion]:
    """Return the versions of a preset, the newest first."""
    return PresetVersion.objects.for_team(preset.team_id).filter(preset=preset)


def access_preset_version(preset: Preset, number: int | None = None) -> PresetVersion:
    """Return a version; None: the newest. Raises: NotFound."""
    wanted = preset.newest if number is None else number
    found = preset_version_list(preset).filter(number=wanted).first()
    if found is None:
        raise NotFound(f"the preset has no version {wanted}")
    return found


def may_change_preset(principal: Principal, preset: Preset) -> bool:
    """Say whether the principal may change, share, archive and delete a preset.

    Its owner may, and the owners and admins of the team.
    """
    if principal.user and not role_allows(principal.role, Permission.RUN):
        return False
    actor = principal.actor
    is_own = (preset.owner_type, preset.owner_id) == (actor.type, actor.id)
    return is_own or _is_admin(principal)


def _seen_unshared(principal: Principal) -> Q:
    seen = Q(owner_type=principal.actor.type, owner_id=principal.actor.id)
    if _is_admin(principal):
        members = [str(each) for each in roles_of(principal.team_id)]
        seen |= ~Q(owner_type="user", owner_id__in=members)
    return seen


def _is_admin(principal: Principal) -> bool:
    """Say whether a person administers the team; an API key never does."""
    is_person = principal.user is not None
    return is_person and role_allows(principal.role, Permission.MANAGE_POOLS)


def _searched(row: Preset) -> str:
    return f"{row.name}\n{row.owner_name}\n{description_of(row)}".casefold()
