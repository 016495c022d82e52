"""Whole calls against a scripted provider: answers, faults, cuts, cancellation."""

from __future__ import annotations

import asyncio
import tomllib
from contextlib import aclosing
from pathlib import Path

import pytest

from apps.llm.chat import ChatClient
from apps.llm.errors import BadRequest, Incomplete, LlmError, Unauthorized
from apps.llm.http_common import USER_AGENT
from apps.llm.testing import (
    DONE_EVENT,
    BodyFraming,
    FakeProvider,
    Script,
    answer_script,
    chunk_event,
    event,
    events_script,
    json_script,
    refusal_script,
    stream_script,
    usage_event,
)
from apps.llm.types import ChatRequest, Delta, Endpoint, Finish, TokenUsage
from tests.llm.conftest import KEY, endpoint_of, joined

FINISH = Finish("stop", "fake-1", TokenUsage(7, 2))
PAGE = (b"<!doctype html><p>Bad gateway",)
HTML = (("content-type", "text/html; charset=utf-8"),)
PLAIN = (("content-type", "text/plain"),)
JSON = (("content-type", "application/json"),)


async def collect(
    client: ChatClient, endpoint: Endpoint, question: ChatRequest
) -> list[Delta | Finish]:
    async with aclosing(client.stream(endpoint, question)) as items:
        return [item async for item in items]


async def stream_of(
    client: ChatClient, question: ChatRequest, script: Script
) -> list[Delta | Finish]:
    async with FakeProvider(script) as provider:
        return await collect(client, endpoint_of(provider), question)


async def fault_of(client: ChatClient, question: ChatRequest, script: Script) -> str:
    with pytest.raises(LlmError) as caught:
        await stream_of(client, question, script)
    return caught.value.fault


async def test_stream_gives_deltas_then_one_finish(client, question):
    items = await stream_of(client, question, stream_script(["Hel", "lo 🙂"]))
    assert joined(items) == [Delta("Hello 🙂"), FINISH]


def content(text: str) -> bytes:
    return chunk_event({"content": text})


async def test_what_comes_together_goes_on_together(client, question):
    pause = asyncio.Event()
    script = events_script(content("a") + content("b"), pause, content("c"))
    async with (
        FakeProvider(script) as provider,
        aclosing(client.stream(endpoint_of(provider), question)) as items,
    ):
        assert await anext(items) == Delta("ab")
        pause.set()
        assert await anext(items) == Delta("c")


async def test_what_came_before_a_fault_is_told_first(client, question):
    broken = event({"error": {"message": "overloaded"}})
    script = events_script(content("a") + content("b") + broken + content("c"))
    items = []
    async with FakeProvider(script) as provider:
        with pytest.raises(LlmError):
            async for item in client.stream(endpoint_of(provider), question):
                items.append(item)
    assert items == [Delta("ab")]


async def test_complete_gives_the_answer_at_once(client, question):
    async with FakeProvider(answer_script("Hi")) as provider:
        answer = await client.complete(endpoint_of(provider), question)
    assert answer == (Delta("Hi"), FINISH)


async def test_request_carries_key_agent_and_extra_headers(client, question):
    async with FakeProvider(answer_script()) as provider:
        endpoint = Endpoint(
            "w", provider.base_url, "m", KEY, extra_headers=(("x-team", "t-1"),)
        )
        await client.complete(endpoint, question)
    seen = provider.requests[0]
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert (seen.headers["user-agent"], seen.headers["x-team"]) == (USER_AGENT, "t-1")


async def test_endpoint_without_a_key_sends_none(client, question):
    async with FakeProvider(answer_script()) as provider:
        await client.complete(endpoint_of(provider, api_key=""), question)
    assert "authorization" not in provider.requests[0].headers


def test_user_agent_tells_the_version_of_the_product():
    project = Path(__file__).parents[2] / "pyproject.toml"
    version = tomllib.loads(project.read_text())["project"]["version"]
    assert f"conductor/{version}" == USER_AGENT


async def test_streams_share_a_connection(client, question):
    async with FakeProvider(default=stream_script()) as provider:
        for _ in range(3):
            await collect(client, endpoint_of(provider), question)
    assert {request.connection for request in provider.requests} == {1}


async def test_marker_after_the_finish_is_read_so_the_connection_is_kept(
    client, question
):
    rest = asyncio.Event()
    script = events_script(chunk_event({}, "stop"), usage_event(), rest, DONE_EVENT)
    async with FakeProvider(script, default=answer_script()) as provider:
        async for _ in client.stream(endpoint_of(provider), question):
            rest.set()
        await client.complete(endpoint_of(provider), question)
    assert {request.connection for request in provider.requests} == {1}


async def test_heartbeats_and_empty_chunks_are_passed_over(client, question):
    script = events_script(
        b": keep-alive\n\n",
        chunk_event({}),
        chunk_event({"content": "Hi"}),
        event({"choices": []}),
        chunk_event({}, "stop") + DONE_EVENT,
    )
    items = await stream_of(client, question, script)
    assert items == [Delta("Hi"), Finish("stop", "fake-1", None)]


async def test_usage_chunk_ends_a_stream_that_never_closes(client, question):
    silence = asyncio.Event()
    script = events_script(chunk_event({}, "stop"), usage_event(), silence)
    assert await stream_of(client, question, script) == [FINISH]


async def test_done_without_its_last_newline_is_an_end(client, question):
    script = events_script(chunk_event({}, "stop"), b"data: [DONE]")
    items = await stream_of(client, question, script)
    assert items == [Finish("stop", "fake-1", None)]


async def test_event_stream_without_a_content_type_is_read(client, question):
    script = Script(stream_script().parts, headers=())
    assert (await stream_of(client, question, script))[-1] == FINISH


async def test_identity_encoding_is_no_compression(client, question):
    headers = (("content-type", "text/event-stream"), ("content-encoding", "identity"))
    script = Script(stream_script().parts, headers=headers)
    assert (await stream_of(client, question, script))[-1] == FINISH


# --- Faults --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        (refusal_script(401), "unauthorized"),
        (refusal_script(429, code="insufficient_quota"), "quota"),
        (refusal_script(404), "not_found"),
        (refusal_script(400, code="context_length_exceeded"), "context_length"),
        (refusal_script(400), "bad_request"),
        (refusal_script(503), "server_error"),
        (refusal_script(302, headers=[("location", "/v2")]), "bad_response"),
        (Script(PAGE, headers=HTML), "unusable_response"),
        (Script(PAGE, headers=PLAIN), "unusable_response"),
        (Script((b" {}",), headers=PLAIN), "unusable_response"),
        (Script((b"{}",), headers=JSON), "unusable_response"),
        (answer_script(), "unusable_response"),
        (json_script({"error": {"code": "rate_limit_exceeded"}}), "rate_limited"),
        (json_script({}, headers=[("content-encoding", "br")]), "unusable_response"),
        (events_script(b"data: {oops\n\n"), "bad_response"),
        (events_script(event({"error": {"message": "no"}})), "server_error"),
        (events_script(), "incomplete"),
        (events_script(DONE_EVENT), "incomplete"),
        (events_script(chunk_event({}, "stop")), "incomplete"),
        (Script((b"SSH-2.0-x\r\n\r\n",), framing=BodyFraming.NONE), "bad_response"),
        (Script((b"",), framing=BodyFraming.NONE), "incomplete"),
    ],
)
async def test_fault_of_the_provider_has_its_name(client, question, script, fault):
    assert await fault_of(client, question, script) == fault


async def test_redirect_is_not_followed(client, question):
    async with FakeProvider(
        refusal_script(307, headers=[("location", "/v1/chat/completions")]),
        default=stream_script(),
    ) as provider:
        with pytest.raises(LlmError):
            await collect(client, endpoint_of(provider), question)
    assert len(provider.requests) == 1


async def test_wait_of_a_busy_provider_is_told(client, question):
    script = refusal_script(429, headers=[("Retry-After", "3")])
    async with FakeProvider(script) as provider:
        with pytest.raises(LlmError) as caught:
            await client.complete(endpoint_of(provider), question)
    assert (caught.value.fault, caught.value.retry_after_s) == ("rate_limited", 3.0)


async def test_status_counts_even_if_the_body_is_cut(client, question):
    script = Script((b'{"error"',), status=429, is_cut=True)
    assert await fault_of(client, question, script) == "rate_limited"


async def test_status_counts_even_if_the_body_is_huge(client, question):
    script = Script((b"x" * 200_000,), status=401)
    assert await fault_of(client, question, script) == "unauthorized"


LONG = "x" * 99


@pytest.mark.parametrize(
    "script",
    [answer_script(LONG), stream_script([LONG]), stream_script(["x"] * 99)],
)
async def test_answer_of_too_many_characters_is_refused(transport, question, script):
    """T1: what one call may bring is bounded by a setting."""
    client = ChatClient(transport, max_characters=90)
    async with FakeProvider(script, script) as provider:
        with pytest.raises(LlmError, match="more than") as caught:
            await collect(client, endpoint_of(provider), question)
        assert caught.value.fault == "unusable_response"


async def test_body_is_refused_as_soon_as_it_is_too_long(transport, question):
    """T1: an answer that is not streamed is given up before it is parsed."""
    client = ChatClient(transport, max_characters=10)
    async with FakeProvider(answer_script(LONG)) as provider:
        with pytest.raises(LlmError, match="more than 40 bytes"):
            await client.complete(endpoint_of(provider), question)


@pytest.mark.parametrize("script", [stream_script(), Script(PAGE, headers=HTML)])
async def test_C5_what_is_no_json_is_of_no_use_as_a_whole_answer(
    client, question, script
):
    async with FakeProvider(script) as provider:
        with pytest.raises(LlmError, match="not JSON") as caught:
            await client.complete(endpoint_of(provider), question)
    assert caught.value.fault == "unusable_response"


async def test_body_that_announces_too_much_is_not_read(transport, question):
    """T1: what is announced is believed, so that nothing of it is waited for."""
    never = asyncio.Event()
    headers = (("content-type", "application/json"), ("content-length", "8000001"))
    script = Script((b"{", never), headers=headers, framing=BodyFraming.UNTIL_CLOSE)
    async with FakeProvider(script) as provider:
        with pytest.raises(LlmError, match="more than 8000000 bytes"):
            await ChatClient(transport).complete(endpoint_of(provider), question)


async def test_endless_line_is_refused(client, question, monkeypatch):
    monkeypatch.setattr("apps.llm.bounds.MAX_EVENT_BYTES", 50)
    script = events_script(b"data: " + b"x" * 99)
    assert await fault_of(client, question, script) == "unusable_response"


async def test_events_that_never_say_anything_are_refused(
    client, question, monkeypatch
):
    """T1: a provider cannot keep a process busy with nothing."""
    monkeypatch.setattr("apps.llm.bounds.MAX_SILENT_EVENTS", 20)
    script = events_script(*[b"data: {}\n\n"] * 21)
    assert await fault_of(client, question, script) == "unusable_response"


@pytest.mark.parametrize("key", ["sk-…canary", "sk-\r\ncanary", "sk\0canary"])
async def test_key_no_header_can_carry_is_unauthorized(client, question, key):
    endpoint = endpoint_of("http://127.0.0.1:1/v1", api_key=key)
    with pytest.raises(Unauthorized) as caught:
        await client.complete(endpoint, question)
    assert "canary" not in repr(caught.value)


async def test_header_with_impossible_characters_is_a_bad_request(client, question):
    endpoint = Endpoint("w", "http://h", "m", extra_headers=(("x", "a\nb"),))
    with pytest.raises(BadRequest):
        await client.complete(endpoint, question)


@pytest.mark.parametrize(
    "script",
    [
        refusal_script(401, f"Incorrect key {KEY}"),
        events_script(event({"error": {"message": f"key {KEY}"}})),
        Script((f"HTTP/1.1 {KEY}\r\n\r\n".encode(),), framing=BodyFraming.NONE),
        Script((f"<p>{KEY}".encode(),), headers=HTML),
        Script((), headers=(("content-type", f"html {KEY}"),)),
    ],
)
async def test_error_never_holds_the_key(client, question, script):
    async with FakeProvider(script) as provider:
        with pytest.raises(LlmError) as caught:
            await collect(client, endpoint_of(provider), question)
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in f"{error!r} {error} {vars(error)}"
        error = error.__cause__ or error.__context__


# --- Cuts ----------------------------------------------------------------------------

RECORDED = b"".join(
    part for part in stream_script(["Hi"]).parts if isinstance(part, bytes)
)
MARKER_ENDS = RECORDED.index(b"data: [DONE]")
"""From here on the usage chunk, an end marker, has arrived."""


async def cut_stream(
    client: ChatClient, question: ChatRequest, framing: BodyFraming, at: int
) -> bool:
    """Say whether the recorded stream, cut at byte `at`, is accepted as complete."""
    script = events_script(RECORDED[:at], framing=framing, is_cut=True)
    try:
        items = await stream_of(client, question, script)
    except Incomplete:
        return False
    return isinstance(items[-1], Finish)


@pytest.mark.parametrize("framing", [BodyFraming.CHUNKED, BodyFraming.UNTIL_CLOSE])
async def test_cut_stream_is_complete_only_after_its_end_marker(
    client, question, framing
):
    accepted = [
        await cut_stream(client, question, framing, at) for at in range(len(RECORDED))
    ]
    assert accepted == [at >= MARKER_ENDS for at in range(len(RECORDED))]


async def test_stream_without_usage_needs_all_of_done(client, question):
    stream = chunk_event({"content": "Hi"}, "stop") + DONE_EVENT
    faults = [
        await fault_of(
            client,
            question,
            events_script(stream[:at], framing=BodyFraming.UNTIL_CLOSE),
        )
        for at in range(len(stream) - len(b"\n\n"))
    ]
    assert set(faults) == {"incomplete"}


async def test_cut_answer_is_incomplete(client, question):
    whole = answer_script().parts[0]
    assert isinstance(whole, bytes)
    async with FakeProvider(Script((whole[:20],), is_cut=True)) as provider:
        with pytest.raises(Incomplete):
            await client.complete(endpoint_of(provider), question)


# --- Stopping ------------------------------------------------------------------------


async def test_closing_the_iterator_closes_the_socket(client, question):
    silence = asyncio.Event()
    script = events_script(chunk_event({"content": "Hi"}), silence)
    async with FakeProvider(script) as provider:
        items = client.stream(endpoint_of(provider), question)
        await anext(items)
        await items.aclose()
        async with asyncio.timeout(5):
            await provider.requests[0].client_closed.wait()


@pytest.mark.parametrize("is_begun", [True, False])
async def test_cancelling_a_call_closes_the_socket(client, question, is_begun):
    silence = asyncio.Event()
    parts = [chunk_event({"content": "Hi"})] if is_begun else []
    script = events_script(*parts, silence)
    async with FakeProvider(script) as provider:
        call = asyncio.create_task(collect(client, endpoint_of(provider), question))
        await provider.arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(5):
            await provider.requests[0].client_closed.wait()


async def test_cancelling_before_the_head_closes_the_socket(client, question):
    async with FakeProvider(Script(before_head=asyncio.Event())) as provider:
        call = asyncio.create_task(client.complete(endpoint_of(provider), question))
        await provider.arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(5):
            await provider.requests[0].client_closed.wait()


async def test_three_hundred_streams_at_once(client, question):
    gate = asyncio.Event()
    parts = [chunk_event({"content": "Hi"}), gate, *stream_script().parts]
    async with FakeProvider(default=events_script(*parts)) as provider:
        endpoint = endpoint_of(provider)
        async with asyncio.TaskGroup() as group:
            calls = [
                group.create_task(collect(client, endpoint, question))
                for _ in range(300)
            ]
            while len(provider.requests) < 300:
                provider.arrived.clear()
                await provider.arrived.wait()
            gate.set()
    assert {call.result()[-1] for call in calls} == {FINISH}
