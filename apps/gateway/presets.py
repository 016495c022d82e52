"""The field `preset` of a request: a preset makes the question and settings.

`{"id": "…", "version": 3, "variables": {"name": "Bob"}}`; without `version` the newest
counts. What the request says itself counts before the settings of the preset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from apps.accounts.principal import KeyPrincipal
from apps.core.errors import InvalidInput, NotFound
from apps.engine.messages import text_of
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
from apps.gateway.run_starter import ChatTask, request_digest
from apps.presets.composing import ComposedPrompt, PresetCall, limits_with_preset
from apps.runs.types import PresetUse, RunRecord

FIELD = "preset"
AT = f"{FIELD}."
PARTS = frozenset({"id", "version", "variables"})
MOST_VERSION = 2**31 - 1
ERASED = "(erased)"
"""Stands for the prompt of a run on record whose texts are gone."""


@dataclass(frozen=True, slots=True)
class QuestionFields:
    """How requests of one protocol say what is asked."""

    field: str
    """What holds the prompt, so that a request has it or a preset."""
    fields: Callable[[str, str], dict[str, Any]]
    """From a prompt and a system prompt, maybe empty, to fields of a request.

    What the request says itself stays, `field` apart."""


def _chat(text: str, system: str) -> dict[str, Any]:
    said = [{"role": "system", "content": system}] if system else []
    return {"messages": [*said, {"role": "user", "content": text}]}


def _with(name: str, system: str) -> dict[str, Any]:
    return {name: system} if system else {}


def _message(text: str, system: str) -> dict[str, Any]:
    asked = [{"role": "user", "content": text}]
    return {"messages": asked, **_with("system", system)}


CHAT = QuestionFields("messages", _chat)
TEXT = QuestionFields("prompt", lambda text, _: {"prompt": text})
RESPONSE = QuestionFields(
    "input", lambda text, system: {"input": text, **_with("instructions", system)}
)
MESSAGE = QuestionFields("messages", _message)


@dataclass(frozen=True, slots=True)
class FilledBody:
    """The body of a request, with what its preset says in place of it."""

    body: Mapping[str, Any]
    preset: PresetUse | None = None
    """None: it names none."""
    system: str = ""
    """The system prompt of the preset."""
    temperature: float | None = None
    """Of the preset. No field of the body: not every protocol goes as high."""
    is_repeat: bool = False
    """True: the request repeats one whose run is on record."""

    def asked(self, task: ChatTask) -> ChatTask:
        """Return the task that the body was read as, with what no body can say."""
        params = task.params
        if params.temperature is None and self.temperature is not None:
            params = replace(params, temperature=self.temperature)
        return replace(
            task, params=params, preset=self.preset, is_repeat=self.is_repeat
        )


async def filled_request(
    sent: Mapping[str, Any],
    question: QuestionFields,
    exchange: Exchange,
    principal: KeyPrincipal,
    backend: Backend,
    raw: bytes,
) -> FilledBody:
    """Return the body of a request that may be a repetition.

    Raises: InvalidInput, NotFound, Conflict, IdempotencyConflict.
    """
    record = await _repeated_run(sent, exchange, principal, backend, raw)
    if record is not None:
        return _of_record(sent, question, record)
    return await filled_body(sent, question, principal, backend)


async def filled_body(
    sent: Mapping[str, Any],
    question: QuestionFields,
    principal: KeyPrincipal,
    backend: Backend,
) -> FilledBody:
    """Return a body with what its preset says.

    Raises: InvalidInput, NotFound, Conflict.
    """
    if sent.get(FIELD) is None:
        return FilledBody(_without(sent) if FIELD in sent else sent)
    call = _read_call(sent)
    if sent.get(question.field):
        name = question.field
        raise InvalidInput(
            f"{name}: a preset makes the {name}; send one of the two", param=name
        )
    composed = await backend.compose_preset(principal, call)
    return _of_preset(sent, question, composed)


def refuse_preset(body: Mapping[str, Any]) -> None:
    """Refuse a preset where it can't make what is asked. Raises: InvalidInput."""
    if body.get(FIELD) is not None:
        raise InvalidInput("preset: not possible here", param=FIELD)


async def _repeated_run(
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


def _of_record(
    sent: Mapping[str, Any], question: QuestionFields, record: RunRecord
) -> FilledBody:
    """Return a body that asks for a run on record again; its answer is what counts."""
    first = record.messages[0] if record.messages else None
    system = text_of(first) if first and first["role"] == "system" else ""
    kept = _without(sent)
    kept["model"] = kept.get("model") or record.model
    body = _with_question(kept, question, record.prompt or ERASED, system)
    temperature = record.params.get("temperature")
    return FilledBody(body, None, system, temperature, is_repeat=True)


def _of_preset(
    sent: Mapping[str, Any], question: QuestionFields, composed: ComposedPrompt
) -> FilledBody:
    settings, kept = composed.settings, _without(sent)
    system = composed.system if composed.system.strip() else ""
    kept["model"] = kept.get("model") or settings.model or None
    own = kept.get("conductor")
    if own is None or isinstance(own, dict):
        kept["conductor"] = limits_with_preset(settings, own or {})
    body = _with_question(kept, question, composed.text, system)
    return FilledBody(body, composed.use, system, settings.temperature)


def _with_question(
    kept: Mapping[str, Any], question: QuestionFields, text: str, system: str
) -> dict[str, Any]:
    made = question.fields(text, system)
    own = {n: v for n, v in kept.items() if n != question.field and v is not None}
    return {**made, **own}


def _without(sent: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sent.items() if name != FIELD}


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
