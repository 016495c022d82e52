"""Models with faults, over a real socket where the connection itself is at fault."""

from __future__ import annotations

import asyncio
import uuid

import httpx
import pytest

from tests.simulator.asking import CHAT, Asker, body, events, joined

QUESTION = "What is 6*7?"
BOTH = pytest.mark.parametrize("stream", [False, True])


@pytest.mark.parametrize(
    ("model", "status", "code"),
    [
        ("fault-429", 429, "rate_limit_exceeded"),
        ("fault-500", 500, "server_error"),
        ("fault-401", 401, "invalid_api_key"),
        ("fault-400", 400, "invalid_value"),
        ("fault-context-length", 400, "context_length_exceeded"),
    ],
)
@BOTH
async def test_refusal_has_an_openai_body(
    ask: Asker, model: str, status: int, code: str, stream: bool
) -> None:
    response = await ask.response(model, QUESTION, stream=stream)
    assert response.status_code == status
    assert response.json()["error"]["code"] == code


async def test_rate_limit_says_when_to_come_back(ask: Asker) -> None:
    response = await ask.response("fault-429", QUESTION)
    assert response.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("model", "status"), [("fault-429-once", 429), ("fault-500-once", 500)]
)
async def test_once_fails_for_each_new_message_only(
    ask: Asker, model: str, status: int
) -> None:
    texts = [QUESTION, QUESTION, "What is 1+1?", QUESTION]
    responses = [await ask.response(model, text) for text in texts]
    assert [r.status_code for r in responses] == [status, 200, status, 200]


@BOTH
async def test_refused_connection_has_no_response(
    remote: httpx.AsyncClient, stream: bool
) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await remote.post(CHAT, json=body("fault-refuse", QUESTION, stream=stream))


@pytest.mark.parametrize("model", ["fault-cut", "sim-conductor-cut"])
@BOTH
async def test_cut_answer_stops_half_way(
    remote: httpx.AsyncClient, model: str, stream: bool
) -> None:
    got = b""
    with pytest.raises(httpx.RemoteProtocolError):
        async with remote.stream(
            "POST", CHAT, json=body(model, QUESTION, stream=stream)
        ) as response:
            async for part in response.aiter_bytes():
                got += part
    assert b"assistant" in got
    assert b"[DONE]" not in got


async def test_quiet_cut_lacks_the_end_marker(ask: Asker) -> None:
    chunks = await ask.chunks("fault-cut-quiet", QUESTION)
    assert joined(chunks).startswith("**42**")
    assert all(chunk["choices"][0]["finish_reason"] is None for chunk in chunks)


async def test_stalled_answer_sends_headers_and_nothing_else(
    remote: httpx.AsyncClient,
) -> None:
    limits = httpx.Timeout(5, read=0.2)
    async with remote.stream(
        "POST", CHAT, json=body("fault-stall", QUESTION, stream=True), timeout=limits
    ) as response:
        assert response.status_code == 200
        with pytest.raises(httpx.ReadTimeout):
            await response.aread()


@BOTH
async def test_idle_answer_falls_silent_after_a_beginning(
    remote: httpx.AsyncClient, stream: bool
) -> None:
    got = b""
    asked = body("fault-idle", QUESTION, stream=stream)
    limits = httpx.Timeout(5, read=0.2)
    with pytest.raises(httpx.ReadTimeout):
        async with remote.stream("POST", CHAT, json=asked, timeout=limits) as response:
            async for part in response.aiter_bytes():
                got += part
    assert b"42" in got


@BOTH
async def test_html_instead_of_json(ask: Asker, stream: bool) -> None:
    response = await ask.response("fault-html", QUESTION, stream=stream)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/html")


async def test_missing_usage(ask: Asker) -> None:
    options = {"stream_options": {"include_usage": True}}
    chunks = await ask.chunks("fault-no-usage", QUESTION, **options)
    whole = await ask.response("fault-no-usage", QUESTION)
    assert not any(c["usage"] for c in chunks[:-1])
    assert "usage" not in whole.json()


async def test_error_event_ends_a_stream_that_began_well(ask: Asker) -> None:
    chunks = await ask.chunks("fault-error-event", QUESTION)
    assert joined(chunks[:-1])
    assert chunks[-1]["error"]["code"] == "server_error"


@BOTH
async def test_broken_json(ask: Asker, stream: bool) -> None:
    response = await ask.response("fault-bad-json", QUESTION, stream=stream)
    with pytest.raises(ValueError, match=r"."):
        events(response.text)


@BOTH
async def test_empty_answer_is_complete(ask: Asker, stream: bool) -> None:
    response = await ask.response("fault-empty", QUESTION, stream=stream)
    data = events(response.text) if stream else [response.json()]
    reasons = [c["choices"][0]["finish_reason"] for c in data if c != "[DONE]"]
    assert reasons[-1] == "stop"
    assert (
        joined(data) == ""
        if stream
        else not data[0]["choices"][0]["message"]["content"]
    )


async def test_length_is_the_finish_reason(ask: Asker) -> None:
    data = (await ask.response("fault-length", QUESTION)).json()
    assert data["choices"][0]["finish_reason"] == "length"


async def test_other_model_answers(ask: Asker) -> None:
    data = (await ask.response("fault-other-model", QUESTION)).json()
    assert data["model"] == "another-model-2026"


@BOTH
async def test_redirect_leads_away(ask: Asker, stream: bool) -> None:
    response = await ask.response("fault-redirect", QUESTION, stream=stream)
    assert response.status_code == 307
    assert response.headers["location"] == "/v1/chat/completions/"


async def test_hanging_up_without_a_socket_reaches_the_caller(ask: Asker) -> None:
    with pytest.raises(ConnectionAbortedError):
        await ask.response("fault-refuse", str(uuid.uuid4()))


async def test_context_of_some_size_takes_what_fits(ask: Asker) -> None:
    assert (await ask("context-7", QUESTION)).startswith("**42**")
    refused = await ask.response("context-7", QUESTION * 2)
    error = refused.json()["error"]
    assert error["code"] == "context_length_exceeded"
    assert "maximum context length is 7 tokens" in error["message"]


@pytest.mark.parametrize(
    ("model", "text"), [("cut-quiet-0", ""), ("cut-quiet-2", "one two")]
)
async def test_cut_comes_after_so_many_tokens(
    ask: Asker, model: str, text: str
) -> None:
    chunks = await ask.chunks(model, "[[say one two three]]")
    assert joined(chunks) == text


async def test_call_of_a_tool_can_be_cut(ask: Asker) -> None:
    chunks = await ask.chunks("cut-quiet-2", '[[call look {"at": "this"}]]')
    deltas = [chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in chunks[1:]]
    assert deltas[0]["function"]["name"] == "look"
    assert deltas[1]["function"]["arguments"] == '{"at"'
    assert len(deltas) == 2


@pytest.mark.parametrize("model", ["late-30", "trickle-10"])
@BOTH
async def test_late_answer_comes_whatever_the_speed(
    ask: Asker, model: str, stream: bool
) -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    response = await ask.response(model, "[[say one two three]]", stream=stream)
    data = events(response.text) if stream else [response.json()]
    text = joined(data) if stream else data[0]["choices"][0]["message"]["content"]
    assert text == "one two three"
    assert loop.time() - start >= (0.01 if not stream else 0.03)


@pytest.mark.parametrize(("stream", "mark"), [(False, b" "), (True, b": still here")])
async def test_line_is_kept_alive_without_an_answer(
    remote: httpx.AsyncClient, stream: bool, mark: bytes
) -> None:
    got = b""
    asked = body("fault-ping", QUESTION, stream=stream)
    async with remote.stream("POST", CHAT, json=asked) as response:
        async for part in response.aiter_bytes():
            got += part
            if got.count(mark) >= 3:
                break
    assert not got.replace(mark, b"").strip()


async def test_flaky_models_remember_apart(ask: Asker) -> None:
    asked = ["flaky-1", "flaky-2", "flaky-1", "flaky-2", "flaky-2"]
    statuses = [(await ask.response(name, QUESTION)).status_code for name in asked]
    assert statuses == [500, 500, 200, 500, 200]


async def test_listed_faults_are_found_by_name(client: httpx.AsyncClient) -> None:
    listed = (await client.get("/v1/models")).json()["data"]
    named = [m["id"] for m in listed] + ["cut-1", "flaky-3", "late-5", "context-9"]
    found = [(await client.get(f"/v1/models/{name}")).status_code for name in named]
    assert set(found) == {200}
