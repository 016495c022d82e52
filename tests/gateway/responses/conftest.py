"""Requests for responses to a scripted backend, and what came back as events."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from apps.engine.events import RunCancelled, RunCompleted, RunFailed
from apps.engine.ports import Messages, Progress, ToolCallDelta
from apps.gateway.responses.ids import response_id
from apps.runs.types import RunRecord
from tests.gateway.conftest import Client
from tests.gateway.fakes import RUN_ID, TEAM_ID, Exchanged, holder, summary

PATH = "/v1/responses"
ID = response_id(RUN_ID)
KEY_ID = holder().key_id
WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "Weather of a town",
    "parameters": {"type": "object", "properties": {"town": {"type": "string"}}},
    "strict": False,
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


def record(
    end: RunCompleted | RunFailed | RunCancelled | None = None, **changes: Any
) -> RunRecord:
    """Return the record of a run that ended so; None: it goes on."""
    values: dict[str, Any] = {
        "run_id": RUN_ID,
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        "model": "conductor-mini",
        "state": "running" if end is None else "completed",
        "source": "api",
        "prompt": "What is 6 times 7?",
        "messages": (),
        "params": {},
        "context": {},
        "api_key_id": KEY_ID,
        "user_id": None,
        "summary": None if end is None else summary(end),
        "error": None,
    }
    return RunRecord(**{**values, **changes})


def events_of(answer: Exchanged) -> list[dict[str, Any]]:
    """Return the data of all events, each held against its `event:` line."""
    events = []
    for block in answer.body.decode().split("\n\n"):
        if not block:
            continue
        lines = block.split("\n")
        data: dict[str, Any] = orjson.loads(lines[-1].removeprefix("data: "))
        if len(lines) == 2:
            assert lines[0] == f"event: {data['type']}"
        events.append(data)
    return events


@dataclass
class Api:
    """The client of `tests.gateway`, asking for responses."""

    client: Client

    async def ask(self, **fields: Any) -> Exchanged:
        """Ask for a response and wait for the end of the answer."""
        return await self.client.ask("POST", PATH, body(**fields))

    def open(self, **fields: Any) -> Exchanged:
        """Ask for a response and return at once."""
        return self.client.open("POST", PATH, body(**fields))

    async def stream(self, **fields: Any) -> list[dict[str, Any]]:
        """Ask for a streamed response and return all its events."""
        return events_of(await self.ask(stream=True, **fields))

    async def get(self, path: str) -> Exchanged:
        """Read something."""
        return await self.client.ask("GET", f"{PATH}/{path}")

    def keep(self, kept: RunRecord, run_id: uuid.UUID = RUN_ID) -> None:
        """Put a run on record."""
        kept = replace(kept, run_id=run_id)
        if kept.summary is not None:
            kept = replace(kept, summary=replace(kept.summary, run_id=run_id))
        self.client.backend.records[TEAM_ID, run_id] = kept

    @property
    def messages(self) -> Messages:
        """Return the conversation of the run that was started last."""
        return self.client.backend.orders[-1].messages


def body(**fields: Any) -> bytes:
    """Return a minimal good body with `fields` changed; ... leaves one out."""
    whole = {"model": "conductor-mini", "input": "What is 6 times 7?", **fields}
    return orjson.dumps({n: v for n, v in whole.items() if v is not ...})


@pytest.fixture
def api(client: Client) -> Api:
    return Api(client)
