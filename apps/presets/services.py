"""Changes to presets. Each one and its ledger entry commit together.

An entry has the digest of a version and no text of it; the name is a text of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.accounts.principal import Principal
from apps.accounts.rights import RUN
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.core.errors import Conflict, InvalidFields, NotAllowed, NotFound
from apps.core.input_parts import values_read
from apps.presets.contents import (
    content_digest,
    content_of,
    content_seal,
    description_of,
    description_seal,
)
from apps.presets.inputs import PresetChanges, PresetContent, PresetValues
from apps.presets.models import PRESET_NAME_LENGTH, Preset, PresetVersion
from apps.presets.selectors import access_preset_version, may_change_preset

MOST_PRESETS = 500
"""Of a team, archived ones included."""
MOST_VERSIONS = 1_000
"""Of one preset."""
COPY = " (copy)"
TEXTS = ("prompt", "system", "settings")
"""What a version holds."""


@transaction.atomic
def preset_create(*, principal: Principal, values: Mapping[str, Any]) -> Preset:
    """Create a preset with its first version.

    Raises: NotAllowed, InvalidFields, Conflict if the team has too many.
    """
    principal.require(RUN)
    return _create(principal, values_read(PresetValues, values))


@transaction.atomic
def preset_copy(
    *, principal: Principal, preset: Preset, number: int | None = None
) -> Preset:
    """Create a preset of the principal's own from a version; None: the newest.

    Raises: NotAllowed, NotFound, Conflict.
    """
    principal.require(RUN)
    version = access_preset_version(preset, number)
    content = content_of(version)
    name = preset.name[: PRESET_NAME_LENGTH - len(COPY)] + COPY
    values = PresetValues.model_construct(
        name=name,
        description=description_of(preset),
        prompt=content.prompt,
        system=content.system,
        settings=content.settings,
    )
    source = {"copied_from": str(preset.id), "copied_version": version.number}
    return _create(principal, values, source)


@transaction.atomic
def preset_update(
    *, principal: Principal, preset: Preset, values: Mapping[str, Any]
) -> Preset:
    """Change what is given. Other texts or settings make a new version.

    Raises: NotAllowed, InvalidFields, NotFound; Conflict also if `version` is given
    and is the newest one no more.
    """
    row = _locked(principal, preset)
    given = values_read(PresetChanges, values)
    if given.version not in (None, row.newest):
        newest = access_preset_version(row)
        raise Conflict(
            f"version {newest.number} was saved meanwhile, by {newest.created_by}"
        )
    _describe(row, given, principal)
    if any(getattr(given, name) is not None for name in TEXTS):
        before = content_of(access_preset_version(row))
        after = PresetContent.model_construct(
            **{
                name: getattr(before if getattr(given, name) is None else given, name)
                for name in TEXTS
            }
        )
        if content_digest(after) != content_digest(before):
            _add_version(row, after, principal)
    _switch(row, "is_shared", given.is_shared, ("shared", "unshared"), principal)
    words = ("archived", "unarchived")
    _switch(row, "is_archived", given.is_archived, words, principal)
    return row


@transaction.atomic
def preset_restore(*, principal: Principal, preset: Preset, number: int) -> Preset:
    """Make a new version that says what an older one said.

    Raises: NotAllowed, NotFound, Conflict if it is what the newest one says.
    """
    row = _locked(principal, preset)
    older = access_preset_version(row, number)
    if older.digest == access_preset_version(row).digest:
        raise Conflict(f"version {number} says what the newest version says")
    _add_version(row, content_of(older), principal, restores=number)
    return row


@transaction.atomic
def preset_delete(*, principal: Principal, preset: Preset) -> None:
    """Delete a preset with its versions for good. Runs that used it stay.

    Raises: NotAllowed, NotFound.
    """
    row = _locked(principal, preset)
    facts = {"versions": row.newest, "digest": access_preset_version(row).digest}
    _record(row, "deleted", principal, facts)
    row.delete()


def _create(
    principal: Principal,
    values: PresetValues,
    source: Mapping[str, Any] | None = None,
) -> Preset:
    # The team's row is locked: two requests at once would pass the limit.
    Team.objects.select_for_update().get(id=principal.team_id)
    if Preset.objects.for_team(principal.team_id).count() >= MOST_PRESETS:
        raise Conflict(f"a team has at most {MOST_PRESETS} presets; delete one first")
    actor = principal.actor
    row = Preset(
        team_id=principal.team_id,
        owner_type=actor.type,
        owner_id=actor.id,
        owner_name=actor.display[:200],
        name=values.name,
        is_shared=values.is_shared,
        changed_at=timezone.now(),
    )
    row.sealed_description = description_seal(row, values.description)
    row.save(force_insert=True)
    version = _store(row, values, principal)
    facts = {
        "version": version.number,
        "digest": version.digest,
        "is_shared": row.is_shared,
        **(source or {}),
    }
    _record(row, "created", principal, facts)
    return row


def _locked(principal: Principal, preset: Preset) -> Preset:
    """Return the row, locked, for one who may change it."""
    principal.require(RUN)
    rows = Preset.objects.for_team(principal.team_id).select_for_update()
    row = rows.filter(id=preset.id).first()
    if row is None:
        raise NotFound("this preset has been deleted")
    if not may_change_preset(principal, row):
        raise NotAllowed(
            "only its owner, and owners and admins of the team, may change a preset; "
            "copy it to make one of your own"
        )
    return row


def _describe(row: Preset, given: PresetChanges, principal: Principal) -> None:
    changed = []
    if given.name is not None and given.name != row.name:
        row.name = given.name
        changed.append("name")
    if given.description not in (None, description_of(row)):
        row.sealed_description = description_seal(row, given.description or "")
        changed.append("description")
    if changed:
        _save(row, "name", "sealed_description")
        _record(row, "updated", principal, {"changed": changed})


def _switch(
    row: Preset,
    field: str,
    value: bool | None,
    words: tuple[str, str],
    principal: Principal,
) -> None:
    if value is None or value == getattr(row, field):
        return
    setattr(row, field, value)
    _save(row, field)
    _record(row, words[0] if value else words[1], principal, {"version": row.newest})


def _add_version(
    row: Preset,
    content: PresetContent,
    principal: Principal,
    restores: int | None = None,
) -> None:
    if row.newest >= MOST_VERSIONS:
        why = f"a preset has at most {MOST_VERSIONS:,} versions; copy it to go on"
        raise InvalidFields({"prompt": [why]})
    row.newest += 1
    _save(row, "newest")
    version = _store(row, content, principal, restores)
    facts: dict[str, Any] = {"version": version.number, "digest": version.digest}
    if restores is not None:
        facts["restores"] = restores
    _record(row, "version_created", principal, facts)


def _store(
    row: Preset,
    content: PresetContent,
    principal: Principal,
    restores: int | None = None,
) -> PresetVersion:
    version = PresetVersion(
        team_id=row.team_id,
        preset=row,
        number=row.newest,
        digest=content_digest(content),
        restores=restores,
        created_by=principal.actor.display[:200],
    )
    version.sealed = content_seal(version, content)
    version.save(force_insert=True)
    return version


def _save(row: Preset, *fields: str) -> None:
    row.changed_at = timezone.now()
    row.save(update_fields=[*fields, "changed_at"])


def _record(
    row: Preset, word: str, principal: Principal, facts: Mapping[str, Any]
) -> None:
    action, texts = f"preset.{word}", {"name": row.name}
    draft = EntryDraft(action, "preset", row.id, principal.actor, facts, texts)
    entries_append(batch=Batch(row.team_id, (draft,)))
