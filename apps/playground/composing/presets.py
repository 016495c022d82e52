"""Presets in the composer: chosen from a list, filled in, and named by the run."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from apps.accounts.rights import READ_PRESETS, RUN
from apps.core.errors import NotFound
from apps.core.money import usd_text
from apps.playground.choices import PoolChoice, direct_models, pool_choices
from apps.playground.composing.settings import ComposerSettings
from apps.presets.composing import OpenedPreset, preset_compose, preset_open
from apps.presets.inputs import PresetSettings
from apps.presets.models import Preset
from apps.presets.selectors import access_preset, description_of, preset_list
from apps.runs.records.run_view import RunView
from apps.runs.types import PresetUse
from apps.web.preset_fields import preset_call_in, version_number
from apps.web.run_addresses import id_of
from apps.web.team_access import TeamRequest, page, team_view


@dataclass(frozen=True, slots=True)
class ComposerPreset:
    """A preset as the composer shows it."""

    opened: OpenedPreset
    parts: str
    """JSON: the pieces of the template, for the page's script."""
    settings: str
    """JSON: values by the names of the composer's fields, and `model`."""
    lost_model: str
    """The model that it names and no pool has. Empty: there is none."""


@dataclass(frozen=True, slots=True)
class UsedPreset:
    """The preset that a run came from, as its page names it."""

    use: PresetUse
    preset: Preset | None
    """None: it was deleted, or the member does not see it."""


@require_GET
@team_view
def preset_choices(request: TeamRequest) -> HttpResponseBase:
    """Return the presets to choose from, as a part of the page."""
    request.principal.require(RUN)
    request.principal.require(READ_PRESETS)
    presets = [(row, description_of(row)) for row in preset_list(request.principal)]
    return page(request, "playground/_preset_options.html", {"presets": presets})


@require_GET
@team_view
def preset_fields(request: TeamRequest, preset_id: uuid.UUID) -> HttpResponseBase:
    """Return the fields of a preset's variables, as a part of the page."""
    request.principal.require(RUN)
    opened = preset_open(request.principal, preset_id)
    shown = composer_preset(opened, pool_choices(request.team.id))
    return page(request, "playground/_preset.html", {"used": shown})


def preset_asked(
    request: TeamRequest, pools: Sequence[PoolChoice]
) -> ComposerPreset | None:
    """Return the preset in the address, for those who may run.

    Raises: NotFound, Conflict.
    """
    preset_id = id_of(request.GET.get("preset", ""))
    if preset_id is None or not request.can_run:
        return None
    version = version_number(request.GET.get("version", ""))
    return composer_preset(preset_open(request.principal, preset_id, version), pools)


def composer_preset(
    opened: OpenedPreset, pools: Sequence[PoolChoice]
) -> ComposerPreset:
    """Return a preset as the composer shows it."""
    parts = [
        {"variable": part.variable, "needed": part.variable not in defaults}
        if part.variable
        else {"text": part.text}
        for defaults in (opened.template.defaults,)
        for part in opened.template.parts
    ]
    settings = opened.content.settings
    fields = {
        "system": opened.content.system,
        "temperature": _text(settings.temperature),
        "max_steps": _text(settings.max_steps),
        "max_cost": _dollars(settings),
        "max_time_s": _text(settings.max_time_s),
        "data_class": settings.data_class or "",
        "model": settings.model,
    }
    is_lost = bool(settings.model) and not _place_of(settings.model, pools)
    return ComposerPreset(
        opened,
        orjson.dumps(parts).decode(),
        orjson.dumps(fields).decode(),
        settings.model if is_lost else "",
    )


def settings_with(
    chosen: dict[str, Any], used: ComposerPreset, pools: Sequence[PoolChoice]
) -> dict[str, Any]:
    """Return the settings that the page fills in, with those of a preset."""
    content, settings = used.opened.content, used.opened.content.settings
    shown = ComposerSettings(
        system=content.system,
        temperature=_text(settings.temperature),
        max_steps=_text(settings.max_steps),
        max_cost=_dollars(settings),
        max_time_s=_text(settings.max_time_s),
    )
    named = {"settings": shown, "data_class": settings.data_class}
    return {**chosen, **named, **_place_of(settings.model, pools)}


def preset_sent(request: TeamRequest, prompt: str) -> tuple[str, PresetUse | None]:
    """Return the prompt that a form says, and the preset that it was made with.

    Raises: NotFound, Conflict, InvalidInput for missing variables.
    """
    call = preset_call_in(request.POST)
    if call is None:
        return prompt, None
    composed = preset_compose(request.principal, call, text=prompt)
    return composed.text, composed.use


def preset_of_run(request: TeamRequest, story: RunView) -> UsedPreset | None:
    """Return the preset that a run came from; None: it came from none."""
    if story.preset is None:
        return None
    try:
        found = access_preset(request.principal, story.preset.preset_id)
    except NotFound:
        return UsedPreset(story.preset, None)
    return UsedPreset(story.preset, found)


def _place_of(model: str, pools: Sequence[PoolChoice]) -> dict[str, Any]:
    """Return what to choose for a model; empty: no pool has it, or there is none."""
    if model in direct_models(pools):
        return {"worker": model}
    for pool in pools:
        for tier in pool.tier_names:
            if pool.model(tier) == model:
                names = pool.tier_names
                return {"worker": "", "pool": pool.name, "tier": tier, "tiers": names}
    return {}


def _dollars(settings: PresetSettings) -> str:
    micros = settings.max_cost_micros
    return "" if micros is None else usd_text(micros)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
