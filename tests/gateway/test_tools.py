"""Functions of the caller: into the order, out as tool calls, and back as results."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pytest_django.fixtures import Settings

from apps.engine.ports import Progress, ToolCallDelta
from apps.gateway.tool_calls import call_id, run_of
from tests.gateway.conftest import CHAT, Client, chat_body
from tests.gateway.fakes import RUN_ID, TEAM_ID, answer_piece, completed

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tell the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        "strict": True,
    },
}
CLOCK = {"type": "function", "function": {"name": "clock"}}


def recorded(*calls: tuple[str, str]) -> str:
    """Return calls the way a run records them, with ids of a provider."""
    parts = [
        {
            "id": f"toolu_{index}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    return orjson.dumps(parts).decode()


CALLED = completed(
    "",
    finish_reason="tool_calls",
    tool_calls=recorded(("weather", '{"city":"Rome"}'), ("clock", "{}")),
)


def piece(index: int, arguments: str, name: str = "") -> Progress:
    """Return a piece of a tool call of the answer."""
    delta = ToolCallDelta(index, "toolu_x" if name else "", name, arguments)
    return Progress(0, 1, 1, tool_calls=(delta,))


def asked(*calls: str) -> dict[str, Any]:
    """Return an assistant's message that calls tools by these ids."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": call,
                "type": "function",
                "function": {"name": "weather", "arguments": "{}"},
            }
            for call in calls
        ],
    }


def result(call: str) -> dict[str, Any]:
    """Return a tool's result."""
    return {"role": "tool", "tool_call_id": call, "content": "sunny"}


USER = {"role": "user", "content": "Is it sunny?"}


# --- in ------------------------------------------------------------------------------


async def test_tools_and_choice_reach_the_order(client: Client) -> None:
    client.run.plays(completed())
    choice = {"type": "function", "function": {"name": "clock"}}
    await client.chat(
        tools=[WEATHER, CLOCK], tool_choice=choice, parallel_tool_calls=False
    )
    (order,) = client.backend.orders
    assert order.params.tools == (WEATHER, CLOCK)
    assert order.params.tool_choice == choice
    assert order.params.parallel_tool_calls is False


async def test_without_tools_a_choice_makes_no_difference(client: Client) -> None:
    client.run.plays(completed())
    await client.chat(tools=[], tool_choice="auto", parallel_tool_calls=True)
    params = client.backend.orders[0].params
    assert params.tools == ()
    assert (params.tool_choice, params.parallel_tool_calls) == (None, None)


BAD_TOOLS: list[tuple[dict[str, Any], str]] = [
    ({"tools": {}}, "tools"),
    ({"tools": [WEATHER, WEATHER]}, "tools"),
    ({"tools": [CLOCK] * 129}, "tools"),
    ({"tools": ["clock"]}, "tools[0]"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"tools": [{"type": "function"}]}, "tools[0].function"),
    (
        {"tools": [{"type": "function", "function": {}}]},
        "tools[0].function.name",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        "tools[0].function.name",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "a", "parameters": 1}}]},
        "tools[0].function.parameters",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "a", "strict": 1}}]},
        "tools[0].function.strict",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "a", "description": 1}}]},
        "tools[0].function.description",
    ),
    ({"tools": [CLOCK], "tool_choice": "clock"}, "tool_choice"),
    ({"tools": [CLOCK], "tool_choice": 1}, "tool_choice"),
    ({"tools": [CLOCK], "tool_choice": {"type": "custom"}}, "tool_choice.type"),
    (
        {
            "tools": [CLOCK],
            "tool_choice": {"type": "function", "function": {"name": "weather"}},
        },
        "tool_choice.function.name",
    ),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tools": [CLOCK], "parallel_tool_calls": 1}, "parallel_tool_calls"),
    ({"function_call": "auto"}, "function_call"),
    ({"messages": [USER, asked("a")]}, "messages"),
    ({"messages": [USER, asked("a"), USER]}, "messages"),
    ({"messages": [USER, asked("a", "b"), result("a"), USER]}, "messages"),
    ({"messages": [USER, asked("a", "a"), result("a")]}, "messages[1].tool_calls"),
    ({"messages": [USER, result("a")]}, "messages[1].tool_call_id"),
    (
        {"messages": [USER, asked("a"), result("a"), result("a")]},
        "messages[3].tool_call_id",
    ),
    (
        {"messages": [USER, {"role": "tool", "content": "x"}]},
        "messages[1].tool_call_id",
    ),
    (
        {"messages": [USER, {"role": "assistant", "function_call": {"name": "f"}}]},
        "messages[1].function_call",
    ),
    (
        {"messages": [USER, {"role": "assistant", "tool_calls": {}}]},
        "messages[1].tool_calls",
    ),
    (
        {"messages": [USER, {"role": "assistant", "tool_calls": [7]}]},
        "messages[1].tool_calls[0]",
    ),
    ({"messages": [USER, asked("")]}, "messages[1].tool_calls[0].id"),
    (
        {
            "messages": [
                USER,
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "a", "function": {"name": "f"}}],
                },
            ]
        },
        "messages[1].tool_calls[0].function.arguments",
    ),
]


@pytest.mark.parametrize(("fields", "param"), BAD_TOOLS)
async def test_bad_tool_is_named(
    client: Client, fields: dict[str, Any], param: str
) -> None:
    answer = await client.chat(**fields)
    assert (answer.status, answer.error["param"]) == (400, param)
    assert client.backend.orders == []


async def test_deep_tool_is_refused(client: Client) -> None:
    deep = b'{"x":' + b"[" * 400 + b"]" * 400 + b"}"
    tool = b'{"type":"function","function":{"name":"f","parameters":' + deep + b"}}"
    body = orjson.dumps(chat_body())[:-1] + b',"tools":[' + tool + b"]}"
    answer = await client.ask("POST", CHAT, body)
    assert (answer.status, answer.error["param"]) == (400, "tools")


async def test_large_tools_are_refused(client: Client, settings: Settings) -> None:
    settings.MAX_TOOLS_BYTES = 1_000
    tool = {"type": "function", "function": {"name": "f", "description": "x" * 1_000}}
    answer = await client.chat(tools=[tool])
    assert (answer.status, answer.error["param"]) == (400, "tools")


async def test_c1_more_tools_than_the_setting_are_refused(
    client: Client, settings: Settings
) -> None:
    settings.MAX_TOOLS = 2
    answer = await client.chat(tools=[WEATHER, CLOCK, {**WEATHER}])
    assert (answer.status, answer.error["param"]) == (400, "tools")
    assert "at most 2" in answer.error["message"]


# --- out -----------------------------------------------------------------------------


async def test_tool_calls_are_those_of_the_openai_client(client: Client) -> None:
    client.run.plays(CALLED)
    answer = await client.chat(tools=[WEATHER, CLOCK])
    choice = ChatCompletion.model_validate(answer.json, strict=True).choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    called = choice.message.model_dump()["tool_calls"]
    assert [call["id"] for call in called] == [call_id(RUN_ID, 0), call_id(RUN_ID, 1)]
    assert [call["function"]["name"] for call in called] == ["weather", "clock"]


async def test_answer_without_calls_has_no_such_field(client: Client) -> None:
    client.run.plays(completed())
    message = (await client.chat()).json["choices"][0]["message"]
    assert "tool_calls" not in message


def assembled(chunks: list[Any]) -> dict[int, tuple[str, str, str]]:
    """Return what a client makes of the pieces: id, name, arguments."""
    calls: dict[int, tuple[str, str, str]] = {}
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk)
        for choice in chunk["choices"]:
            for part in choice["delta"].get("tool_calls", ()):
                done = calls.get(part["index"], ("", "", ""))
                called = part["function"]
                calls[part["index"]] = (
                    done[0] + part.get("id", ""),
                    done[1] + called.get("name", ""),
                    done[2] + called["arguments"],
                )
    return calls


WHOLE = {
    0: (call_id(RUN_ID, 0), "weather", '{"city":"Rome"}'),
    1: (call_id(RUN_ID, 1), "clock", "{}"),
}


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (piece(0, "", "weather"),),
        (piece(0, '{"ci', "weather"), piece(0, 'ty":"Rome"}')),
        (
            piece(0, '{"city":', "weather"),
            piece(1, "{", "clock"),
            piece(0, '"Rome"}'),
            piece(1, "}"),
        ),
    ],
)
async def test_pieces_add_up_to_the_recorded_calls(
    client: Client, pieces: tuple[Progress, ...]
) -> None:
    client.run.plays(*pieces, CALLED)
    answer = await client.chat(stream=True)
    assert assembled(answer.chunks) == WHOLE
    reasons = [c["choices"][0]["finish_reason"] for c in answer.chunks if c["choices"]]
    assert [reason for reason in reasons if reason] == ["tool_calls"]
    assert answer.lines[-1] == b"[DONE]"


async def test_each_piece_of_a_call_goes_out_at_once(client: Client) -> None:
    answer = client.open_chat(stream=True)
    await answer.until(lambda: len(answer.chunks) == 1)
    client.run.say(piece(0, '{"city":', "weather"))
    await answer.until(lambda: len(answer.chunks) == 2)
    client.run.say(piece(0, '"Rome"}'), piece(1, "{}", "clock"))
    await answer.until(lambda: len(answer.chunks) == 3)
    client.run.say(CALLED)
    await client.done()
    assert assembled(answer.chunks) == WHOLE


async def test_text_before_calls_comes_first(client: Client) -> None:
    calls = recorded(("clock", "{}"))
    end = completed("One moment.", finish_reason="tool_calls", tool_calls=calls)
    client.run.plays(answer_piece("One moment."), piece(0, "{}", "clock"), end)
    answer = await client.chat(stream=True)
    assert answer.deltas("content") == ["One moment."]
    assert assembled(answer.chunks)[0][1] == "clock"


@pytest.mark.parametrize(
    "sent",
    [piece(0, "", "clock"), piece(0, '{"city":"Bonn', "weather"), piece(2, "", "x")],
)
async def test_calls_that_contradict_what_was_sent_are_an_error(
    client: Client, sent: Progress
) -> None:
    client.run.plays(sent, CALLED)
    answer = await client.chat(stream=True)
    assert orjson.loads(answer.lines[-1])["error"]["code"] == "answer_changed"


# --- back ----------------------------------------------------------------------------


def test_an_id_leads_back_to_its_run() -> None:
    assert run_of(call_id(RUN_ID, 7)) == RUN_ID
    assert len(call_id(RUN_ID, 99)) == 39


@pytest.mark.parametrize("text", ["", "call_1", "toolu_01", "call_" + "g" * 34])
def test_a_foreign_id_leads_nowhere(text: str) -> None:
    assert run_of(text) is None


async def test_results_go_to_the_worker_that_asked(client: Client) -> None:
    client.run.plays(completed("Yes."))
    client.backend.askers[TEAM_ID, RUN_ID] = "writer"
    call = call_id(RUN_ID, 0)
    await client.chat(messages=[USER, asked(call), result(call)], tools=[WEATHER])
    (order,) = client.backend.orders
    assert order.continues == "writer"
    assert [m["role"] for m in order.messages] == ["user", "assistant", "tool"]
    assert order.messages[2].get("tool_call_id") == call
    assert order.messages[1].get("tool_calls") == asked(call)["tool_calls"]


@pytest.mark.parametrize("call", ["toolu_1", call_id(RUN_ID, 0)])
async def test_results_of_an_unknown_call_are_planned_as_usual(
    client: Client, call: str
) -> None:
    client.run.plays(completed())
    await client.chat(messages=[USER, asked(call), result(call)])
    assert client.backend.orders[0].continues == ""


async def test_a_later_question_is_planned_as_usual(client: Client) -> None:
    client.run.plays(completed())
    client.backend.askers[TEAM_ID, RUN_ID] = "writer"
    call = call_id(RUN_ID, 0)
    await client.chat(messages=[USER, asked(call), result(call), USER])
    assert client.backend.orders[0].continues == ""
