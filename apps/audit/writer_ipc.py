"""Messages between a serving process and its writer: batches one way, results back.

Plain values by `marshal`, each message with its length before it. Both ends are the
same program, started together, so the form needs no version. Pickles of the same
objects take three times as long, twice for every run's commit.
"""

from __future__ import annotations

import marshal
import pickle  # nosec B403
import struct
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import DatabaseError

from apps.audit.append import PLAIN_TYPES
from apps.audit.errors import NotCanonical
from apps.audit.group_commit import Result
from apps.audit.types import Actor, Batch, EntryDraft, RowWrite

LENGTH = struct.Struct("!I")
"""Goes before each message."""

Answer = tuple[int, Result]
"""The number a batch came with, and what became of it."""


class Messages:
    """Puts a stream of bytes together to messages."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """Return the messages that are complete now, still packed."""
        self._rest += data
        found, start = [], 0
        while (begin := start + LENGTH.size) <= len(self._rest):
            end = begin + LENGTH.unpack_from(self._rest, start)[0]
            if end > len(self._rest):
                break
            found.append(marshal.loads(self._rest[begin:end]))  # nosec B302
            start = end
        del self._rest[:start]
        return found


def pack_message(packed: Any) -> bytes:
    """Return a message of plain values as it travels. Raises: ValueError."""
    payload = marshal.dumps(packed)
    return LENGTH.pack(len(payload)) + payload


# --- batches -------------------------------------------------------------------------


def pack_batch(number: int, batch: Batch) -> bytes:
    """Return the message that brings `batch`. Raises: NotCanonical."""
    drafts = [_pack_draft(draft) for draft in batch.drafts]
    writes = [
        (write.sql, _pack_params(write.params), write.phase, write.must_change_row)
        for write in batch.writes
    ]
    parts = (number, batch.team_id.bytes, drafts, writes)
    try:
        return pack_message(parts)
    except ValueError:
        return _pack_with_care(parts)


def _pack_with_care(parts: Any) -> bytes:
    """Pack what holds words of an enumeration, or nothing that can be held at all."""
    try:
        return pack_message(_plain(parts))
    except (ValueError, RecursionError) as exc:
        raise NotCanonical(f"the ledger cannot hold this: {exc}") from exc


def _plain(value: Any) -> Any:
    """Return `value` with exact types where it has subclasses of them."""
    match value:
        case bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case dict():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case tuple():
            return tuple([_plain(item) for item in value])
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def unpack_batch(packed: Any) -> tuple[int, Batch]:
    """Return what `pack_batch` took."""
    number, team, drafts, writes = packed
    return number, Batch(
        _uuid(team),
        tuple([_unpack_draft(*draft) for draft in drafts]),
        tuple([RowWrite(sql, _unpack_params(p), *how) for sql, p, *how in writes]),
    )


def _pack_draft(draft: EntryDraft) -> tuple[Any, ...]:
    action, subject_type, subject_id, actor, data, bodies, outcome = draft
    return (
        action,
        subject_type,
        subject_id.bytes,
        (actor.type, actor.id, actor.display, actor.on_behalf_of),
        dict(data),
        dict(bodies),
        outcome,
        dict(actor.context),
    )


def _unpack_draft(
    action: str,
    subject_type: str,
    subject: bytes,
    actor: tuple[str, ...],
    data: dict[str, Any],
    bodies: dict[str, str],
    outcome: str,
    context: dict[str, str],
) -> EntryDraft:
    who = replace(_actor(actor), context=context) if context else _actor(actor)
    return EntryDraft(action, subject_type, _uuid(subject), who, data, bodies, outcome)


def _pack_params(params: tuple[Any, ...]) -> list[Any]:
    plain = PLAIN_TYPES
    return [p if type(p) in plain else _pack_param(p) for p in params]


def _pack_param(param: Any) -> Any:
    """Return `param` as plain values: a tuple stands for what is none itself."""
    if isinstance(param, UUID):
        return (param.bytes,)
    if isinstance(param, datetime):
        return (param.isoformat(),)
    return param.value if isinstance(param, Enum) else param


def _unpack_params(packed: list[Any]) -> tuple[Any, ...]:
    return tuple([_unpack_param(*p) if type(p) is tuple else p for p in packed])


def _unpack_param(packed: bytes | str) -> Any:
    return _uuid(packed) if isinstance(packed, bytes) else _time(packed)


# Most of them come again: with the next write, the next draft, the next commit.
_uuid = lru_cache(maxsize=4096)(lambda octets: UUID(bytes=octets))
_actor = lru_cache(maxsize=1024)(lambda parts: Actor(*parts))
_time = datetime.fromisoformat


# --- answers -------------------------------------------------------------------------


def pack_answers(answers: Iterable[Answer]) -> bytes:
    """Return the message that says what became of some batches."""
    return pack_message([(number, _pack_result(result)) for number, result in answers])


def unpack_answers(packed: Any) -> list[Answer]:
    """Return what `pack_answers` took; errors of a driver as Django's."""
    return [
        (number, pickle.loads(result) if type(result) is bytes else result)  # nosec B301
        for number, result in packed
    ]


def _pack_result(result: Result) -> Any:
    if not isinstance(result, BaseException):
        return result
    try:
        return pickle.dumps(result)
    except (pickle.PicklingError, TypeError, AttributeError):
        # A driver's own errors need not be picklable.
        return pickle.dumps(DatabaseError(str(result)))
