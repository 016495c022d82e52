"""Functions in namespaces, as Codex sends the tools of its MCP servers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from tests.gateway.conftest import Client
from tests.gateway.fakes import Exchanged, completed
from tests.gateway.responses.conftest import PATH, WEATHER, call_piece, calls_json

NAME = "mcp__atlas.weather"
NAMESPACE = {
    "type": "namespace",
    "name": "mcp__atlas",
    "description": "Tools of a server.",
    "tools": [WEATHER, {**WEATHER, "name": "climate"}],
}
TOOLS = [WEATHER, NAMESPACE]
CALL = {
    "type": "function_call",
    "call_id": "call_1",
    "namespace": "mcp__atlas",
    "name": "weather",
    "arguments": "{}",
}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
CALLED = replace(completed(), answer="", tool_calls=calls_json((NAME, "{}")))


async def ask(client: Client, **fields: Any) -> Exchanged:
    body = {"model": "conductor-mini", "input": "Hi", "tools": TOOLS, **fields}
    return await client.ask("POST", PATH, orjson.dumps(body))


async def test_functions_are_offered_by_both_names(client: Client) -> None:
    client.run.plays(completed())
    answer = await ask(client)
    (order,) = client.backend.orders
    names = [tool["function"]["name"] for tool in order.params.tools]
    assert names == ["weather", NAME, "mcp__atlas.climate"]
    assert "x-conductor-ignored" not in answer.headers
    kinds = [(tool["type"], tool["name"]) for tool in answer.json["tools"]]
    assert kinds == [("function", "weather"), ("namespace", "mcp__atlas")]
    inner = [tool["name"] for tool in answer.json["tools"][1]["tools"]]
    assert inner == ["weather", "climate"]


async def test_a_call_names_its_namespace(client: Client) -> None:
    client.run.plays(CALLED)
    *_, item = (await ask(client)).json["output"]
    assert (item["namespace"], item["name"]) == ("mcp__atlas", "weather")


async def test_a_streamed_call_names_its_namespace(client: Client) -> None:
    client.run.plays(call_piece(0, "{}", name=NAME), CALLED)
    answer = await ask(client, stream=True)
    events = [
        orjson.loads(block.partition("data: ")[2])
        for block in answer.body.decode().strip().split("\n\n")
    ]
    items = [e["item"] for e in events if e["type"].startswith("response.output_item.")]
    calls = [item for item in items if item["type"] == "function_call"]
    assert len(calls) == 2
    assert {(c["namespace"], c["name"]) for c in calls} == {("mcp__atlas", "weather")}


async def test_the_history_of_a_call_is_read(client: Client) -> None:
    client.run.plays(completed())
    await ask(client, input=[{"role": "user", "content": "Hi"}, CALL, RESULT])
    (order,) = client.backend.orders
    (call,) = order.messages[1]["tool_calls"]
    assert call["function"]["name"] == NAME


async def test_one_function_of_a_namespace_is_chosen(client: Client) -> None:
    client.run.plays(completed())
    choice = {"type": "function", "namespace": "mcp__atlas", "name": "climate"}
    answer = await ask(client, tool_choice=choice)
    (order,) = client.backend.orders
    assert order.params.tool_choice == {
        "type": "function",
        "function": {"name": "mcp__atlas.climate"},
    }
    assert answer.json["tool_choice"] == choice


@pytest.mark.parametrize(
    ("namespace", "param"),
    [
        ({"name": "a.b"}, "tools[0].name"),
        ({"name": "x" * 65}, "tools[0].name"),
        ({"tools": {}}, "tools[0].tools"),
        ({"tools": ["weather"]}, "tools[0].tools[0]"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].tools[0].type"),
        ({"tools": [{**WEATHER, "name": "a b"}]}, "tools[0].tools[0].name"),
        ({"tools": [WEATHER, WEATHER]}, "tools"),
    ],
)
async def test_a_wrong_namespace_is_named(
    client: Client, namespace: dict[str, Any], param: str
) -> None:
    answer = await ask(client, tools=[{**NAMESPACE, **namespace}])
    assert (answer.status, answer.error["param"]) == (400, param)


async def test_functions_in_namespaces_count(client: Client, settings: Any) -> None:
    settings.MAX_TOOLS = 2
    answer = await ask(client)
    assert (answer.status, answer.error["param"]) == (400, "tools")
