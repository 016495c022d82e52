"""D1: tools that nothing here can run are left out by name; their history is read."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apps.runs.types import RunOrder
from tests.gateway.conftest import Client
from tests.gateway.fakes import Exchanged, completed
from tests.gateway.responses.conftest import PATH, WEATHER

SEARCH = {"type": "web_search", "external_web_access": False}
TOOLS = [
    WEATHER,
    {"type": "local_shell"},
    {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}},
    {"type": "mcp", "server_label": "x", "server_url": "https://x.example"},
    SEARCH,
]
USER = {"role": "user", "content": "Hi"}


async def ask(client: Client, **fields: Any) -> Exchanged:
    client.run.plays(completed())
    body = {"model": "conductor-mini", "input": "Hi", **fields}
    return await client.ask("POST", PATH, orjson.dumps(body))


async def order(client: Client, **fields: Any) -> RunOrder:
    answer = await ask(client, **fields)
    assert answer.status == 200, answer.body
    return client.backend.orders[-1]


async def test_tools_of_other_kinds_are_left_out_and_named(client: Client) -> None:
    answer = await ask(client, tools=TOOLS, tool_choice="auto")
    (found,) = client.backend.orders
    named = "tools[1]:local_shell,tools[2]:custom,tools[3]:mcp,tools[4]:web_search"
    assert [tool["function"]["name"] for tool in found.params.tools] == ["weather"]
    assert found.ignored == named
    assert answer.headers["x-conductor-ignored"] == named


@pytest.mark.parametrize(
    ("tools", "choice", "param"),
    [
        (TOOLS, {"type": "web_search"}, "tool_choice.type"),
        (TOOLS, {"type": "custom", "name": "apply_patch"}, "tool_choice.type"),
        ([SEARCH], "required", "tool_choice"),
        (
            TOOLS,
            {"type": "allowed_tools", "mode": "required", "tools": [SEARCH]},
            "tool_choice.tools",
        ),
    ],
)
async def test_a_choice_that_requires_one_is_refused(
    client: Client, tools: Any, choice: Any, param: str
) -> None:
    answer = await ask(client, tools=tools, tool_choice=choice)
    assert (answer.status, answer.error["param"]) == (400, param)


async def test_one_that_is_only_allowed_is_left_out(client: Client) -> None:
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [SEARCH]}
    found = await order(client, tools=TOOLS, tool_choice=allowed)
    assert (found.params.tools, found.params.tool_choice) == ((), None)


async def test_calls_in_the_history_are_read_with_their_results(
    client: Client,
) -> None:
    history = [
        USER,
        {
            "type": "local_shell_call",
            "call_id": "c1",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
        },
        {"type": "local_shell_call_output", "call_id": "c1", "output": "a.txt"},
        {
            "type": "custom_tool_call",
            "call_id": "c2",
            "name": "apply_patch",
            "input": "*** Begin",
        },
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "Done"}],
        },
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {"type": "web_search_call", "status": "completed", "action": {"query": "x"}},
        {"role": "user", "content": "Go on"},
    ]
    found = await order(client, input=history)
    assert [message["role"] for message in found.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "user",
    ]
    calls = [c for m in found.messages for c in m.get("tool_calls", ())]
    assert [call["function"]["name"] for call in calls] == [
        "local_shell",
        "apply_patch",
    ]
    assert calls[1]["function"]["arguments"] == '{"input":"*** Begin"}'
    assert found.messages[4]["content"] == "Done"


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({"type": "custom_tool_call", "call_id": "c", "name": "x"}, "input[1].input"),
        ({"type": "local_shell_call", "action": {}}, "input[1].call_id"),
        (
            {"type": "local_shell_call", "call_id": "c", "action": 1},
            "input[1].action",
        ),
        ({"type": "unheard_of"}, "input[1].type"),
    ],
)
async def test_broken_items_are_refused(
    client: Client, item: dict[str, Any], param: str
) -> None:
    answer = await ask(client, input=[USER, item])
    assert (answer.status, answer.error["param"]) == (400, param)
