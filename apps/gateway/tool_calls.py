"""Ids of tool calls as clients see them: they lead back to the run that asked.

`call_<run id, 32 hex digits><number, 2 digits>` is 39 characters; providers take 40.
A model's own ids stay inside: two providers may use the same.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apps.engine.ports import Message, ToolCallDelta, ToolCallPart

ID = re.compile(r"call_([0-9a-f]{32})[0-9]{2,3}")


def call_id(run_id: uuid.UUID, index: int) -> str:
    """Return the id of a run's tool call, counted from 0."""
    return f"call_{run_id.hex}{index:02d}"


def run_of(call_id: str) -> uuid.UUID | None:
    """Return the run that a tool call's id leads to; None if it is not one of ours."""
    match = ID.fullmatch(call_id)
    return uuid.UUID(match[1]) if match else None


def with_ids(tool_calls_json: str, run_id: uuid.UUID) -> list[ToolCallPart]:
    """Return recorded tool calls under the ids that clients see; "" holds none."""
    if not tool_calls_json:
        return []
    calls: list[ToolCallPart] = orjson.loads(tool_calls_json)
    for index, call in enumerate(calls):
        call["id"] = call_id(run_id, index)
    return calls


def continued_run(messages: Sequence[Message]) -> uuid.UUID | None:
    """Return the run whose tool calls are answered by the end of `messages`."""
    if not messages or messages[-1]["role"] != "tool":
        return None
    return run_of(messages[-1].get("tool_call_id", ""))


@dataclass(slots=True)
class _Sent:
    """How much of one tool call is out."""

    name: str
    arguments: str


class SentCalls:
    """The tool calls of one stream: what is out, and what is missing at the end."""

    def __init__(self, run_id: uuid.UUID) -> None:
        self._run_id = run_id
        self._sent: dict[int, _Sent] = {}

    def pieces(self, deltas: Iterable[ToolCallDelta]) -> list[dict[str, Any]]:
        """Return what a chunk tells of `deltas`, at most one piece for each call."""
        joined: dict[int, ToolCallDelta] = {}
        for delta in deltas:
            before = joined.get(delta.index)
            joined[delta.index] = delta if before is None else _join(before, delta)
        return [self._piece(d.index, d.name, d.arguments) for d in joined.values()]

    def missing(self, calls: Sequence[ToolCallPart]) -> list[dict[str, Any]] | None:
        """Return what of the recorded calls is not out yet.

        None: what is out contradicts them.
        """
        if any(index >= len(calls) for index in self._sent):
            return None
        pieces = []
        for index, call in enumerate(calls):
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            sent = self._sent.get(index)
            if sent is None:
                pieces.append(self._piece(index, name, arguments))
            elif sent.name != name or not arguments.startswith(sent.arguments):
                return None
            elif rest := arguments[len(sent.arguments) :]:
                pieces.append(self._piece(index, "", rest))
        return pieces

    def _piece(self, index: int, name: str, arguments: str) -> dict[str, Any]:
        sent = self._sent.get(index)
        if sent is not None:
            sent.arguments += arguments
            return {"index": index, "function": {"arguments": arguments}}
        self._sent[index] = _Sent(name, arguments)
        return {
            "index": index,
            "id": call_id(self._run_id, index),
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }


def _join(first: ToolCallDelta, second: ToolCallDelta) -> ToolCallDelta:
    return ToolCallDelta(
        first.index,
        first.id or second.id,
        first.name or second.name,
        first.arguments + second.arguments,
    )
