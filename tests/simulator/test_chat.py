"""The wire format: whole answers, streams, usage, errors, keys and counts."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from apps.simulator.app import create_app
from tests.simulator.asking import CHAT, Asker, body, joined

USAGE = {"stream_options": {"include_usage": True}}


async def test_usage_adds_up(ask: Asker) -> None:
    usage = (await ask.response("echo", "one two three")).json()["usage"]
    assert usage["prompt_tokens"] == 8
    assert usage["completion_tokens"] == 3
    assert usage["total_tokens"] == 11


async def test_stream_opens_with_the_role_and_ends_with_done(ask: Asker) -> None:
    chunks = await ask.chunks("echo", "one two")
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1] == "[DONE]"


async def test_stream_sends_one_chunk_per_token(ask: Asker) -> None:
    chunks = await ask.chunks("tokens-50-10", "go", **USAGE)
    texts = [c["choices"][0]["delta"].get("content") for c in chunks[:-2]]
    assert texts[1:-1] == [f"{n} " for n in range(50)]
    assert chunks[-2]["usage"]["completion_tokens"] == 50


async def test_stream_and_whole_answer_are_the_same(ask: Asker) -> None:
    question = "What is the capital of Spain?"
    chunks = await ask.chunks("sim-ember", question, **USAGE)
    whole = (await ask.response("sim-ember", question)).json()
    assert joined(chunks) == whole["choices"][0]["message"]["content"]
    assert chunks[-2]["usage"] == whole["usage"]


async def test_usage_chunk_comes_only_when_asked_for(ask: Asker) -> None:
    chunks = await ask.chunks("instant", "hi")
    assert not any("usage" in chunk for chunk in chunks[:-1])


async def test_token_limit_cuts_the_answer(ask: Asker) -> None:
    data = (await ask.response("echo", "a b c d", max_tokens=2)).json()
    assert data["choices"][0]["finish_reason"] == "length"
    assert data["choices"][0]["message"]["content"] == "a b"


async def test_stop_word_ends_the_answer(ask: Asker) -> None:
    assert await ask("echo", "one two three", stop=[" three", " two"]) == "one"


async def test_text_parts_are_joined(ask: Asker) -> None:
    parts: Any = [{"type": "text", "text": word} for word in ("one", "two")]
    assert await ask("echo", parts) == "one\ntwo"


async def test_last_user_message_is_echoed(client: httpx.AsyncClient) -> None:
    roles = (("user", "first"), ("assistant", None), ("user", "second"))
    messages = [{"role": role, "content": text} for role, text in roles]
    response = await client.post(CHAT, json={"model": "echo", "messages": messages})
    assert response.json()["choices"][0]["message"]["content"] == "second"


async def test_json_answer_follows_the_schema(ask: Asker) -> None:
    properties = {"result": {"type": "integer"}, "unit": {"enum": ["none"]}}
    schema = {"type": "object", "properties": properties}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = await ask("fault-no-usage", "What is 6*7?", response_format=wanted)
    assert answer == '{"result":42,"unit":"none"}'


@pytest.mark.parametrize(
    ("content", "param"),
    [
        (b"{", None),
        (b"[]", None),
        (b'{"messages": [{"role": "user"}]}', "model"),
        (b'{"model": "echo"}', "messages"),
        (b'{"model": "echo", "messages": []}', "messages"),
        (b'{"model": "echo", "messages": ["x"]}', "messages[0].role"),
        (
            b'{"model": "echo", "messages": [{"role": "user", "content": 1}]}',
            "messages[0].content",
        ),
        (
            b'{"model": "echo", "messages": [{"role": "user"}], "max_tokens": 0}',
            "max_tokens",
        ),
        (b'{"model": "echo", "messages": [{"role": "user"}], "stop": [1]}', "stop"),
    ],
)
async def test_broken_request_is_refused_in_openai_shape(
    client: httpx.AsyncClient, content: bytes, param: str | None
) -> None:
    response = await client.post(CHAT, content=content)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/v1/unknown", 404, "not_found"),
        ("GET", "/v1/models/nobody", 404, "not_found"),
        ("GET", "/", 404, "not_found"),
        ("GET", CHAT, 405, "method_not_allowed"),
    ],
)
async def test_wrong_address_is_an_error_body(
    client: httpx.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    response = await client.request(method, path)
    assert response.status_code == status
    assert response.json()["error"]["code"] == code


async def test_unknown_model_is_named(ask: Asker) -> None:
    response = await ask.response("nobody", "hi")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "model_not_found"


async def test_models_are_listed(client: httpx.AsyncClient) -> None:
    names = {m["id"] for m in (await client.get("/v1/models")).json()["data"]}
    assert {"sim-conductor", "sim-atlas", "echo", "fault-500"} <= names


@pytest.mark.parametrize("name", ["sim-atlas", "fault-cut", "delay-5", "tokens-1-1"])
async def test_single_model_is_found(client: httpx.AsyncClient, name: str) -> None:
    assert (await client.get(f"/v1/models/{name}")).json()["id"] == name


async def test_health_needs_no_key() -> None:
    async with _locked() as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}


@pytest.mark.parametrize("key", ["", "Bearer wrong", "right", "Bearer right "])
async def test_wrong_key_is_refused(key: str) -> None:
    async with _locked() as client:
        headers = {"authorization": key}
        response = await client.post(CHAT, json=body("echo", "hi"), headers=headers)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "invalid_api_key"


async def test_right_key_is_let_in() -> None:
    async with _locked() as client:
        headers = {"authorization": "Bearer right"}
        response = await client.post(CHAT, json=body("echo", "hi"), headers=headers)
    assert response.status_code == 200


async def test_stats_count_requests_per_model(
    client: httpx.AsyncClient, ask: Asker
) -> None:
    await ask("echo", "a")
    await ask("echo", "b")
    await ask("instant", "c")
    stats = (await client.get("/v1/stats")).json()
    assert stats["requests"] == {"echo": 2, "instant": 1}
    assert (stats["total"], stats["in_flight"], stats["disconnected"]) == (3, 0, 0)


async def test_official_client_reads_the_stream(server_url: str) -> None:
    async with openai.AsyncOpenAI(base_url=f"{server_url}/v1", api_key="x") as client:
        stream = await client.chat.completions.create(
            model="sim-ember",
            messages=[{"role": "user", "content": "What is the capital of France?"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text.startswith("**Paris**")
    assert chunks[-1].usage is not None and chunks[-1].usage.total_tokens > 20


def test_negative_speed_is_refused() -> None:
    with pytest.raises(ValueError, match="speed"):
        create_app(speed=-1)


def _locked() -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=create_app(speed=0, api_key="right"))
    return httpx.AsyncClient(transport=transport, base_url="http://sim")
