"""The preset that a run's prompt was made with, as orders and records name it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from apps.engine.events import RunCreated


@dataclass(frozen=True, slots=True)
class PresetUse:
    """A version of a preset that a run came from."""

    preset_id: uuid.UUID
    version: int
    is_edited: bool = False
    """True: the text was changed by hand after its variables had been filled in."""


def preset_facts(use: PresetUse | None) -> dict[str, Any]:
    """Return what a run's first entry says of a preset, by the fields of the event."""
    if use is None:
        return {}
    return {
        "preset": str(use.preset_id),
        "preset_version": use.version,
        "is_preset_edited": use.is_edited,
    }


def preset_used(created: RunCreated) -> PresetUse | None:
    """Return the preset that a recorded run's prompt was made with; None: none."""
    if created.preset_version is None:
        return None
    preset_id = uuid.UUID(created.preset)
    return PresetUse(preset_id, created.preset_version, created.is_preset_edited)
