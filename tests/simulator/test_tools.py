"""Workers that call tools: when, with what, and what they make of the results."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.simulator.asking import CHAT, Asker

CITY = {"type": "string", "description": "A city"}
UNIT = {"type": "string", "enum": ["celsius", "fahrenheit"]}
NEEDS_CITY = {
    "type": "object",
    "properties": {"city": CITY, "unit": UNIT},
    "required": ["city"],
}
SUM = {
    "type": "object",
    "properties": {"expression": {"type": "string"}},
    "required": ["expression"],
}


def tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [tool("get_weather", NEEDS_CITY), tool("calculator", SUM)]


async def choice(ask: Asker, text: str, **options: Any) -> Any:
    model = options.pop("model", "sim-atlas")
    response = await ask.response(model, text, tools=TOOLS, **options)
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


def calls(answer: Any) -> list[tuple[str, Any]]:
    functions = [c["function"] for c in answer["message"].get("tool_calls", ())]
    return [(f["name"], json.loads(f["arguments"])) for f in functions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the weather in Paris?", [("get_weather", {"city": "Paris"})]),
        (
            "Tell me the weather in New York and Rome in celsius.",
            [
                ("get_weather", {"city": "New York", "unit": "celsius"}),
                ("get_weather", {"city": "Rome", "unit": "celsius"}),
            ],
        ),
        ("Ask the calculator: 17 * 23", [("calculator", {"expression": "17 * 23"})]),
        (
            "Call get_weather with city=Oslo and the calculator for 1 + 1",
            [
                ("get_weather", {"city": "Oslo"}),
                ("calculator", {"expression": "1 + 1"}),
            ],
        ),
        ('[[call get_weather {"city": "X"}]]', [("get_weather", {"city": "X"})]),
    ],
)
async def test_tool_that_is_meant_is_called(
    ask: Asker, text: str, expected: list[Any]
) -> None:
    answer = await choice(ask, text)
    assert calls(answer) == expected
    assert answer["finish_reason"] == "tool_calls"
    assert answer["message"]["content"] is None


@pytest.mark.parametrize(
    ("name", "schema", "text", "expected"),
    [
        ("days", {"type": "integer"}, "Run report for 7 days", 7),
        ("days", {"type": "number"}, "Run report, days: 2.5", 2.5),
        ("days", {"type": "integer"}, "Run report, days=soon", 0),
        ("days", {"type": "integer"}, "Run report", 0),
        ("title", {"type": "string"}, "Run report 'On bees'", "On bees"),
        ("query", {"type": "string"}, 'Run report about "bees"', "bees"),
        ("query", {"type": "string"}, "Run report", "Run report"),
        ("expression", {"type": "string"}, "Run report", "Run report"),
        ("unit", {"enum": ["day", "week"]}, "Run report by WEEK", "week"),
        ("unit", {"enum": ["day", "week"]}, "Run report", "day"),
        ("deep", {"type": "boolean"}, "Run report", False),
        ("tags", {"type": "array", "items": {"type": "null"}}, "Run report", [None]),
    ],
)
async def test_argument_comes_from_the_question(
    ask: Asker, name: str, schema: dict[str, Any], text: str, expected: Any
) -> None:
    properties = {name: schema, "left": {"type": "integer", "enum": [10**9]}}
    parameters = {"type": "object", "properties": properties, "required": [name]}
    response = await ask.response("sim-atlas", text, tools=[tool("report", parameters)])
    answer = response.json()["choices"][0]
    assert calls(answer) == [("report", {name: expected})]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("What is 6*7?", {}),
        ("What is the weather in Paris?", {"tool_choice": "none"}),
        ("[[call unknown {}]] What is 6*7?", {}),
    ],
)
async def test_no_tool_is_called_without_need(
    ask: Asker, text: str, options: dict[str, Any]
) -> None:
    answer = await choice(ask, text, **options)
    assert calls(answer) == []
    assert answer["finish_reason"] == "stop"


CODING = ["Read", "Write", "Edit", "Agent", "WebSearch", "TodoWrite"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "<system-reminder>Use the tool Read, WebSearch the web, keep a todo, write "
            "to Paris.</system-reminder>\n\nWhat is 17 * 23 + 4?",
            [],
        ),
        ("Read this, edit it as you like and write the sum: 17 + 4", []),
        ("Use the tool Read.", ["Read"]),
        ("Take your Write tool and `edit`.", ["Write", "Edit"]),
        ("Search the web for bees.", ["WebSearch"]),
    ],
)
async def test_c3_only_what_the_user_said_last_asks_for_a_tool(
    ask: Asker, text: str, expected: list[str]
) -> None:
    tools = [tool(name, SUM) for name in CODING]
    response = await ask.response("sim-atlas", text, tools=tools)
    answer = response.json()["choices"][0]
    assert [name for name, _ in calls(answer)] == expected


async def test_c3_an_earlier_turn_asks_for_no_tool(
    ask: Asker, client: httpx.AsyncClient
) -> None:
    said = ["What is the weather in Rome?", "31 degrees.", "What is 6 * 7?"]
    roles = ["user", "assistant", "user"]
    messages = [
        {"role": role, "content": text} for role, text in zip(roles, said, strict=True)
    ]
    body = {"model": "sim-atlas", "messages": messages, "tools": TOOLS}
    response = await client.post("/v1/chat/completions", json=body)
    assert calls(response.json()["choices"][0]) == []


async def test_named_tool_must_be_called_and_gets_the_answer(ask: Asker) -> None:
    named = {"type": "function", "function": {"name": "calculator"}}
    answer = await choice(ask, "What is 6*7?", tool_choice=named)
    assert calls(answer) == [("calculator", {"expression": "42"})]


async def test_required_choice_calls_some_tool(ask: Asker) -> None:
    answer = await choice(ask, "Hello!", tool_choice="required")
    assert [name for name, _ in calls(answer)] == ["get_weather"]


@pytest.mark.parametrize(
    "required", ["required", {"type": "function", "function": {"name": "calculator"}}]
)
async def test_D12_a_required_tool_is_called_once_and_its_result_answered_with_text(
    ask: Asker, required: Any
) -> None:
    text = "What is 6*7?"
    first = await choice(ask, text, tool_choice=required)
    assert first["finish_reason"] == "tool_calls"
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "42"}
        for call in first["message"]["tool_calls"]
    ]
    asked = {"role": "user", "content": text}
    body = {
        "model": "sim-atlas",
        "messages": [asked, first["message"], *results],
        "tools": TOOLS,
        "tool_choice": required,
    }
    response = await ask.client.post(CHAT, json=body)
    second = response.json()["choices"][0]
    assert (second["finish_reason"], calls(second)) == ("stop", [])
    assert "42" in second["message"]["content"]


async def test_one_call_at_a_time_if_asked_for(ask: Asker) -> None:
    text = "What is the weather in Paris and Rome?"
    answer = await choice(ask, text, parallel_tool_calls=False)
    assert calls(answer) == [("get_weather", {"city": "Paris"})]


async def test_calls_of_one_answer_have_ids_of_their_own(ask: Asker) -> None:
    answer = await choice(ask, "What is the weather in Paris and Rome?")
    ids = [call["id"] for call in answer["message"]["tool_calls"]]
    assert len(set(ids)) == 2


async def test_stream_tells_name_first_and_arguments_in_pieces(ask: Asker) -> None:
    text = "What is the weather in Paris and Rome?"
    chunks = await ask.chunks("sim-atlas", text, tools=TOOLS)
    deltas = [c["choices"][0]["delta"] for c in chunks[1:-2]]
    pieces = [piece for delta in deltas for piece in delta["tool_calls"]]
    named = [p for p in pieces if "id" in p]
    joined = {
        index: "".join(
            p["function"]["arguments"] for p in pieces if p["index"] == index
        )
        for index in (0, 1)
    }
    assert [p["function"]["name"] for p in named] == ["get_weather"] * 2
    assert joined == {0: '{"city":"Paris"}', 1: '{"city":"Rome"}'}
    assert len(pieces) > 4


async def test_results_make_the_answer(client: httpx.AsyncClient, ask: Asker) -> None:
    text = "What is the weather in Paris and Rome?"
    asked = (await choice(ask, text))["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": degrees}
        for call, degrees in zip(asked["tool_calls"], ("18 °C", "24 °C"), strict=True)
    ]
    messages = [{"role": "user", "content": text}, asked, *results]
    body = {"model": "sim-atlas", "messages": messages, "tools": TOOLS}
    answer = (await client.post(CHAT, json=body)).json()["choices"][0]
    assert "- `get_weather`: **18 °C**" in answer["message"]["content"]
    assert "**24 °C**" in answer["message"]["content"]
    assert answer["finish_reason"] == "stop"


CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {
            "id": "a",
            "type": "function",
            "function": {"name": "get_weather", "arguments": "{}"},
        }
    ],
}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "18"}
USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([USER, CALL], "messages"),
        ([USER, CALL, USER], "messages[2]"),
        ([USER, RESULT], "messages[1]"),
        ([USER, CALL, {**RESULT, "tool_call_id": "b"}], "messages[2]"),
        ([USER, CALL, RESULT, RESULT], "messages[3]"),
        ([USER, CALL, {"role": "tool", "content": "18"}], "messages[2].tool_call_id"),
        ([{**CALL, "role": "user"}], "messages[0].tool_calls"),
    ],
)
async def test_calls_and_results_must_match(
    client: httpx.AsyncClient, messages: list[Any], param: str
) -> None:
    response = await client.post(CHAT, json={"model": "echo", "messages": messages})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"tools": [{"type": "search"}]}, "tools[0].type"),
        ({"tools": [tool("", {})]}, "tools[0].function.name"),
        ({"tool_choice": "required"}, "tool_choice"),
        (
            {"tools": TOOLS, "tool_choice": {"function": {"name": "other"}}},
            "tool_choice",
        ),
        ({"tools": TOOLS, "tool_choice": "sometimes"}, "tool_choice"),
    ],
)
async def test_tools_in_another_shape_are_refused(
    ask: Asker, options: dict[str, Any], param: str
) -> None:
    response = await ask.response("echo", "hi", **options)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


async def test_token_limit_cuts_a_call(ask: Asker) -> None:
    answer = await choice(ask, "What is the weather in Paris?", max_tokens=2)
    function = answer["message"]["tool_calls"][0]["function"]
    assert answer["finish_reason"] == "length"
    assert function == {"name": "get_weather", "arguments": '{"cit'}


async def test_model_without_tools_refuses_them(ask: Asker) -> None:
    refused = await ask.response("text-only", "hi", tools=TOOLS)
    answered = await ask.response("text-only", "What is 6*7?")
    assert (refused.status_code, answered.status_code) == (400, 200)
