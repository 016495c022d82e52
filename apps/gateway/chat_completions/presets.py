"""The field `preset` of a chat completion: a preset makes the messages and settings.

`{"id": "…", "version": 3, "variables": {"name": "Bob"}}`; without `version` the newest
counts. What the request says itself counts before the settings of the preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from apps.accounts.principal import KeyPrincipal
from apps.core.errors import InvalidInput
from apps.core.money import usd_text
from apps.gateway.backend import Backend
from apps.gateway.parsing.json_fields import (
    read_integer,
    read_object,
    read_text,
    type_error,
)
from apps.presets.composing import ComposedPrompt, PresetCall
from apps.runs.types import PresetUse

FIELD = "preset"
AT = f"{FIELD}."
PARTS = frozenset({"id", "version", "variables"})
MOST_VERSION = 2**31 - 1


async def with_preset(
    body: Mapping[str, Any], principal: KeyPrincipal, backend: Backend
) -> tuple[Mapping[str, Any], PresetUse | None]:
    """Return the body with what its preset says in place of it; None: it names none.

    Raises: InvalidInput, NotFound, Conflict.
    """
    if body.get(FIELD) is None:
        return body, None
    call = _read_call(body)
    if body.get("messages"):
        raise InvalidInput(
            "messages: a preset makes the messages; send one of the two",
            param="messages",
        )
    composed = await backend.compose_preset(principal, call)
    return _filled_in(body, composed), composed.use


def _read_call(body: Mapping[str, Any]) -> PresetCall:
    given = read_object(body, FIELD) or {}
    if unknown := sorted(given.keys() - PARTS):
        name = f"{AT}{unknown[0][:64]}"
        raise InvalidInput(f"{name}: there is no such field", param=name)
    try:
        preset_id = UUID(read_text(given, "id", at=AT) or "")
    except ValueError as exc:
        where = f"{AT}id"
        raise InvalidInput(
            f"{where}: expected the id of a preset", param=where
        ) from exc
    variables = read_object(given, "variables", at=AT) or {}
    for name, value in variables.items():
        if not isinstance(value, str):
            raise type_error(f"{AT}variables.{name[:64]}", "a text", value)
    version = read_integer(given, "version", 1, MOST_VERSION, at=AT)
    return PresetCall(preset_id, version, variables)


def _filled_in(body: Mapping[str, Any], composed: ComposedPrompt) -> dict[str, Any]:
    settings, micros = composed.settings, composed.settings.max_cost_micros
    narrowing = {
        "max_steps": settings.max_steps,
        "max_time_s": settings.max_time_s,
        "max_cost_usd": None if micros is None else usd_text(micros),
        "data_class": settings.data_class,
    }
    messages = [{"role": "user", "content": composed.text}]
    if composed.system.strip():
        messages.insert(0, {"role": "system", "content": composed.system})
    filled = {name: value for name, value in body.items() if name != FIELD}
    defaults = {"model": settings.model or None, "temperature": settings.temperature}
    for name, value in defaults.items():
        if filled.get(name) is None and value is not None:
            filled[name] = value
    stated = {name: value for name, value in narrowing.items() if value is not None}
    own = filled.get("conductor")
    if stated and (own is None or isinstance(own, dict)):
        filled["conductor"] = stated | (own or {})
    return {**filled, "messages": messages}
