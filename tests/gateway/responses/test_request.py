"""What a request for a response may hold, and what it becomes."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from apps.gateway.tool_calls import call_id
from tests.gateway.fakes import RUN_ID, TEAM_ID, completed
from tests.gateway.responses.conftest import WEATHER, Api

CALL_ID = call_id(RUN_ID, 0)
PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
USER = {"role": "user", "content": "Hello"}
CALL = {
    "type": "function_call",
    "call_id": CALL_ID,
    "name": "weather",
    "arguments": "{}",
}
RESULT = {"type": "function_call_output", "call_id": CALL_ID, "output": "Rain"}


def chat_call(call_id: str = CALL_ID, arguments: str = "{}") -> dict[str, Any]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "weather", "arguments": arguments},
    }


async def test_text_is_the_prompt_unchanged(api: Api) -> None:
    api.client.run.plays(completed())
    await api.ask(input="Hello")
    order = api.client.backend.orders[-1]
    assert (order.prompt, order.messages, order.source) == ("Hello", (), "api")


async def test_user_is_kept_beside_the_metadata(api: Api) -> None:
    api.client.run.plays(completed())
    await api.ask(input="Hello", user="ada", metadata={"ticket": "7"})
    order = api.client.backend.orders[-1]
    assert (order.metadata, order.ignored) == ({"user": "ada", "ticket": "7"}, "")


async def test_parameters_go_to_the_run(api: Api) -> None:
    api.client.run.plays(completed())
    await api.ask(max_output_tokens=9, temperature=0, top_p=0.5, tools=[WEATHER],
                  tool_choice="required", parallel_tool_calls=True)  # fmt: skip
    params = api.client.backend.orders[-1].params
    assert (params.max_tokens, params.temperature, params.top_p) == (9, 0, 0.5)
    assert (params.tool_choice, params.parallel_tool_calls) == ("required", True)
    function = {name: WEATHER[name] for name in WEATHER if name != "type"}
    assert params.tools == ({"type": "function", "function": function},)


async def test_allowed_tools_are_the_only_ones(api: Api) -> None:
    api.client.run.plays(completed())
    choice = {
        "type": "allowed_tools",
        "mode": "required",
        "tools": [{"type": "function", "name": "weather"}],
    }
    other = {**WEATHER, "name": "time"}
    await api.ask(tools=[other, WEATHER], tool_choice=choice)
    params = api.client.backend.orders[-1].params
    assert [tool["function"]["name"] for tool in params.tools] == ["weather"]
    assert params.tool_choice == "required"


async def test_conductor_field_narrows(api: Api) -> None:
    api.client.run.plays(completed())
    await api.ask(conductor={"max_steps": 2, "delivery": "verified"})
    order = api.client.backend.orders[-1]
    assert (order.restrictions.max_steps, order.delivery) == (2, "verified")


async def test_fields_without_effect_are_named_in_the_ledger(api: Api) -> None:
    api.client.run.plays(completed())
    answer = await api.ask(store=False, truncation="auto", include=[], prediction={})
    ignored = api.client.backend.orders[-1].ignored
    assert answer.status == 200
    assert ignored == "include,prediction,store,truncation"


@pytest.mark.parametrize(
    ("items", "messages"),
    [
        ([{"role": "developer", "content": "Be brief."}, USER],
         ({"role": "system", "content": "Be brief."}, USER)),
        ([{"type": "message", "role": "user",
           "content": [{"type": "input_text", "text": "Hel"},
                       {"type": "input_text", "text": "lo"}]}], ()),
        ([USER, {"type": "message", "id": "msg_x", "role": "assistant",
                 "status": "completed",
                 "content": [{"type": "output_text", "text": "Hi", "annotations": []},
                             {"type": "refusal", "refusal": "!"}]}, USER],
         (USER, {"role": "assistant", "content": "Hi!"}, USER)),
        ([{"role": "user", "content": [
            {"type": "input_text", "text": "What is it?"},
            {"type": "input_image", "image_url": PNG, "detail": "low"}]}],
         ({"role": "user", "content": [
             {"type": "text", "text": "What is it?"},
             {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}]},)),
        ([USER, CALL, RESULT],
         (USER, {"role": "assistant", "content": "", "tool_calls": [chat_call()]},
          {"role": "tool", "content": "Rain", "tool_call_id": CALL_ID})),
        ([USER, {"role": "assistant", "content": "I look."}, CALL,
          {**CALL, "call_id": "c2", "arguments": "[1]"}, RESULT,
          {**RESULT, "call_id": "c2",
           "output": [{"type": "input_text", "text": "Sun"}]}],
         (USER,
          {"role": "assistant", "content": "I look.",
           "tool_calls": [chat_call(), chat_call("c2", "[1]")]},
          {"role": "tool", "content": "Rain", "tool_call_id": CALL_ID},
          {"role": "tool", "content": "Sun", "tool_call_id": "c2"})),
        ([USER, {"type": "reasoning", "id": "rs_1", "summary": []}], ()),
    ],
)  # fmt: skip
async def test_items_become_messages(api: Api, items: Any, messages: Any) -> None:
    api.client.run.plays(completed())
    answer = await api.ask(input=items)
    assert (answer.status, api.messages) == (200, messages)


async def test_instructions_come_first(api: Api) -> None:
    api.client.run.plays(completed())
    await api.ask(instructions="Be brief.", input="Hello")
    assert api.messages == ({"role": "system", "content": "Be brief."}, USER)


async def test_results_of_tools_go_to_the_worker_that_asked(api: Api) -> None:
    api.client.backend.askers[TEAM_ID, RUN_ID] = "writer"
    api.client.run.plays(completed())
    await api.ask(input=[USER, CALL, RESULT], tools=[WEATHER])
    assert api.client.backend.orders[-1].continues == "writer"


CONTENT = "input[0].content"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": ...}, "model"),
        ({"input": ...}, "input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{"type": "unheard_of"}]}, "input[0].type"),
        ({"input": [{"type": 5}]}, "input[0].type"),
        ({"input": [{"role": "tool", "content": ""}]}, "input[0].role"),
        ({"input": [{"content": ""}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, CONTENT),
        ({"input": [{"role": "user", "content": [5]}]}, f"{CONTENT}[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]},
         f"{CONTENT}[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]},
         f"{CONTENT}[0].text"),
        ({"input": [{"role": "system",
                     "content": [{"type": "input_image", "image_url": PNG}]}]},
         f"{CONTENT}[0]"),
        ({"input": [{"role": "user",
                     "content": [{"type": "input_image", "file_id": "f"}]}]},
         f"{CONTENT}[0].file_id"),
        ({"input": [{"role": "user",
                     "content": [{"type": "input_image", "image_url": "http://x"}]}]},
         f"{CONTENT}[0].image_url"),
        ({"input": [USER, {**CALL, "name": ""}]}, "input[1].name"),
        ({"input": [USER, {**CALL, "call_id": ...}]}, "input[1].call_id"),
        ({"input": [USER, {**CALL, "arguments": {}}]}, "input[1].arguments"),
        ({"input": [USER, CALL, {**RESULT, "output": None}]}, "input[2].output"),
        ({"input": [USER, RESULT]}, "input"),
        ({"input": [USER, CALL]}, "input"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].id"),
        ({"instructions": 5}, "instructions"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"stream": "yes"}, "stream"),
        ({"background": 1}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"previous_response_id": 7}, "previous_response_id"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"metadata": {"a" * 65: "x"}}, "metadata"),
        ({"metadata": {"a": "x" * 513}}, "metadata.a"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata"),
        ({"reasoning": {"effort": 5}}, "reasoning.effort"),
        ({"tools": [{"name": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": 5}]}, "tools[0].type"),
        ({"tools": ["x"]}, "tools[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [WEATHER, WEATHER]}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": 5}, "tool_choice"),
        ({"tool_choice": {"type": "mcp"}}, "tool_choice.type"),
        ({"tools": [WEATHER], "tool_choice": {"type": "function", "name": "x"}},
         "tool_choice.name"),
        ({"tools": [WEATHER], "tool_choice": {"type": "allowed_tools"}},
         "tool_choice.mode"),
        ({"tools": [WEATHER],
          "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}},
         "tool_choice.tools"),
        ({"tools": [WEATHER],
          "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [5]}},
         "tool_choice.tools[0]"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"text": {"format": 5}}, "text.format"),
        ({"text": {"format": {"type": "json_schema", "name": "n"}}},
         "text.format.schema"),
        ({"text": {"format": {"type": "json_schema", "schema": {}}}},
         "text.format.name"),
        ({"text": {"format": {"type": "json_schema", "name": "n",
                              "schema": {"type": "nothing"}}}}, "text.format.schema"),
        ({"conductor": {"approval": "always"}}, "conductor.approval"),
        ({"conductor": {"worker": "a"}}, "conductor.worker"),
    ],
)  # fmt: skip
async def test_bad_field_is_named(api: Api, fields: Any, param: str) -> None:
    answer = await api.ask(**_without_dots(fields))
    assert (answer.status, answer.error["param"]) == (400, param)
    assert api.client.backend.orders == []


async def test_bad_json_is_refused(api: Api) -> None:
    answer = await api.client.ask("POST", "/v1/responses", b'{"model":"a","model":"b"}')
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")


async def test_key_must_be_good(api: Api) -> None:
    answer = await api.client.ask("POST", "/v1/responses", b"{}", key="cdk_bad")
    assert answer.status == 401


async def test_other_methods_are_refused(api: Api) -> None:
    answer = await api.client.ask("GET", "/v1/responses")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def _without_dots(value: Any) -> Any:
    """Leave out what is ... inside of items."""
    if isinstance(value, dict):
        return {
            n: _without_dots(v) for n, v in value.items()
            if v is not ... or n in ("model", "input")
        }  # fmt: skip
    return [_without_dots(v) for v in value] if isinstance(value, list) else value
