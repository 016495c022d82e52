"""What presets say, encrypted and read again. Each text is bound to its row."""

from __future__ import annotations

import hashlib
import uuid

import orjson

from apps.core.keyring import seal, unseal
from apps.presets.inputs import PresetContent, PresetSettings
from apps.presets.models import Preset, PresetVersion


def content_digest(content: PresetContent) -> str:
    """Return the SHA-256 of the JSON of a content, keys sorted, as hexadecimal digits.

    Its fields are `prompt`, `settings` and `system`.
    """
    return hashlib.sha256(_json(content)).hexdigest()


def content_seal(row: PresetVersion, content: PresetContent) -> bytes:
    """Return a content, encrypted for its version."""
    return seal(_json(content), context=_place(row.team_id, row.id))


def content_of(row: PresetVersion) -> PresetContent:
    """Return what a version says. Raises: SecretUnreadable."""
    opened = unseal(bytes(row.sealed), context=_place(row.team_id, row.id))
    # It was checked before it was stored, and bounds may have become tighter since.
    values = orjson.loads(opened)
    values["settings"] = PresetSettings.model_construct(**values["settings"])
    return PresetContent.model_construct(**values)


def description_seal(row: Preset, text: str) -> bytes:
    """Return a description, encrypted for its preset."""
    return seal(text.encode(), context=_place(row.team_id, row.id))


def description_of(row: Preset) -> str:
    """Return the description of a preset. Raises: SecretUnreadable."""
    context = _place(row.team_id, row.id)
    return unseal(bytes(row.sealed_description), context=context).decode()


def _json(content: PresetContent) -> bytes:
    values = {
        "prompt": content.prompt,
        "system": content.system,
        "settings": content.settings.model_dump(),
    }
    return orjson.dumps(values, option=orjson.OPT_SORT_KEYS)


def _place(team_id: uuid.UUID, row_id: uuid.UUID) -> bytes:
    return b"presets" + team_id.bytes + row_id.bytes
