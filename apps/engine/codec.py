"""Turns events into records and back.

A record holds `data` (whole numbers, words, booleans, lists, null: what goes into the
hash chain) and `bodies` (content that is stored apart). Shapes are worked out once per
event class at import, because this runs for every event of every run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import orjson

from apps.engine.events import ALL_EVENTS, BODY, Event
from apps.engine.usage import Usage


class Record(NamedTuple):
    """An event in the shape a ledger stores."""

    action: str
    data: dict[str, Any]
    bodies: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    is_body: bool
    is_required: bool
    """False: records from before the field lack it."""
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


class _Shape(NamedTuple):
    fields: tuple[_Field, ...]
    plain_facts: tuple[str, ...]
    """Names of the fields that are recorded as they are."""
    other_facts: tuple[_Field, ...]
    bodies: tuple[_Field, ...]


def encode(event: Event) -> Record:
    """Return `event` as a record."""
    shape = _SHAPES[event.action]
    data = {name: getattr(event, name) for name in shape.plain_facts}
    for field in shape.other_facts:
        data[field.name] = field.encode(getattr(event, field.name))
    bodies: dict[str, str] = {}
    for field in shape.bodies:
        if text := field.encode(getattr(event, field.name)):
            bodies[field.name] = text  # an empty one needs no keeping
    return Record(event.action, data, bodies)


def decode(record: Record) -> Event:
    """Return the event that `encode` made `record` from.

    A missing body reads as an empty text: it was empty, or has been erased. A missing
    fact has its default: the record is older than the field.
    Raises: KeyError for an action that is no event of a run.
    """
    values = {
        field.name: field.decode(
            record.bodies.get(field.name, "")
            if field.is_body
            else record.data[field.name]
        )
        for field in _SHAPES[record.action].fields
        if field.is_body or field.is_required or field.name in record.data
    }
    event: Event = _CLASSES[record.action](**values)
    return event


def is_run_event(action: str) -> bool:
    """Say whether `action` names an event of the engine."""
    return action in _CLASSES


def _same(value: Any) -> Any:
    return value


def _encode_usage(usage: Usage) -> dict[str, int | bool]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "is_estimated": usage.is_estimated,
    }


def _decode_usage(values: dict[str, Any]) -> Usage:
    return Usage(**values)


def _encode_bodies(texts: tuple[str, ...]) -> str:
    return orjson.dumps(texts).decode()


def _decode_bodies(text: str) -> tuple[str, ...]:
    return tuple(orjson.loads(text)) if text else ()


def _deep_tuple(value: Any) -> Any:
    return tuple(_deep_tuple(v) for v in value) if isinstance(value, list) else value


def _deep_list(value: Any) -> Any:
    return [_deep_list(v) for v in value] if isinstance(value, tuple) else value


def _field(field: dataclasses.Field[Any], hint: Any) -> _Field:
    name, is_required = field.name, field.default is dataclasses.MISSING
    is_body = BODY in getattr(hint, "__metadata__", ())
    plain = get_args(hint)[0] if is_body else hint
    if plain is Usage:
        return _Field(name, False, is_required, _encode_usage, _decode_usage)
    if get_origin(plain) is tuple:
        if is_body:
            return _Field(name, True, is_required, _encode_bodies, _decode_bodies)
        return _Field(name, False, is_required, _deep_list, _deep_tuple)
    return _Field(name, is_body, is_required, _same, _same)


def _shape(cls: type[Event]) -> _Shape:
    hints = get_type_hints(cls, include_extras=True)
    fields = tuple(_field(f, hints[f.name]) for f in dataclasses.fields(cls))
    facts = [field for field in fields if not field.is_body]
    return _Shape(
        fields,
        plain_facts=tuple(field.name for field in facts if field.encode is _same),
        other_facts=tuple(field for field in facts if field.encode is not _same),
        bodies=tuple(field for field in fields if field.is_body),
    )


_CLASSES: Mapping[str, Any] = {cls.action: cls for cls in ALL_EVENTS}
_SHAPES: Mapping[str, _Shape] = {c.action: _shape(c) for c in ALL_EVENTS}
