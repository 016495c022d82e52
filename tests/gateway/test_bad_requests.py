"""What is refused, with which words, before any run exists."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from pytest_django.fixtures import Settings

from apps.gateway import exchange
from tests.gateway.conftest import CHAT, Client, chat_body
from tests.gateway.fakes import completed


def user(content: Any) -> list[dict[str, Any]]:
    """Return one message of the user."""
    return [{"role": "user", "content": content}]


def schema(given: Any) -> dict[str, Any]:
    """Return the response format of a schema."""
    return {"type": "json_schema", "json_schema": {"name": "shape", "schema": given}}


TEXT = {"type": "text", "text": "Look."}
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
BAD_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"model": ...}, "model"),
    ({"model": ""}, "model"),
    ({"model": 3}, "model"),
    ({"messages": ...}, "messages"),
    ({"messages": {}}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": ["hi"]}, "messages[0]"),
    ({"messages": [{"role": "system", "content": "Be kind."}]}, "messages"),
    ({"messages": [{"content": "hi"}]}, "messages[0].role"),
    ({"messages": [{"role": ["user"], "content": "hi"}]}, "messages[0].role"),
    (
        {"messages": [{"role": "tool", "content": "hi"}]},
        "messages[0].tool_call_id",
    ),
    ({"messages": [{"role": "function", "content": "hi"}]}, "messages[0].role"),
    ({"messages": user("")}, "messages"),
    ({"messages": user(" \n")}, "messages"),
    ({"messages": user("a\x00b")}, "messages"),
    ({"messages": user(None)}, "messages[0].content"),
    ({"messages": user(7)}, "messages[0].content"),
    ({"messages": user([7])}, "messages[0].content[0]"),
    ({"messages": user([TEXT, IMAGE])}, "messages[0].content[1].image_url.url"),
    ({"messages": user([{"type": "input_audio"}])}, "messages[0].content[0]"),
    ({"messages": user([{"type": {}}])}, "messages[0].content[0]"),
    ({"messages": user([{"type": "text"}])}, "messages[0].content[0].text"),
    (
        {"messages": [{"role": "assistant", "tool_calls": [{}]}]},
        "messages[0].tool_calls[0]",
    ),
    ({"n": 2}, "n"),
    ({"n": True}, "n"),
    ({"logprobs": True}, "logprobs"),
    ({"top_logprobs": 3}, "top_logprobs"),
    ({"tools": [{"type": "function"}]}, "tools[0].function"),
    ({"functions": [{"name": "f"}]}, "functions"),
    ({"stream": "yes"}, "stream"),
    ({"stream_options": []}, "stream_options"),
    ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
    ({"temperature": 3}, "temperature"),
    ({"temperature": True}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"top_p": -0.1}, "top_p"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": 1.5}, "max_tokens"),
    ({"max_completion_tokens": 10**12}, "max_completion_tokens"),
    ({"seed": 2**63}, "seed"),
    ({"seed": "x"}, "seed"),
    ({"stop": 5}, "stop"),
    ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
    ({"stop": ["a", ""]}, "stop[1]"),
    ({"response_format": "json"}, "response_format"),
    ({"response_format": {"type": "xml"}}, "response_format.type"),
    ({"response_format": {"type": ["text"]}}, "response_format.type"),
    (
        {"response_format": {"type": "json_schema"}},
        "response_format.json_schema",
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a b"}}},
        "response_format.json_schema.name",
    ),
    (
        {"response_format": schema({"type": "nonsense"})},
        "response_format.json_schema.schema",
    ),
    (
        {"response_format": schema({"$ref": "https://elsewhere.example/schema"})},
        "response_format.json_schema.schema",
    ),
    ({"response_format": schema([])}, "response_format.json_schema.schema"),
]


@pytest.mark.parametrize(("fields", "param"), BAD_FIELDS)
async def test_bad_field_is_named(
    client: Client, fields: dict[str, Any], param: str
) -> None:
    answer = await client.chat(**fields)
    assert (answer.status, answer.error["param"]) == (400, param)
    assert answer.error["type"] == answer.error["code"] == "invalid_request_error"
    assert client.backend.orders == []


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "developer", "content": "Be kind."}, *user("Hi.")]},
        {"messages": user([TEXT, TEXT])},
        {"messages": [*user("Hi."), {"role": "assistant", "content": None}]},
        {"temperature": None, "stop": None, "seed": None, "n": 1, "tools": []},
        {"logprobs": False, "tool_choice": "none", "store": True, "metadata": {}},
        {"stop": ["a", "b", "c", "d"], "max_tokens": 1, "top_p": 1},
        {"response_format": {"type": "text"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}},
        {"parallel_tool_calls": True, "service_tier": "auto", "made_up": [1]},
    ],
)
async def test_harmless_field_is_accepted(
    client: Client, fields: dict[str, Any]
) -> None:
    client.run.plays(completed())
    assert (await client.chat(**fields)).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"not json",
        b"[]",
        b'"text"',
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"model": "\xff"}',
        b'{"model": "\\ud800"}',
        orjson.dumps(chat_body())[:-1] + b',"temperature":NaN}',
        orjson.dumps(chat_body())[:-1] + b',"temperature":1e999}',
        orjson.dumps(chat_body())[:-1] + b',"seed":' + b"9" * 400 + b"}",
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda body: repr(body[:12]),
)
async def test_body_that_is_no_json_object_is_refused(
    client: Client, body: bytes
) -> None:
    answer = await client.ask("POST", CHAT, body)
    assert (answer.status, answer.error["param"]) == (400, None)


async def test_deep_response_format_is_refused(client: Client) -> None:
    deep = b'{"type":"json_object","x":' + b"[" * 400 + b"]" * 400 + b"}"
    body = orjson.dumps(chat_body())[:-1] + b',"response_format":' + deep + b"}"
    answer = await client.ask("POST", CHAT, body)
    assert (answer.status, answer.error["param"]) == (400, "response_format")


async def test_long_prompt_is_refused_by_bytes(
    client: Client, settings: Settings
) -> None:
    settings.MAX_PROMPT_BYTES = 10
    error = (await client.chat(messages=user("ä" * 6))).error
    assert (error["code"], error["param"]) == ("context_length_exceeded", "messages")
    client.run.plays(completed())
    assert (await client.chat(messages=user("ä" * 5))).status == 200


async def test_long_response_format_is_refused(
    client: Client, settings: Settings
) -> None:
    settings.MAX_SCHEMA_BYTES = 100
    shape = {"type": "json_object", "x": "y" * 100}
    answer = await client.chat(response_format=shape)
    assert answer.error["param"] == "response_format"


async def test_declared_size_is_refused_unread(
    client: Client, settings: Settings
) -> None:
    settings.MAX_REQUEST_BYTES = 10
    headers = {"content-length": "11"}
    answer = client.open("POST", CHAT, b"x" * 11, headers=headers)
    await client.done()
    assert (answer.status, answer.parts_read) == (413, 0)


async def test_body_is_refused_as_soon_as_it_is_too_long(
    client: Client, settings: Settings
) -> None:
    settings.MAX_REQUEST_BYTES = 10
    answer = client.open("POST", CHAT, *([b"x" * 6] * 100))
    await client.done()
    assert (answer.status, answer.parts_read) == (413, 2)


async def test_body_that_stops_coming_is_given_up(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "BODY_S", 0.0)
    answer = client.open("POST", CHAT, b"{", b"}")
    answer.keep_body_back(after=1)
    await client.done()
    assert (answer.status, answer.error["code"]) == (408, "request_timeout")


async def test_body_in_many_parts_is_put_together(client: Client) -> None:
    client.run.plays(completed())
    body = orjson.dumps(chat_body())
    parts = [body[i : i + 7] for i in range(0, len(body), 7)]
    assert (await client.ask("POST", CHAT, *parts)).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=x"},
        {"content-encoding": "gzip"},
    ],
)
async def test_foreign_body_is_refused_by_its_name(
    client: Client, headers: dict[str, str]
) -> None:
    answer = await client.ask("POST", CHAT, b"model=x", headers=headers)
    (name,) = headers.values()
    assert answer.status == 415
    assert name.split(";")[0] in answer.error["message"]


@pytest.mark.parametrize("kind", ["", "text/plain", "text/plain;charset=UTF-8", "x/y"])
async def test_json_is_accepted_under_any_other_content_type(
    client: Client, kind: str
) -> None:
    client.run.plays(completed())
    body = orjson.dumps(chat_body())
    answer = await client.ask("POST", CHAT, body, headers={"content-type": kind})
    assert answer.status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("DELETE", "/v1/models", 405, "method_not_allowed"),
        ("POST", "/v1/chat/completions/", 404, "not_found"),
        ("GET", "/v1/models/", 404, "model_not_found"),
        ("GET", "/v1/", 404, "not_found"),
        ("POST", "/v1/audio/speech", 404, "not_found"),
        ("GET", "/v1/a\nb", 404, "not_found"),
    ],
)
async def test_wrong_address_is_an_error_in_shape(
    client: Client, method: str, path: str, status: int, code: str
) -> None:
    answer = await client.ask(method, path)
    assert (answer.status, answer.error["code"]) == (status, code)
    assert "x-request-id" in answer.headers


async def test_wrong_method_is_told_the_right_one(client: Client) -> None:
    answer = await client.ask("GET", CHAT)
    assert answer.headers["allow"] == "POST"
