"""Presets and their versions as pages show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import orjson

from apps.accounts.principal import Principal
from apps.console.presets.differences import (
    changed_parts,
    setting_words,
)
from apps.presets.models import Preset, PresetVersion
from apps.presets.selectors import (
    content_of,
    description_of,
    may_change_preset,
    preset_version_list,
)
from apps.presets.templates import Template, template_read


@dataclass(frozen=True, slots=True)
class PresetRow:
    """A preset in a list."""

    preset: Preset
    description: str
    is_own: bool
    may_change: bool


@dataclass(frozen=True, slots=True)
class PresetVersionRow:
    """A version in the history of a preset."""

    version: PresetVersion
    changed: str | None
    """The names of the parts that it changed. None: it is the first one."""


@dataclass(frozen=True, slots=True)
class VersionText:
    """What a version says."""

    version: PresetVersion
    prompt: str
    system: str
    settings: Sequence[tuple[str, str]]
    """Label and value of those that are set."""
    template: Template


def preset_row(principal: Principal, preset: Preset) -> PresetRow:
    """Return a preset as the principal sees it."""
    actor = principal.actor
    return PresetRow(
        preset,
        description_of(preset),
        (preset.owner_type, preset.owner_id) == (actor.type, actor.id),
        may_change_preset(principal, preset),
    )


def version_text(version: PresetVersion) -> VersionText:
    """Return a version with what it says."""
    content = content_of(version)
    words = list(setting_words(content.settings).items())
    template = template_read(content.prompt)
    return VersionText(version, content.prompt, content.system, words, template)


def call_sample(text: VersionText) -> str:
    """Return the field of a request that uses a version, as JSON."""
    variables = {each.name: each.default or "…" for each in text.template.variables}
    named = {
        "id": str(text.version.preset_id),
        "version": text.version.number,
        "variables": variables,
    }
    return f'"preset": {orjson.dumps(named, option=orjson.OPT_INDENT_2).decode()}'


def version_rows(
    preset: Preset, versions: Sequence[PresetVersion]
) -> Iterator[PresetVersionRow]:
    """Yield successive versions, the newest first, with the names of what each changed.

    Only their texts are opened, and that of the one before them.
    """
    if not versions:
        return
    older = preset_version_list(preset).filter(number__lt=versions[-1].number)
    contents = [content_of(each) for each in (*versions, *older[:1])]
    for version, after, before in zip_longest(versions, contents, contents[1:]):
        if version is not None:
            changed = None if before is None else changed_parts(before, after)
            yield PresetVersionRow(version, changed)
