"""What goes on the wire, and what is read from it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apps.llm.errors import BadRequest, BadResponse, Incomplete, LlmError, ServerFailed
from apps.llm.protocols.openai.answer import OpenAiReader, read_answer
from apps.llm.protocols.openai.protocol import OpenAi
from apps.llm.types import (
    ChatRequest,
    Delta,
    Endpoint,
    Finish,
    TokenUsage,
    ToolCallDelta,
)

ENDPOINT = Endpoint("worker-a", "https://h/v1/", "model-a", "sk-canary")
MESSAGES = [{"role": "user", "content": "Hi"}]


def chunk(
    delta: Any = None, finish_reason: str | None = None, **fields: Any
) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"choices": [choice], **fields}


def read_all(*chunks: dict[str, Any] | bytes) -> list[Delta | Finish]:
    reader = OpenAiReader(ENDPOINT)
    raw = (c if isinstance(c, bytes) else orjson.dumps(c) for c in chunks)
    return [item for item in map(reader.read, raw) if item is not None]


def answer(**fields: Any) -> bytes:
    choice = {"message": {"content": "Hi"}, "finish_reason": "stop"}
    return orjson.dumps({"choices": [choice], "model": "m-1", **fields})


def test_only_set_fields_go_on_the_wire():
    body = OpenAi().request_body(ENDPOINT, ChatRequest(MESSAGES), is_stream=False)
    assert orjson.loads(body) == {"model": "model-a", "messages": MESSAGES}


def test_every_field_goes_on_the_wire():
    request = ChatRequest(MESSAGES, 9, 0.0, 0.5, ("a",), 0, {"type": "json_object"})
    assert orjson.loads(OpenAi().request_body(ENDPOINT, request, is_stream=False)) == {
        "model": "model-a",
        "messages": MESSAGES,
        "max_tokens": 9,
        "temperature": 0.0,
        "top_p": 0.5,
        "stop": ["a"],
        "seed": 0,
        "response_format": {"type": "json_object"},
    }


def test_stream_asks_for_usage():
    body = orjson.loads(
        OpenAi().request_body(ENDPOINT, ChatRequest(MESSAGES), is_stream=True)
    )
    assert body["stream"] and body["stream_options"] == {"include_usage": True}


def test_endpoint_names_its_own_token_limit():
    endpoint = Endpoint("w", "https://h", "m", max_tokens_field="max_completion_tokens")
    body = OpenAi().request_body(endpoint, ChatRequest(MESSAGES, 9), is_stream=False)
    assert orjson.loads(body)["max_completion_tokens"] == 9


@pytest.mark.parametrize(
    ("model", "is_sampled"),
    [
        ("gpt-4o", True),
        ("gpt-4.1-mini", True),
        ("gpt-5-chat-latest", True),
        ("gpt-oss-120b", True),
        ("sim-delta", True),
        ("olmo-2", True),
        ("gpt-5", False),
        ("gpt-5-mini", False),
        ("gpt-5.2-codex", False),
        ("openai/gpt-5", False),
        ("o1", False),
        ("o3-mini", False),
    ],
)
def test_reasoning_models_are_not_told_how_to_sample(model: str, is_sampled: bool):
    endpoint = Endpoint("w", "https://h", model)
    request = ChatRequest(MESSAGES, temperature=0.0, top_p=0.5)
    body = orjson.loads(OpenAi().request_body(endpoint, request, is_stream=False))
    assert ("temperature" in body) is ("top_p" in body) is is_sampled


@pytest.mark.parametrize("content", [object(), "\ud800"])
def test_request_without_a_form_in_json_is_bad(content: Any):
    with pytest.raises(BadRequest):
        OpenAi().request_body(
            ENDPOINT, ChatRequest([{"content": content}]), is_stream=False
        )


def test_path_is_appended_to_the_base_address():
    assert (
        OpenAi().chat_url(ENDPOINT, is_stream=True) == "https://h/v1/chat/completions"
    )


def test_endpoint_shows_no_secret():
    assert "canary" not in repr(ENDPOINT)


def test_deltas_then_finish():
    assert read_all(
        chunk({"role": "assistant", "content": ""}, model="m-1"),
        chunk({"content": "Hi"}),
        chunk({}, "stop"),
        b"[DONE]",
    ) == [Delta("Hi"), Finish("stop", "m-1", None)]


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_comes_apart(name: str):
    assert read_all(chunk({name: "hm", "content": None})) == [Delta("", "hm")]


@pytest.mark.parametrize(
    "quiet",
    [
        chunk({}),
        chunk(None),
        chunk({"content": None, "tool_calls": None, "new": 1}),
        {"choices": []},
        {"choices": None, "usage": {"prompt_tokens": 1, "completion_tokens": 0}},
        {"unknown": True},
        b"",
        b"  ",
    ],
)
def test_chunk_that_says_nothing_is_passed_over(quiet: Any):
    assert read_all(quiet) == []


def test_usage_chunk_after_the_finish_is_an_end_marker():
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    items = read_all(chunk({}, "length"), {"choices": [], "usage": usage})
    assert items == [Finish("length", "model-a", TokenUsage(3, 4))]


def test_usage_in_the_last_content_chunk_waits_for_done():
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    last = chunk({"content": "x"}, "stop", usage=usage)
    assert read_all(last) == [Delta("x")]
    assert read_all(last, b"[DONE]")[-1] == Finish("stop", "model-a", TokenUsage(3, 4))


def test_null_usage_later_does_not_erase_the_usage():
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    items = read_all(chunk({}, "stop", usage=usage), chunk({}, usage=None), b"[DONE]")
    assert items == [Finish("stop", "model-a", TokenUsage(3, 4))]


def test_done_without_a_finish_reason_is_incomplete():
    with pytest.raises(Incomplete):
        read_all(chunk({"content": "x"}), b"[DONE]")


@pytest.mark.parametrize(
    "bad", [b"{", b"[]", b"\xff", {"choices": 5}, {"choices": ["x"]}]
)
def test_chunk_of_another_shape_is_a_bad_response(bad: Any):
    with pytest.raises(BadResponse):
        read_all(bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"error": {"message": "overloaded"}},
        {"object": "error", "message": "overloaded"},
        chunk({}, "error"),
    ],
)
def test_error_inside_the_stream_fails_the_call(bad: dict[str, Any]):
    with pytest.raises(ServerFailed):
        read_all(chunk({"content": "x"}), bad)


def test_details_of_usage_are_read():
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    finish = read_answer(ENDPOINT, answer(usage=usage))[1]
    assert finish.usage == TokenUsage(10, 20, 4, 15)


def test_part_of_usage_is_never_more_than_the_whole():
    usage = {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 50},
        "completion_tokens_details": {"reasoning_tokens": 50},
    }
    finish = read_answer(ENDPOINT, answer(usage=usage))[1]
    assert finish.usage == TokenUsage(1, 2, 1, 2)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {},
        {"prompt_tokens": 1},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": "1", "completion_tokens": 1},
        {"prompt_tokens": 10**15, "completion_tokens": 1},
    ],
)
def test_usage_that_cannot_be_believed_is_unknown(usage: Any):
    assert read_answer(ENDPOINT, answer(usage=usage))[1].usage is None


def test_content_in_parts_is_joined():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "x", {"text": "b"}]
    choice = {"message": {"content": parts}, "finish_reason": "stop"}
    body = orjson.dumps({"choices": [choice]})
    assert read_answer(ENDPOINT, body)[0] == Delta("ab")


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "bad_response"),
        (b"<html>", "bad_response"),
        (b"{}", "bad_response"),
        (b'{"choices": []}', "bad_response"),
        (b'{"choices": [{"message": null}]}', "bad_response"),
        (b'{"choices": [{"message": {"content": "x"}}]}', "incomplete"),
        (b'{"error": {"message": "m", "code": 429}}', "rate_limited"),
    ],
)
def test_answer_without_an_answer_fails(body: bytes, fault: str):
    with pytest.raises(LlmError) as caught:
        read_answer(ENDPOINT, body)
    assert caught.value.fault == fault


# --- Tools, continuation, refusals ---------------------------------------------------

DONE = b"[DONE]"
TOOL = {"type": "function", "function": {"name": "now"}}


def body_of(**fields: Any) -> dict[str, Any]:
    request = ChatRequest(MESSAGES, **fields)
    body: dict[str, Any] = orjson.loads(
        OpenAi().request_body(ENDPOINT, request, is_stream=False)
    )
    del body["model"], body["messages"]
    return body


def test_tools_go_as_they_came():
    assert body_of(tools=(TOOL,), tool_choice=TOOL, parallel_tool_calls=False) == {
        "tools": [TOOL],
        "tool_choice": TOOL,
        "parallel_tool_calls": False,
    }


def test_choice_without_tools_stays_here():
    assert body_of(tool_choice="auto", parallel_tool_calls=True) == {}


def test_continued_answer_is_asked_for_in_words_of_vllm():
    assert body_of(is_continued=True) == {
        "continue_final_message": True,
        "add_generation_prompt": False,
    }


def piece(arguments: Any = None, name: str | None = None, **fields: Any) -> Any:
    function = {"arguments": arguments, "name": name}
    part = {"type": "function", "function": function, **fields}
    return chunk({"tool_calls": [part]})


def calls_of(*chunks: Any) -> list[tuple[str, str, str]]:
    """Return id, name and arguments of every call that `chunks` make."""
    calls: dict[int, list[str]] = {}
    for item in read_all(*chunks, chunk({}, "tool_calls"), b"[DONE]"):
        for part in item.tool_calls if isinstance(item, Delta) else ():
            call = calls.setdefault(part.index, ["", "", ""])
            call[0] += part.id
            call[1] += part.name
            call[2] += part.arguments
    return [(call[0], call[1], call[2]) for call in calls.values()]


def test_calls_come_in_pieces_by_index():
    assert calls_of(
        piece("", "f", index=0, id="a"),
        piece("", "g", index=1, id="b"),
        piece('{"x":', index=0),
        piece("{}", index=1),
        piece("1}", index=0),
    ) == [("a", "f", '{"x":1}'), ("b", "g", "{}")]


def test_pieces_that_repeat_id_and_name_are_one_call():
    assert calls_of(
        piece('{"x":', "f", index=0, id="a"), piece("1}", "f", index=0, id="a")
    ) == [("a", "f", '{"x":1}')]


def test_new_id_in_every_piece_is_one_call():
    assert calls_of(
        piece('{"x":', "f", index=0, id="a"), piece("1}", "f", index=0, id="b")
    ) == [("a", "f", '{"x":1}')]


def test_new_id_after_loose_ones_is_not_looked_at():
    assert calls_of(
        piece('{"x":', "f", index=0, id="a"),
        piece("1}", "f", index=0, id="b"),
        piece(" ", "f", index=0, id="c"),
    ) == [("a", "f", '{"x":1} ')]


def test_whole_calls_that_share_an_index_are_several():
    assert calls_of(
        piece("{}", "f", index=0, id="a"), piece("{}", "f", index=0, id="b")
    ) == [("a", "f", "{}"), ("b", "f", "{}")]


def test_calls_without_an_index_begin_with_an_id():
    assert calls_of(piece("{", "f", id="a"), piece("}"), piece("{}", "g", id="b")) == [
        ("a", "f", "{}"),
        ("b", "g", "{}"),
    ]


def test_arguments_may_come_as_an_object_or_not_at_all():
    assert calls_of(
        piece({"x": 1}, "f", index=0, id="a"), piece(None, "g", index=1, id="b")
    ) == [("a", "f", '{"x":1}'), ("b", "g", "{}")]


def test_whole_answer_with_calls():
    message = {"content": None, "tool_calls": [{"id": "a", "function": {"name": "f"}}]}
    choice = {"message": message, "finish_reason": "stop"}
    delta, finish = read_answer(ENDPOINT, orjson.dumps({"choices": [choice]}))
    assert delta == Delta(tool_calls=(ToolCallDelta(0, "a", "f", "{}"),))
    assert finish.finish_reason == "tool_calls"


def test_calls_that_never_came_are_no_reason():
    assert read_all(chunk({"content": "x"}, "tool_calls"), b"[DONE]")[-1] == Finish(
        "stop", "model-a", None
    )


def test_C8_a_refusal_is_no_text_and_comes_with_the_end():
    refused = Finish("content_filter", "model-a", None, refusal="I can't.")
    assert read_all(
        chunk({"refusal": "I can't"}), chunk({"refusal": "."}), chunk({}, "stop"), DONE
    ) == [Delta(), Delta(), refused]
    message = {"content": None, "refusal": "I can't."}
    choice = {"message": message, "finish_reason": "stop"}
    body = orjson.dumps({"model": "model-a", "choices": [choice]})
    assert read_answer(ENDPOINT, body) == (Delta(), refused)


def test_C8_an_endless_refusal_is_cut(monkeypatch):
    monkeypatch.setattr("apps.llm.protocols.openai.answer.MAX_REFUSAL_CHARACTERS", 5)
    pieces = [chunk({"refusal": "abc"})] * 9
    end = read_all(*pieces, chunk({}, "stop"), DONE)[-1]
    assert isinstance(end, Finish)
    assert end.refusal == "abcab"


@pytest.mark.parametrize(
    ("results", "refusal"),
    [
        (
            {"hate": {"filtered": True}, "violence": {"filtered": False}},
            "The provider's filter withheld the answer: hate",
        ),
        ({"hate": {"filtered": False}}, ""),
        ({"hate": True, "sk-1": None}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_C8_what_a_filter_found_is_the_reason(results: Any, refusal: str):
    choice = {"delta": {}, "finish_reason": "content_filter"}
    choice["content_filter_results"] = results
    said = orjson.dumps({"model": "model-a", "choices": [choice]})
    end = Finish("content_filter", "model-a", None, refusal=refusal)
    assert read_all(said, DONE)[-1] == end


def test_C8_a_filter_that_lets_through_is_no_reason():
    choice = {"delta": {"content": "x"}, "finish_reason": "stop"}
    choice["content_filter_results"] = {"hate": {"filtered": True}}
    said = orjson.dumps({"model": "model-a", "choices": [choice]})
    assert read_all(said, DONE)[-1] == Finish("stop", "model-a", None)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("model_length", "length"),
        ("eos", "stop"),
        ("end_turn", "stop"),
    ],
)
def test_reason_is_one_of_four_words(said: str, reason: str):
    assert read_all(chunk({"content": "x"}, said), DONE)[-1] == Finish(
        reason, "model-a", None
    )


def test_answer_the_server_gave_up_is_incomplete():
    with pytest.raises(Incomplete, match="broke its answer off"):
        read_all(chunk({"content": "x"}, "abort"), DONE)
