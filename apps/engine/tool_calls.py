"""Puts the calls of the caller's tools together from the pieces a model sends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from apps.engine.errors import CallFailed, CallFault
from apps.engine.ports import ToolCallDelta, ToolCallPart

FINISHED = "tool_calls"
"""The finish reason of an answer that wants tools called."""


@dataclass(slots=True)
class ToolCallAssembly:
    """Collects the pieces of one answer. Sans-I/O."""

    _calls: dict[int, _Open] = field(default_factory=dict)

    def feed(self, pieces: Iterable[ToolCallDelta]) -> None:
        """Take the next pieces, of any of the calls."""
        for piece in pieces:
            call = self._calls.get(piece.index)
            if call is None:
                call = self._calls[piece.index] = _Open()
            call.id = call.id or piece.id
            call.name = call.name or piece.name
            if piece.arguments:
                call.arguments.append(piece.arguments)

    def written(self) -> str:
        """Return all that the model wrote for its calls, to estimate its tokens."""
        return "".join(
            part for c in self._calls.values() for part in (c.name, *c.arguments)
        )

    def finish(self) -> list[ToolCallPart]:
        """Return the calls in their order.

        Raises: CallFailed (bad response) if one has no name.
        """
        in_order = sorted(self._calls.items())
        return [call.finished(number) for number, (_, call) in enumerate(in_order)]


@dataclass(slots=True)
class _Open:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def finished(self, number: int) -> ToolCallPart:
        if not self.name:
            raise CallFailed(
                CallFault.BAD_RESPONSE, "the model calls a tool without naming it"
            )
        return {
            "id": self.id or f"call_{number}",
            "type": "function",
            "function": {"name": self.name, "arguments": "".join(self.arguments)},
        }


def tool_calls_json(calls: Sequence[ToolCallPart]) -> str:
    """Return `calls` the way events keep them: a JSON array, empty text for none."""
    return orjson.dumps(calls).decode() if calls else ""
