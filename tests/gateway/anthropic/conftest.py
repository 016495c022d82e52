"""Requests for messages to a scripted backend, and what came back as events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from apps.engine.ports import Messages, Progress, ToolCallDelta
from apps.runs.types import RunOrder
from tests.gateway.conftest import Client
from tests.gateway.fakes import Exchanged

PATH = "/v1/messages"
COUNT = f"{PATH}/count_tokens"
VERSION = {"anthropic-version": "2023-06-01"}
USER = {"role": "user", "content": "What is 6 times 7?"}
WEATHER = {
    "name": "weather",
    "description": "Tell the weather of a town.",
    "input_schema": {"type": "object", "properties": {"town": {"type": "string"}}},
}


def call_piece(index: int, arguments: str, *, name: str = "") -> Progress:
    """Return a piece of a tool call."""
    piece = ToolCallDelta(index, "own" if name else "", name, arguments)
    return Progress(0, 1, 1, tool_calls=(piece,))


def calls_json(*calls: tuple[str, str]) -> str:
    """Return tool calls as they are recorded."""
    return orjson.dumps(
        [
            {
                "id": f"own{number}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for number, (name, arguments) in enumerate(calls)
        ]
    ).decode()


def use(call_id: str, **given: Any) -> dict[str, Any]:
    """Return a block that calls the weather tool."""
    return {"type": "tool_use", "id": call_id, "name": "weather", "input": given}


def result(call_id: str, content: Any = "sunny", **more: Any) -> dict[str, Any]:
    """Return a block with a tool's result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def events_of(answer: Exchanged) -> list[dict[str, Any]]:
    """Return the data of all events, each held against its `event:` line."""
    events = []
    for block in answer.body.decode().split("\n\n"):
        if not block:
            continue
        head, line = block.split("\n")
        data: dict[str, Any] = orjson.loads(line.removeprefix("data: "))
        assert head == f"event: {data['type']}"
        events.append(data)
    return events


def body(**fields: Any) -> bytes:
    """Return a minimal good body with `fields` changed; ... leaves one out."""
    whole = {"model": "conductor-mini", "max_tokens": 500, "messages": [USER], **fields}
    return orjson.dumps({n: v for n, v in whole.items() if v is not ...})


@dataclass
class MessageApi:
    """The client of `tests.gateway`, asking for messages."""

    client: Client

    async def ask(self, **fields: Any) -> Exchanged:
        """Ask for a message and wait for the end of the answer."""
        return await self.client.ask("POST", PATH, body(**fields), headers=VERSION)

    def open(self, **fields: Any) -> Exchanged:
        """Ask for a message and return at once."""
        return self.client.open("POST", PATH, body(**fields), headers=VERSION)

    async def count(self, **fields: Any) -> Exchanged:
        """Ask for the number of tokens."""
        return await self.client.ask("POST", COUNT, body(**fields), headers=VERSION)

    async def stream(self, **fields: Any) -> list[dict[str, Any]]:
        """Ask for a streamed message and return all its events."""
        return events_of(await self.ask(stream=True, **fields))

    @property
    def order(self) -> RunOrder:
        """Return the order of the run that was started last."""
        return self.client.backend.orders[-1]

    @property
    def messages(self) -> Messages:
        """Return the conversation of the run that was started last."""
        return self.order.messages


@pytest.fixture
def api(client: Client) -> MessageApi:
    return MessageApi(client)
