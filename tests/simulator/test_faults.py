"""Models with faults, over a real socket where the connection itself is at fault."""

from __future__ import annotations

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
