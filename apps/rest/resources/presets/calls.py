"""The field `preset` of a run to start: what the preset says, where nothing else is."""

from __future__ import annotations

from typing import Any

from apps.accounts.principal import Principal
from apps.core.errors import InvalidInput
from apps.core.money import usd_text
from apps.presets.composing import ComposedPrompt, PresetCall, preset_compose
from apps.runs.types import PresetUse


def preset_filled_in(principal: Principal, values: dict[str, Any]) -> PresetUse | None:
    """Put prompt and settings of a preset into a checked input; None: it names none.

    What the input says itself is kept. Raises: NotFound, Conflict, InvalidInput.
    """
    call = values.pop("preset", None)
    if call is None:
        return None
    wanted = PresetCall(call["id"], call.get("version"), call.get("variables", {}))
    composed = preset_compose(principal, wanted)
    narrowing, defaults = _settings(composed)
    values["prompt"] = composed.text
    values["conductor"] = narrowing | values.get("conductor", {})
    values |= {n: v for n, v in defaults.items() if n not in values}
    if "model" not in values:
        raise InvalidInput("model: the preset names none, so name one", param="model")
    return composed.use


def _settings(composed: ComposedPrompt) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what narrows the run, and what else the preset says of it."""
    settings, micros = composed.settings, composed.settings.max_cost_micros
    narrowing = {
        "max_steps": settings.max_steps,
        "max_time_s": settings.max_time_s,
        "max_cost_usd": None if micros is None else usd_text(micros),
        "data_class": settings.data_class,
    }
    defaults = {
        "system": composed.system or None,
        "model": settings.model or None,
        "temperature": settings.temperature,
    }
    return _stated(narrowing), _stated(defaults)


def _stated(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
