"""What goes to Anthropic's protocol, and what only its answers have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from apps.llm.errors import BadRequest, Incomplete, LlmError, UnusableResponse
from apps.llm.protocols.anthropic.answer import (
    ANSWER_TOOL,
    AnthropicReader,
    read_answer,
)
from apps.llm.protocols.anthropic.protocol import MAX_TOKENS, Anthropic
from apps.llm.protocols.tool_calls import MAX_TOOL_CALLS
from apps.llm.types import (
    ChatRequest,
    Delta,
    Endpoint,
    Finish,
    TokenUsage,
    ToolCallDelta,
)

ENDPOINT = Endpoint("w", "https://h/v1/", "claude-a", "sk-1", protocol="anthropic")
USER = {"role": "user", "content": "Hi"}
CALL = {
    "id": "call:1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city":"Rome"}'},
}
ASKED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call:1", "content": "rain"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
NOW = {"type": "function", "function": {"name": "now", "description": "The time"}}


def body(
    *messages: dict[str, Any],
    endpoint: Endpoint = ENDPOINT,
    is_stream: bool = False,
    **fields: Any,
) -> Any:
    request = ChatRequest(messages or (USER,), **fields)
    return orjson.loads(
        Anthropic().request_body(endpoint, request, is_stream=is_stream)
    )


def read_all(*events: dict[str, Any]) -> list[Delta | Finish]:
    reader = AnthropicReader(ENDPOINT)
    items = map(reader.read, map(orjson.dumps, events))
    return [item for item in items if item is not None]


def test_plain_question():
    content = [{"type": "text", "text": "Hi"}]
    assert body() == {
        "model": "claude-a",
        "max_tokens": MAX_TOKENS,
        "messages": [{"role": "user", "content": content}],
    }


def test_every_field_with_a_word_goes_on_the_wire():
    said = body(
        {"role": "system", "content": "Be brief."},
        USER,
        is_stream=True,
        max_tokens=9,
        temperature=1.5,
        top_p=0.5,
        stop=("END",),
        seed=1,
    )
    del said["messages"], said["model"]
    assert said == {
        "max_tokens": 9,
        "system": "Be brief.",
        "temperature": 1.0,
        "stop_sequences": ["END"],
        "stream": True,
    }


def test_top_p_goes_alone():
    assert body(top_p=0.5)["top_p"] == 0.5


@pytest.mark.parametrize(
    ("model", "is_sampled"),
    [
        ("claude-3-opus-20240229", True),
        ("claude-3-5-sonnet-20241022", True),
        ("claude-opus-4-20250514", True),
        ("claude-sonnet-4-5-20250929", True),
        ("claude-opus-4-6", True),
        ("claude-instant-1.2", True),
        ("sim-delta", True),
        ("claude-opus-4-7", False),
        ("claude-opus-4-8-20260401", False),
        ("claude-sonnet-5", False),
        ("claude-sonnet-5-20260601", False),
        ("claude-haiku-5-5", False),
        ("anthropic/claude-opus-5", False),
    ],
)
def test_later_claudes_are_not_told_how_to_sample(model: str, is_sampled: bool):
    endpoint = replace(ENDPOINT, model=model)
    assert ("temperature" in body(endpoint=endpoint, temperature=0.5)) is is_sampled
    assert ("top_p" in body(endpoint=endpoint, top_p=0.5)) is is_sampled


def test_addresses_and_headers():
    protocol = Anthropic()
    assert protocol.chat_url(ENDPOINT, is_stream=True) == "https://h/v1/messages"
    assert protocol.models_url(ENDPOINT) == "https://h/v1/models?limit=1000"
    assert protocol.headers(ENDPOINT) == (
        ("anthropic-version", "2023-06-01"),
        ("x-api-key", "sk-1"),
    )


def test_only_a_list_of_models_is_one():
    listing = {"data": [{"id": "a"}, {}, 7]}
    assert list(Anthropic().model_names(listing) or ()) == ["a", None]
    assert Anthropic().model_names({"data": {}}) is None
    assert Anthropic().model_names([]) is None


def test_image_goes_as_bytes_or_address():
    parts = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "image_url", "image_url": {"url": "https://h/a.png"}},
    ]
    sources = [
        block["source"]
        for block in body({"role": "user", "content": parts})["messages"][0]["content"]
    ]
    assert sources == [
        {"type": "base64", "media_type": "image/png", "data": "aGk="},
        {"type": "url", "url": "https://h/a.png"},
    ]


def test_calls_and_results_go_with_ids_the_protocol_allows():
    _, asked, answered = body(USER, ASKED, RESULT, tools=(WEATHER,))["messages"]
    (use,) = asked["content"]
    assert use["id"] == "call_1"
    assert (use["name"], use["input"]) == ("weather", {"city": "Rome"})
    (result,) = answered["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "call_1")
    assert result["content"] == [{"type": "text", "text": "rain"}]


def test_result_may_be_empty():
    answered = body(USER, ASKED, {**RESULT, "content": ""}, tools=(WEATHER,))
    assert answered["messages"][-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1"}
    ]


def test_tools_go_with_a_schema_of_an_object():
    assert body(tools=(WEATHER, NOW))["tools"] == [
        {"name": "weather", "input_schema": SCHEMA},
        {
            "name": "now",
            "description": "The time",
            "input_schema": {"type": "object", "properties": {}},
        },
    ]


def test_tools_of_earlier_turns_are_declared_but_not_offered():
    said = body(USER, ASKED, RESULT)
    assert said["tools"] == [{"name": "weather", "input_schema": {"type": "object"}}]
    assert said["tool_choice"] == {"type": "none"}


def forced(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def allowed(mode: str, *names: str) -> dict[str, Any]:
    tools = [forced(name) for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        (None, {"type": "auto"}),
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        (forced("now"), {"type": "tool", "name": "now"}),
        (allowed("auto", "now"), {"type": "auto"}),
        (allowed("required", "now", "weather"), {"type": "any"}),
    ],
)
def test_choice_of_tools_is_translated(choice: Any, written: dict[str, Any]):
    assert body(tools=(WEATHER, NOW), tool_choice=choice)["tool_choice"] == written


def test_only_allowed_tools_go():
    said = body(tools=(WEATHER, NOW), tool_choice=allowed("auto", "now"))
    assert [tool["name"] for tool in said["tools"]] == ["now"]


@pytest.mark.parametrize(
    ("choice", "is_disabled"), [("auto", True), ("required", True), ("none", False)]
)
def test_one_call_at_a_time_can_be_asked_for(choice: str, is_disabled: bool):
    said = body(tools=(NOW,), tool_choice=choice, parallel_tool_calls=False)
    assert said["tool_choice"].get("disable_parallel_tool_use", False) is is_disabled


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tools": ({"type": "custom"},)}, r"tools\[0\] is no function"),
        ({"tools": (NOW, {"type": "function"})}, r"tools\[1\] is no function"),
        ({"tools": (NOW,), "tool_choice": "sometimes"}, "tool_choice is neither"),
        ({"tools": (NOW,), "tool_choice": {"type": "function"}}, "names no function"),
    ],
)
def test_tools_that_cannot_be_read_are_named(fields: dict[str, Any], named: str):
    with pytest.raises(BadRequest, match=named):
        body(**fields)


WANTED = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
LIST = {"type": "json_schema", "json_schema": {"schema": {"type": "array"}}}


def test_schema_is_that_of_a_tool_that_must_be_called():
    said = body(response_format=WANTED)
    (tool,) = said["tools"]
    assert (tool["name"], tool["input_schema"]) == (ANSWER_TOOL, SCHEMA)
    assert said["tool_choice"]["name"] == ANSWER_TOOL
    assert "system" not in said


@pytest.mark.parametrize(
    ("fields", "schema"),
    [
        ({"response_format": WANTED, "tools": (NOW,)}, SCHEMA),
        ({"response_format": WANTED, "is_continued": True}, SCHEMA),
        ({"response_format": LIST}, {"type": "array"}),
    ],
)
def test_schema_is_asked_for_in_words_where_a_tool_will_not_do(
    fields: dict[str, Any], schema: dict[str, Any]
):
    said = body({"role": "system", "content": "S."}, USER, **fields)
    assert said["system"].startswith("S.\n\nAnswer with one JSON value")
    assert orjson.loads(said["system"].partition("schema:\n")[2]) == schema
    assert ANSWER_TOOL not in str(said)


def test_any_json_is_asked_for_in_words():
    plain = body(response_format={"type": "json_object"})["system"]
    assert plain.startswith("Answer with one JSON object")
    assert "system" not in body(response_format={"type": "text"})


def test_beginning_of_the_answer_is_the_last_turn():
    begun = {"role": "assistant", "content": "Once "}
    last = body(USER, begun)["messages"][-1]
    assert last == {
        "role": "assistant",
        "content": [{"type": "text", "text": "Once"}],
    }


def test_beginning_of_white_space_is_left_out():
    begun = {"role": "assistant", "content": " \n"}
    assert [m["role"] for m in body(USER, begun)["messages"]] == ["user"]


def test_calls_at_the_end_are_no_beginning():
    assert body(USER, ASKED, tools=(WEATHER,))["messages"][-1]["role"] == "assistant"


# --- Answers -------------------------------------------------------------------------


def start(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"model": "m-1", "usage": usage}}


def end(reason: str | None, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


STOP = {"type": "message_stop"}


def test_input_that_was_cached_counts_as_input():
    usage = {"input_tokens": 3, "cache_read_input_tokens": 40}
    (finish,) = read_all(
        start(**usage, cache_creation_input_tokens=5, output_tokens=1),
        end("end_turn", output_tokens=7),
        STOP,
    )
    assert finish == Finish("stop", "m-1", TokenUsage(48, 7, 40))


def test_last_word_on_usage_counts():
    items = read_all(
        start(input_tokens=3), end("end_turn", input_tokens=9, output_tokens=7), STOP
    )
    assert items == [Finish("stop", "m-1", TokenUsage(9, 7))]


def test_count_that_cannot_be_believed_changes_nothing():
    items = read_all(
        start(input_tokens=3), end("end_turn", input_tokens=-1, output_tokens=7), STOP
    )
    assert items == [Finish("stop", "m-1", TokenUsage(3, 7))]


def test_count_of_the_start_alone_is_no_usage():
    items = read_all(start(input_tokens=3, output_tokens=1), end("end_turn"), STOP)
    assert items == [Finish("stop", "m-1", None)]


@pytest.mark.parametrize("reason", [None, "", "pause_turn", "something_new"])
def test_stop_for_no_good_reason_is_incomplete(reason: str | None):
    with pytest.raises(Incomplete):
        read_all(start(), end(reason), STOP)


def test_stop_without_a_reason_event_is_incomplete():
    with pytest.raises(Incomplete):
        read_all(start(), STOP)


@pytest.mark.parametrize(
    ("reason", "word"),
    [("stop_sequence", "stop"), ("model_context_window_exceeded", "length")],
)
def test_other_reasons_are_translated(reason: str, word: str):
    assert read_all(end(reason), STOP) == [Finish(word, "claude-a", None)]


@pytest.mark.parametrize(
    "quiet",
    [
        {"type": "ping"},
        {"type": "something_new", "delta": {"text": "x"}},
        {},
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_start", "content_block": {"type": "server_tool_use"}},
        {
            "type": "content_block_delta",
            "index": 4,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        },
        {"type": "content_block_delta", "delta": {"type": "signature_delta"}},
        {"type": "content_block_stop", "index": 4},
    ],
)
def test_event_that_says_nothing_is_passed_over(quiet: dict[str, Any]):
    assert read_all(quiet) == []


@pytest.mark.parametrize("payload", [b"", b"  "])
def test_empty_event_is_passed_over(payload: bytes):
    assert AnthropicReader(ENDPOINT).read(payload) is None


def test_block_may_begin_with_text():
    block = {"type": "text", "text": "Hi"}
    event = {"type": "content_block_start", "index": 0, "content_block": block}
    assert read_all(event) == [Delta("Hi")]


def test_call_that_begins_whole_is_told_once():
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    begin = {"type": "content_block_start", "index": 1, "content_block": block}
    stop = {"type": "content_block_stop", "index": 1}
    assert read_all(begin, stop, end("tool_use"), STOP) == [
        Delta(tool_calls=(ToolCallDelta(0, "t", "f"),)),
        Delta(tool_calls=(ToolCallDelta(0, arguments='{"a":1}'),)),
        Finish("tool_calls", "claude-a", None),
    ]


def answering(*pieces: str) -> list[dict[str, Any]]:
    block = {"type": "tool_use", "id": "t", "name": ANSWER_TOOL, "input": {}}
    deltas = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": piece},
        }
        for piece in pieces
    ]
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *deltas,
        {"type": "content_block_stop", "index": 0},
    ]


def test_arguments_of_the_answers_tool_are_the_answer():
    assert read_all(*answering("", '{"a":', "1}"), end("tool_use"), STOP) == [
        Delta('{"a":'),
        Delta("1}"),
        Finish("stop", "claude-a", None),
    ]


def test_answer_without_arguments_is_an_empty_object():
    assert read_all(*answering(""), end("tool_use"), STOP)[0] == Delta("{}")


def test_whole_arguments_of_the_answers_tool_are_the_answer():
    block = {"type": "tool_use", "name": ANSWER_TOOL, "input": {"a": 1}}
    answer = {"content": [block], "stop_reason": "tool_use"}
    assert read_answer(ENDPOINT, orjson.dumps(answer)) == (
        Delta('{"a":1}'),
        Finish("stop", "claude-a", None),
    )


@pytest.mark.parametrize(
    ("rest", "is_end"),
    [
        (b'{"type":"message_stop"}', True),
        (b'{"type":"message_stop"', False),
        (b'{"type":"ping"}', False),
        (b'["message_stop"]', False),
        (b"", False),
        (None, False),
    ],
)
def test_unterminated_end_marker_counts_if_it_is_whole(
    rest: bytes | None, is_end: bool
):
    reader = AnthropicReader(ENDPOINT)
    reader.read(orjson.dumps(end("end_turn")))
    if is_end:
        assert reader.end(rest) == Finish("stop", "claude-a", None)
        return
    with pytest.raises(Incomplete):
        reader.end(rest)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"content": None, "stop_reason": "end_turn"}, "bad_response"),
        ({"content": [], "stop_reason": None}, "incomplete"),
        ({"type": "error", "error": {"type": "overloaded_error"}}, "server_error"),
    ],
)
def test_answer_without_an_answer_fails(answer: dict[str, Any], fault: str):
    with pytest.raises(LlmError) as caught:
        read_answer(ENDPOINT, orjson.dumps(answer))
    assert caught.value.fault == fault


def test_reason_in_a_message_holds_no_secret():
    with pytest.raises(Incomplete) as caught:
        read_all(end("because sk-1"), STOP)
    assert "sk-1" not in caught.value.message


@pytest.mark.parametrize(
    ("details", "refusal"),
    [
        ({"explanation": "Not\nthis. sk-1"}, "Not this. [redacted]"),
        ({"explanation": None, "category": "bio"}, "The provider refused it: bio"),
        ({}, ""),
        (None, ""),
    ],
)
def test_C8_the_reason_for_a_refusal_comes_with_it(details: Any, refusal: str):
    stopped = {"stop_reason": "refusal", "stop_details": details}
    last = {"type": "message_delta", "delta": stopped}
    refused = Finish("content_filter", "claude-a", None, refusal=refusal)
    assert read_all(last, STOP)[-1] == refused
    body = orjson.dumps({"content": [], "model": "claude-a", **stopped})
    assert read_answer(ENDPOINT, body) == (Delta(), refused)


def test_answers_that_begin_and_never_end_are_refused():
    """T1: what a reader keeps does not grow with the stream."""
    block = {"type": "tool_use", "id": "t", "name": ANSWER_TOOL, "input": {}}
    begun = [
        {"type": "content_block_start", "index": index, "content_block": block}
        for index in range(MAX_TOOL_CALLS + 1)
    ]
    assert read_all(*begun[:-1]) == []
    with pytest.raises(UnusableResponse, match="answers at once"):
        read_all(*begun)
