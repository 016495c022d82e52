"""The field `preset` of a chat completion: a preset makes the messages and settings.

`{"id": "…", "version": 3, "variables": {"name": "Bob"}}`; without `version` the newest
counts. What the request says itself counts before the settings of the preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from apps.accounts.principal import KeyPrincipal
from apps.core.errors import InvalidInput, NotFound
from apps.gateway.backend import Backend
from apps.gateway.exchange import Exchange
from apps.gateway.idempotency import idempotency_key
from apps.gateway.parsing.json_fields import (
    read_integer,
    read_object,
    read_text,
    type_error,
)
from apps.gateway.run_handles import was_given_up
from apps.gateway.run_starter import request_digest
from apps.presets.composing import ComposedPrompt, PresetCall, limits_with_preset
from apps.runs.types import PresetUse, RunRecord

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


async def repeated_run(
    body: Mapping[str, Any],
    exchange: Exchange,
    principal: KeyPrincipal,
    backend: Backend,
    raw: bytes,
) -> RunRecord | None:
    """Return the run that a request of a preset repeats by its Idempotency-Key.

    None: it repeats none, or one that its client gave up. The preset may have changed
    since, or be gone. Raises: InvalidInput, IdempotencyConflict.
    """
    key = idempotency_key(exchange)
    if key is None or body.get(FIELD) is None:
        return None
    digest = request_digest(exchange, principal, raw)
    run_id = await backend.holder(principal.team_id, key, digest)
    if run_id is None:
        return None
    try:
        record = await backend.run_record(principal.team_id, run_id)
    except NotFound:  # claimed this moment
        return None
    is_free = record.summary is not None and was_given_up(record.summary)
    return None if is_free else record


def without_preset(body: Mapping[str, Any], record: RunRecord) -> Mapping[str, Any]:
    """Return a body that asks for a run on record again, without its preset."""
    kept = {name: value for name, value in body.items() if name != FIELD}
    kept["model"] = kept.get("model") or record.model
    # The prompt is empty once it is erased; the answer of the run is what counts.
    kept["messages"] = [{"role": "user", "content": record.prompt or "(erased)"}]
    return kept


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
    settings = composed.settings
    messages = [{"role": "user", "content": composed.text}]
    if composed.system.strip():
        messages.insert(0, {"role": "system", "content": composed.system})
    filled = {name: value for name, value in body.items() if name != FIELD}
    defaults = {"model": settings.model or None, "temperature": settings.temperature}
    for name, value in defaults.items():
        if filled.get(name) is None and value is not None:
            filled[name] = value
    own = filled.get("conductor")
    if own is None or isinstance(own, dict):
        filled["conductor"] = limits_with_preset(settings, own or {})
    return {**filled, "messages": messages}
