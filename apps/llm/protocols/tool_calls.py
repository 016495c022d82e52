"""The tool calls of one answer: kept apart, and within bounds."""

from __future__ import annotations

from typing import Any

import orjson

from apps.llm.bounds import Unreadable, check_shape
from apps.llm.errors import BadResponse, UnusableResponse
from apps.llm.types import Endpoint, ToolCallDelta

MAX_TOOL_CALLS = 128
"""As many as OpenAI lets a caller define tools; no answer calls each once."""
MAX_ARGUMENT_CHARACTERS = 1_000_000
"""Of all calls of one answer together, names and ids included. Whole files are written
through arguments."""
NO_ARGUMENTS = "{}"


class PartialToolCall:
    """One call as far as it has come."""

    __slots__ = ("arguments", "has_loose_ids", "id", "index", "name")

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.has_loose_ids = False

    def ends_before(self, id_: str) -> bool:
        """Say whether a piece with `id_` is of another call, whatever its index.

        Some servers give every parallel call the index 0; others a new id to every
        piece, which the second piece tells: then ids are not looked at again.
        """
        if not id_ or id_ == self.id or self.has_loose_ids:
            return False
        self.has_loose_ids = not self._is_whole()
        return not self.has_loose_ids

    def _is_whole(self) -> bool:
        """Say whether the arguments are a JSON text that has ended."""
        try:
            orjson.loads("".join(self.arguments))
        except orjson.JSONDecodeError:
            return False
        return True


class ToolCalls:
    """Gives each call its place, its id and its name once."""

    __slots__ = ("_endpoint", "_size", "calls")

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._size = 0
        self.calls: list[PartialToolCall] = []

    def open(self) -> PartialToolCall:
        """Return a new call. Raises: UnusableResponse if there are too many."""
        if len(self.calls) == MAX_TOOL_CALLS:
            raise UnusableResponse(
                f"{self._endpoint.name!r}: more than {MAX_TOOL_CALLS} tool calls"
            )
        call = PartialToolCall(len(self.calls))
        self.calls.append(call)
        return call

    def add(
        self, call: PartialToolCall, id_: str = "", name: str = "", arguments: str = ""
    ) -> ToolCallDelta:
        """Return the piece of `call` that says what is new.

        Raises: UnusableResponse if the arguments are longer than any should be.
        """
        is_first = not call.id
        call.id = call.id or id_ or f"call_{call.index}"
        new_name = "" if call.name else name
        call.name = call.name or name
        if arguments:
            call.arguments.append(arguments)
        self._size += len(id_) + len(name) + len(arguments)
        if self._size > MAX_ARGUMENT_CHARACTERS:
            raise UnusableResponse(
                f"{self._endpoint.name!r}: more than {MAX_ARGUMENT_CHARACTERS} "
                "characters of tool arguments"
            )
        return ToolCallDelta(
            call.index, call.id if is_first else "", new_name, arguments
        )

    def close(self) -> tuple[ToolCallDelta, ...]:
        """Return what completes calls that came without arguments.

        Raises: BadResponse if a call has no name.
        """
        if not all(call.name for call in self.calls):
            raise BadResponse(f"{self._endpoint.name!r}: a tool call without a name")
        empty = [call for call in self.calls if not call.arguments]
        return tuple(self.add(call, arguments=NO_ARGUMENTS) for call in empty)

    def settle(self, reason: str) -> str:
        """Return the finish reason that fits; a forced call often ends in `stop`.

        Raises: BadResponse if a call's arguments are nested too deep to be read.
        """
        for call in self.calls:
            try:
                check_shape("".join(call.arguments).encode(errors="replace"))
            except Unreadable as exc:
                name = self._endpoint.name
                raise BadResponse(f"{name!r}: tool arguments: {exc}") from None
        if reason not in ("stop", "tool_calls"):
            return reason
        return "tool_calls" if self.calls else "stop"


def json_text(value: Any) -> str:
    """Return arguments as JSON text, whether they came as text or as an object."""
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value).decode()
