"""A chat request as every surface reads it; which parts of a shape are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from apps.simulator.pictures import Picture

Format = Literal["text", "json_object", "json_schema"]
Role = Literal["system", "user", "assistant", "tool"]


class InvalidRequest(ValueError):
    """The body is no chat request."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        """The field at fault, if one is."""


@dataclass(frozen=True, slots=True)
class SimulatedToolCall:
    """A call of a tool: asked for in an earlier message, or by the answer."""

    name: str
    arguments: str
    """JSON text."""
    id: str = ""
    """As the client sent it; calls of an answer get theirs when they are sent."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call."""

    name: str
    parameters: Mapping[str, Any]
    """Its JSON schema."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message with its text parts joined. `role` is one of `Role`."""

    role: str
    text: str
    pictures: tuple[Picture, ...] = ()
    calls: tuple[SimulatedToolCall, ...] = ()
    answers: str = ""
    """Of a tool's result: the id of the call it answers."""


@dataclass(frozen=True, slots=True)
class SimulatedRequest:
    """What the simulator heeds of a chat request."""

    model: str
    messages: tuple[ChatMessage, ...]
    begun: str = ""
    """The beginning of the answer, which the model is to go on from. Not in
    `messages`."""
    is_streamed: bool = False
    includes_usage: bool = False
    """Whether a stream is to tell its usage."""
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    format: Format = "text"
    schema: Mapping[str, Any] | None = None
    """The JSON schema the answer is to follow, if one is given."""
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `none`, `required`, or `=` and the name of a tool."""
    is_parallel: bool = True
    """Whether more than one tool may be called at once."""

    @property
    def last_user_text(self) -> str:
        """Return the text of the last user message, or of the last one of all."""
        for message in reversed(self.messages):
            if message.role == "user":
                return message.text
        return self.messages[-1].text if self.messages else ""

    @property
    def all_text(self) -> str:
        """Return the texts of all messages, in order."""
        return "\n".join(message.text for message in self.messages)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Return the pictures of all messages, in order."""
        return tuple(p for message in self.messages for p in message.pictures)

    @property
    def results(self) -> tuple[tuple[str, str], ...]:
        """Return name and text of each tool result at the end of the conversation."""
        names = {call.id: call.name for m in self.messages for call in m.calls}
        found: list[tuple[str, str]] = []
        for message in reversed(self.messages):
            if message.role != "tool":
                break
            found.append((names.get(message.answers, ""), message.text))
        return tuple(reversed(found))


def check_calls(messages: Sequence[ChatMessage]) -> None:
    """Return if the results of every call follow it at once, as providers demand.

    Raises: BadRequest.
    """
    if not messages:
        raise InvalidRequest("there is no message with content", "messages")
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        place = f"messages[{index}]"
        if message.role == "tool":
            if message.answers not in waiting:
                raise InvalidRequest(
                    "a tool result must follow the call it answers", place
                )
            waiting.discard(message.answers)
            continue
        if waiting:
            raise InvalidRequest(
                "every tool call must be followed by its result", place
            )
        waiting = {call.id for call in message.calls}
    if waiting:
        raise InvalidRequest(
            "every tool call must be followed by its result", "messages"
        )


def check_choice(tools: Sequence[Tool], choice: str) -> None:
    """Return if `choice` can be made among `tools`. Raises: BadRequest."""
    if choice in ("auto", "none"):
        return
    if not tools:
        raise InvalidRequest("tool_choice needs tools", "tool_choice")
    if choice != "required" and choice[1:] not in {tool.name for tool in tools}:
        raise InvalidRequest(f"there is no tool {choice[1:]!r}", "tool_choice")
