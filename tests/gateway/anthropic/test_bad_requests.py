"""What is wrong with a request is told by its place, and no run begins."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.anthropic.conftest import (
    COUNT,
    PATH,
    USER,
    VERSION,
    WEATHER,
    MessageApi,
    result,
    use,
)


def asking(*blocks: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(blocks)}]}


def answered(*blocks: Any) -> dict[str, Any]:
    """Return a history with these blocks in an answer."""
    answer = {"role": "assistant", "content": list(blocks)}
    return {"messages": [USER, answer, USER]}


def source(**fields: Any) -> dict[str, Any]:
    return {"type": "document", "source": fields}


def image(**fields: Any) -> dict[str, Any]:
    return {"type": "image", "source": fields}


AT = "messages[0].content[0]"
CALL = {"role": "assistant", "content": [use("a")]}
RESULT = {"role": "user", "content": [result("a")]}
CALLED_TWICE = [USER, CALL, RESULT, CALL, RESULT]
BAD: list[tuple[dict[str, Any], str]] = [
    ({"model": ...}, "model"),
    ({"model": ""}, "model"),
    ({"max_tokens": ...}, "max_tokens"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": "9"}, "max_tokens"),
    ({"messages": ...}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": ["x"]}, "messages[0]"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
    (asking("x"), AT),
    (asking({"text": "x"}), f"{AT}.type"),
    (asking({"type": "video"}), f"{AT}.type"),
    (asking({"type": "text"}), f"{AT}.text"),
    (asking(image(type="base64", media_type="image/png", data="%")), f"{AT}.source"),
    (asking(image(type="base64", media_type="image/tiff", data="")), f"{AT}.source"),
    (asking(image(type="url", url="http://a.example/b")), f"{AT}.source.url"),
    (asking(image(type="file", file_id="f")), f"{AT}.source"),
    (asking(image(type="ftp")), f"{AT}.source.type"),
    (asking({"type": "image"}), f"{AT}.source"),
    (asking(source(type="base64", media_type="application/pdf", data="")), "PDF"),
    (asking(source(type="url", url="https://a.example/b.pdf")), "PDF"),
    (asking(source(type="file", file_id="f")), "files are not kept"),
    (asking(source(type="content", content=[{"type": "document"}])), "content[0].type"),
    (asking({"type": "text", "text": "?"}, result("a")), "'a'"),
    (asking(use("a")), f"{AT}.type"),
    (answered(use("a")), "'a' has no result"),
    (answered(use("a"), use("a")), "messages[1].content[1].id"),
    ({"messages": CALLED_TWICE}, "messages[3].content[0].id"),
    (answered({"type": "tool_use", "id": "a", "input": {}}), "content[0].name"),
    (answered({**use("a"), "input": []}), "content[0].input"),
    (answered({**use(""), "input": {}}), "content[0].id"),
    ({"messages": [USER, {"role": "assistant", "content": "The"}]}, "last message"),
    ({"system": 1}, "system"),
    ({"system": [{"type": "image"}]}, "system[0].type"),
    ({"temperature": 1.5}, "temperature"),
    ({"top_p": 2}, "top_p"),
    ({"top_k": 0}, "top_k"),
    ({"cache_control": {"type": "forever"}}, "cache_control.type"),
    (
        asking({"type": "text", "text": "?", "cache_control": {"type": "x"}}),
        f"{AT}.cache_control.type",
    ),
    ({"stop_sequences": ["a"] * 5}, "stop_sequences"),
    ({"stop_sequences": [""]}, "stop_sequences[0]"),
    ({"stream": "yes"}, "stream"),
    ({"metadata": {"user_id": 1}}, "metadata.user_id"),
    ({"service_tier": "flex"}, "service_tier"),
    ({"thinking": {"type": "on"}}, "thinking.type"),
    ({"thinking": {"type": []}}, "thinking.type"),
    ({"thinking": {"type": "enabled"}}, "thinking.budget_tokens"),
    ({"thinking": {"type": "enabled", "budget_tokens": 9}}, "thinking.budget_tokens"),
    (
        {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 2000}},
        "thinking.budget_tokens",
    ),
    ({"thinking": {"type": "adaptive", "display": "all"}}, "thinking.display"),
    ({"output_config": {"effort": "extreme"}}, "output_config.effort"),
    ({"output_config": {"format": {"type": "text"}}}, "output_config.format.type"),
    (
        {"output_config": {"format": {"type": "json_schema"}}},
        "output_config.format.schema",
    ),
    (
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": 1}}}},
        "output_config.format.schema",
    ),
    ({"tools": [{"name": "a"}]}, "tools[0].input_schema"),
    ({"tools": [{**WEATHER, "name": "a b"}]}, "tools[0].name"),
    ({"tools": [{**WEATHER, "type": 1}]}, "tools[0].type"),
    ({"tools": [WEATHER, WEATHER]}, "tools"),
    ({"tools": [WEATHER], "tool_choice": "auto"}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": {"type": "some"}}, "tool_choice.type"),
    ({"tools": [WEATHER], "tool_choice": {"type": "tool"}}, "tool_choice.name"),
    (
        {"tools": [WEATHER], "tool_choice": {"type": "tool", "name": "clock"}},
        "tool_choice.name",
    ),
    ({"tool_choice": {"type": "any"}}, "tool_choice"),
    ({"conductor": {"max_cost": 1}}, "conductor.max_cost"),
]


@pytest.mark.parametrize(("fields", "place"), BAD)
async def test_refusal_names_the_place(
    api: MessageApi, fields: dict[str, Any], place: str
) -> None:
    answer = await api.ask(**fields)
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")
    assert place in answer.error["message"]
    assert api.client.backend.orders == []


@pytest.mark.parametrize("path", [PATH, COUNT])
@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"model": "a", "model": "b"}'])
async def test_body_that_is_no_good_json_is_refused(
    api: MessageApi, path: str, raw: bytes
) -> None:
    answer = await api.client.ask("POST", path, raw, headers=VERSION)
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")
