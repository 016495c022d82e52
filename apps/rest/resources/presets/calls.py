"""The field `preset` of what starts runs: what it says, where nothing else is said."""

from __future__ import annotations

from typing import Any

from apps.accounts.principal import Principal
from apps.core.errors import InvalidInput
from apps.presets.composing import PresetCall, limits_with_preset, preset_compose
from apps.runs.types import PresetUse


def preset_filled_in(
    principal: Principal, values: dict[str, Any], *, has_model: bool = True
) -> PresetUse | None:
    """Put prompt and settings of a preset into a checked input; None: it names none.

    What the input says itself is kept. `has_model`: the input is for one model, which
    it or the preset must name; if not, the preset's model is left out.

    Raises: NotFound, Conflict, InvalidInput.
    """
    call = values.pop("preset", None)
    if call is None:
        return None
    wanted = PresetCall(call["id"], call.get("version"), call.get("variables", {}))
    composed = preset_compose(principal, wanted)
    settings = composed.settings
    defaults = {
        "system": composed.system or None,
        "model": (settings.model or None) if has_model else None,
        "temperature": settings.temperature,
    }
    values["prompt"] = composed.text
    values["conductor"] = limits_with_preset(settings, values.get("conductor") or {})
    for name, value in defaults.items():
        if values.get(name) is None and value is not None:
            values[name] = value
    if has_model and not values.get("model"):
        raise InvalidInput("model: the preset names none, so name one", param="model")
    return composed.use
