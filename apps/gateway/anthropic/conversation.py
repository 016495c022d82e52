"""Reads `system` and `messages` of a request into the engine's messages.

System texts, wherever they stand, become one message at the beginning: not every model
takes them elsewhere. Neighbours of one role become one turn, and in a turn of the
user's the results of tools come first, as the protocol has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import orjson

from apps.core.errors import InvalidInput
from apps.engine.ports import Message, ToolCallPart
from apps.gateway.anthropic.blocks import (
    Block,
    Part,
    block_list,
    content_of,
    marked,
    read_parts,
)
from apps.gateway.parsing.json_fields import (
    read_bool,
    read_object,
    read_text,
    type_error,
)
from apps.gateway.parsing.messages import ParsedMessages, read_id, settle

Role = Literal["user", "assistant"]
ROLES = ("user", "assistant", "system")
LEFT_OUT = frozenset({"thinking", "redacted_thinking"})
"""Blocks of an answer that mean something only to the model that wrote them."""
ATTRIBUTION = "x-anthropic-billing-header:"
"""Begins a system block in which a client tells a provider's accounting who it is."""
FAILED = "Error: "
"""Put before the result of a tool that failed, so that models see the failure."""


@dataclass(slots=True)
class _Turn:
    """What one side says before the other one speaks."""

    role: Role
    parts: list[Part] = field(default_factory=list)
    calls: list[ToolCallPart] = field(default_factory=list)
    results: list[Message] = field(default_factory=list)

    def messages(self) -> list[Message]:
        """Return the turn as messages; none if nothing of it is left."""
        if self.role == "user":
            said: Message = {"role": "user", "content": content_of(self.parts)}
            return [*self.results, said] if self.parts else self.results
        if not self.parts and not self.calls:
            return []
        answer: Message = {"role": "assistant", "content": content_of(self.parts)}
        if self.calls:
            answer["tool_calls"] = self.calls
        return [answer]


@dataclass(frozen=True, slots=True)
class ReadConversation:
    """The conversation of a request."""

    conversation: ParsedMessages
    answered: str
    """A tool call whose result is in the last turn; empty: there is none."""
    skipped: tuple[str, ...]
    """Types of the blocks that were left out and may be missed."""


def read_conversation(body: Mapping[str, Any], max_bytes: int) -> ReadConversation:
    """Return what a request asks. Raises: InvalidInput naming the place at fault."""
    reader = _Reader()
    reader.read_system(body.get("system"))
    given = body.get("messages")
    if not isinstance(given, list):
        raise type_error("messages", "a list of messages", given)
    for index, message in enumerate(given):
        reader.read_message(message, f"messages[{index}]")
    return reader.whole(max_bytes)


class _Reader:
    """Takes one message after the other."""

    def __init__(self) -> None:
        self._system: list[Part] = []
        self._turns: list[_Turn] = []
        self._skipped: dict[str, None] = {}
        self._call_ids: set[str] = set()

    def read_system(self, system: Any) -> None:
        """Take the system prompt, a text or blocks of text."""
        if system is not None:
            self._add_system(system, "system")

    def read_message(self, message: Any, where: str) -> None:
        """Take one message."""
        if not isinstance(message, dict):
            raise type_error(where, "an object", message)
        role = message.get("role")
        if role not in ROLES:
            raise InvalidInput(
                f"{where}.role: expected one of {', '.join(ROLES)}",
                param=f"{where}.role",
            )
        at = f"{where}.content"
        if role == "system":
            self._add_system(message.get("content"), at)
            return
        turn = self._turn(role)
        read = self._read_asked if role == "user" else self._read_answered
        for index, block in enumerate(block_list(message.get("content"), at)):
            read(turn, block, f"{at}[{index}]")

    def whole(self, max_bytes: int) -> ReadConversation:
        """Return all that was taken, checked."""
        messages = [message for turn in self._turns for message in turn.messages()]
        if messages and messages[-1]["role"] == "assistant":
            raise InvalidInput(
                "messages: the last message must be the user's; the beginning of an "
                "answer is not continued",
                param="messages",
            )
        if self._system:
            content = content_of(self._system)
            messages.insert(0, {"role": "system", "content": content})
        conversation = settle(tuple(messages), max_bytes, "messages")
        results = self._turns[-1].results
        return ReadConversation(
            conversation,
            answered=results[-1]["tool_call_id"] if results else "",
            skipped=tuple(self._skipped),
        )

    def _turn(self, role: str) -> _Turn:
        if not self._turns or self._turns[-1].role != role:
            self._turns.append(_Turn(cast(Role, role)))
        return self._turns[-1]

    def _add_system(self, content: Any, where: str) -> None:
        for index, block in enumerate(block_list(content, where)):
            place = f"{where}[{index}]"
            if block["type"] != "text":
                raise InvalidInput(
                    f"{place}.type: expected text", param=f"{place}.type"
                )
            if not read_text(block, "text", at=f"{place}.").startswith(ATTRIBUTION):
                self._system += read_parts(block, place)

    def _read_asked(self, turn: _Turn, block: Block, where: str) -> None:
        if block["type"] == "tool_result":
            turn.results.append(_read_result(block, where))
        else:
            turn.parts += read_parts(block, where)

    def _read_answered(self, turn: _Turn, block: Block, where: str) -> None:
        kind = block["type"]
        if kind == "text":
            turn.parts += read_parts(block, where)
        elif kind == "tool_use":
            call = _read_call(block, where)
            if call["id"] in self._call_ids:
                raise InvalidInput(
                    f"{where}.id: another tool_use block has this id",
                    param=f"{where}.id",
                )
            self._call_ids.add(call["id"])
            turn.calls.append(call)
        elif kind not in LEFT_OUT:
            self._skipped[kind] = None


def _read_call(block: Block, where: str) -> ToolCallPart:
    name = read_text(block, "name", at=f"{where}.")
    if not name:
        raise type_error(f"{where}.name", "a name", name)
    given = read_object(block, "input", at=f"{where}.")
    try:
        # What orjson reads it can't always write: reading allows deeper nesting.
        arguments = orjson.dumps(given or {}).decode()
    except orjson.JSONEncodeError as exc:
        place = f"{where}.input"
        raise InvalidInput(f"{place}: nested too deeply", param=place) from exc
    return {
        "id": read_id(block, "id", where),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _read_result(block: Block, where: str) -> Message:
    parts: list[Part] = []
    if block.get("content") is not None:
        at = f"{where}.content"
        for index, inner in enumerate(block_list(block["content"], at)):
            parts += read_parts(inner, f"{at}[{index}]")
    if read_bool(block, "is_error", at=f"{where}."):
        parts = _failed(parts)
    return {
        "role": "tool",
        "content": content_of(marked(parts, block, where)),
        "tool_call_id": read_id(block, "tool_use_id", where),
    }


def _failed(parts: list[Part]) -> list[Part]:
    if not parts or parts[0]["type"] != "text":
        return [{"type": "text", "text": FAILED}, *parts]
    return [{**parts[0], "text": FAILED + parts[0]["text"]}, *parts[1:]]
