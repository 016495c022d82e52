"""From a preset and the values of its variables to a prompt with its settings."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from apps.accounts.principal import Principal
from apps.core.errors import Conflict, InvalidInput, PromptTooLong
from apps.core.money import usd_text
from apps.presets.contents import content_of
from apps.presets.inputs import PresetContent, PresetSettings
from apps.presets.models import Preset, PresetVersion
from apps.presets.selectors import access_preset, access_preset_version
from apps.presets.templates import Template, template_read
from apps.runs.types import PresetUse

SHOWN_NAMES = 5
"""Names of variables in an error."""


@dataclass(frozen=True, slots=True)
class PresetCall:
    """A preset, and what its variables stand for."""

    preset_id: uuid.UUID
    version: int | None = None
    """None: the newest."""
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenedPreset:
    """A version of a preset that can be used, read."""

    preset: Preset
    version: PresetVersion
    content: PresetContent
    template: Template


@dataclass(frozen=True, slots=True)
class ComposedPrompt:
    """A prompt that was made with a preset."""

    text: str
    system: str
    """Empty: none."""
    settings: PresetSettings
    use: PresetUse


def preset_open(
    principal: Principal, preset_id: uuid.UUID, version: int | None = None
) -> OpenedPreset:
    """Return a preset to be used. Raises: NotFound; Conflict if it is archived."""
    preset = access_preset(principal, preset_id)
    if preset.is_archived:
        raise Conflict(f"the preset {preset.name!r} is archived; no run can use it")
    row = access_preset_version(preset, version)
    content = content_of(row)
    return OpenedPreset(preset, row, content, template_read(content.prompt))


def preset_compose(
    principal: Principal,
    call: PresetCall,
    *,
    text: str | None = None,
    param: str = "preset",
) -> ComposedPrompt:
    """Return the prompt that a preset makes of its variables.

    `text` is what a person sends instead, who had the prompt in front of them: if it is
    still the template, the variables are filled in; if it is another text than the
    preset makes, it counts as edited. `param` names the field in errors.

    Raises: NotFound, Conflict; InvalidInput for missing and unknown variables.
    """
    opened = preset_open(principal, call.preset_id, call.version)
    template, values = opened.template, call.variables
    # What browsers do with a line feed at the beginning of a field is no edit.
    if text is None or text.strip() == opened.content.prompt.strip():
        _require_all(template, values, param)
        text, is_edited = _filled(template, values, param), False
    else:
        is_edited = not _makes(template, values, text)
    use = PresetUse(opened.preset.id, opened.version.number, is_edited)
    return ComposedPrompt(text, opened.content.system, opened.content.settings, use)


def limits_with_preset(
    settings: PresetSettings, own: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the field `conductor` of a request, with the limits of its preset.

    What the request says itself counts; null says nothing, so the preset's limit holds.
    """
    micros = settings.max_cost_micros
    limits = {
        "max_steps": settings.max_steps,
        "max_time_s": settings.max_time_s,
        "max_cost_usd": None if micros is None else usd_text(micros),
        "data_class": settings.data_class,
    }
    return _stated(limits) | _stated(own)


def _stated(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _filled(template: Template, values: Mapping[str, str], param: str) -> str:
    # Measured first: a long value in many places would fill the memory.
    size, most = template.filled_bytes(values), settings.MAX_PROMPT_BYTES
    if size > most:
        where = f"{param}.variables"
        raise PromptTooLong(
            f"{where}: with these values the prompt has {size:,} bytes; at most "
            f"{most:,} are accepted",
            param=where,
        )
    return template.fill(values)


def _makes(template: Template, values: Mapping[str, str], text: str) -> bool:
    """Return whether a text is what the template makes of the values."""
    if template.missing(values) or template.unknown(values):
        return False
    if template.filled_bytes(values) > settings.MAX_PROMPT_BYTES:
        return False
    return template.fill(values).strip() == text.strip()


def _require_all(template: Template, values: Mapping[str, str], param: str) -> None:
    where = f"{param}.variables"
    if unknown := template.unknown(values):
        known = [each.name for each in template.variables]
        has = f"it has {_names(known)}" if known else "it has none"
        raise InvalidInput(
            f"{where}: the preset has no variable {_names(unknown)}; {has}", param=where
        )
    if missing := template.missing(values):
        raise InvalidInput(
            f"{where}: no value is given for {_names(missing)}", param=where
        )


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:64]) for name in names[:SHOWN_NAMES])
    more = len(names) - SHOWN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
