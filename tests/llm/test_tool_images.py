"""Images in the results of tools, as the chat completions protocol takes them."""

from __future__ import annotations

from typing import Any

import orjson

from apps.llm.protocols.openai.protocol import OpenAi
from apps.llm.types import ChatRequest, Endpoint

ENDPOINT = Endpoint("w", "http://127.0.0.1:9/v1", "m")
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def sent(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    body = OpenAi().request_body(ENDPOINT, ChatRequest(messages), is_stream=False)
    found: list[dict[str, Any]] = orjson.loads(body)["messages"]
    return found


def call(*ids: str) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": each, "type": "function", "function": function} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(call_id: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": list(parts)}


def test_d10_images_follow_the_last_result_of_the_turn() -> None:
    words = {"type": "text", "text": "two files"}
    asked = {"role": "user", "content": "Which is larger?"}
    told = sent(
        asked, call("a", "b"), result("a", words, PICTURE), result("b", PICTURE)
    )
    assert [message["role"] for message in told] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert told[2]["content"] == [words]
    assert isinstance(told[3]["content"], str)
    kinds = [part["type"] for part in told[4]["content"]]
    assert kinds == ["text", "image_url", "text", "image_url"]
    assert "call a" in told[4]["content"][0]["text"]
    assert "call b" in told[4]["content"][2]["text"]


def test_d10_what_follows_the_results_stays_behind_the_images() -> None:
    asked = {"role": "user", "content": "Look."}
    told = sent(asked, call("a"), result("a", PICTURE), {**asked, "content": "And?"})
    assert told[-1]["content"] == "And?"
    assert told[-2]["content"][-1] == PICTURE


def test_messages_without_such_images_are_sent_as_they_are() -> None:
    messages = ({"role": "user", "content": [PICTURE]}, call("a"), result("a"))
    assert sent(*messages) == list(messages)
