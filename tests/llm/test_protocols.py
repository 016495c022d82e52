"""What holds for every protocol alike, over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, get_args

import pytest

from apps.llm.chat import ChatClient
from apps.llm.errors import BadRequest, Incomplete, LlmError
from apps.llm.http import HttpTransport
from apps.llm.model_listing import list_models
from apps.llm.protocols import tool_calls
from apps.llm.protocols.registry import PROTOCOLS
from apps.llm.testing import (
    DIALECTS,
    AnswerProtocol,
    BodyFraming,
    FakeProvider,
    ModelAnswer,
    Script,
    events_script,
    json_script,
    stream_of,
)
from apps.llm.types import (
    ChatRequest,
    Delta,
    Endpoint,
    Finish,
    Protocol,
    TokenUsage,
    ToolCallDelta,
)
from tests.llm.conftest import KEY, PATIENT, joined

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALLS = (
    ToolCallDelta(0, "toolu_1", "weather", '{"city":"Rome"}'),
    ToolCallDelta(1, "toolu_2", "now", "{}"),
)
MARKED = {"openai", "anthropic"}
"""Protocols whose answers end in a marker of their own."""


@pytest.fixture(params=get_args(Protocol))
def protocol(request: pytest.FixtureRequest) -> Protocol:
    name: Protocol = request.param
    return name


@pytest.fixture
def dialect(protocol: Protocol) -> AnswerProtocol:
    return DIALECTS[protocol]


class Stage:
    """A provider of one protocol, and the client that asks it."""

    def __init__(self, client: ChatClient, protocol: Protocol) -> None:
        self.client = client
        self.protocol = protocol
        self.provider = FakeProvider()

    @property
    def endpoint(self) -> Endpoint:
        base_url = self.provider.base_url
        protocol = self.protocol
        return Endpoint("w", base_url, "model-a", KEY, PATIENT, protocol=protocol)

    async def stream(self, script: Script, request: ChatRequest) -> list[Any]:
        self.provider.scripts.append(script)
        async with aclosing(self.client.stream(self.endpoint, request)) as items:
            return [item async for item in items]

    async def fault(self, script: Script, request: ChatRequest) -> str:
        with pytest.raises(LlmError) as caught:
            await self.stream(script, request)
        return caught.value.fault

    async def complete(
        self, script: Script, request: ChatRequest
    ) -> tuple[Delta, Finish]:
        self.provider.scripts.append(script)
        return await self.client.complete(self.endpoint, request)

    @property
    def seen(self) -> Any:
        """The body of the last request."""
        return self.provider.requests[-1].json()


@pytest.fixture
async def stage(client: ChatClient, protocol: Protocol) -> AsyncIterator[Stage]:
    made = Stage(client, protocol)
    async with made.provider:
        yield made


def assembled(items: list[Any]) -> list[ToolCallDelta]:
    """Return the whole calls that the pieces make."""
    calls: dict[int, ToolCallDelta] = {}
    for piece in (p for item in items[:-1] for p in item.tool_calls):
        known = calls.setdefault(piece.index, ToolCallDelta(piece.index))
        assert not (piece.id and known.id), "the id comes once"
        assert not (piece.name and known.name), "the name comes once"
        calls[piece.index] = ToolCallDelta(
            piece.index,
            known.id or piece.id,
            known.name or piece.name,
            known.arguments + piece.arguments,
        )
    return list(calls.values())


def test_every_protocol_is_spoken_and_scripted():
    assert set(PROTOCOLS) == set(DIALECTS) == set(get_args(Protocol))


async def test_streamed_text_comes_as_it_is(stage, dialect, question):
    answer = ModelAnswer(("Hel", "lo 🙂\n"), reasoning="Well.")
    items = await stage.stream(stream_of(dialect, answer), question)
    finish = Finish("stop", "fake-1", TokenUsage(7, 2))
    assert joined(items) == [Delta("Hello 🙂\n", "Well."), finish]


async def test_whole_answer_comes_at_once(stage, dialect, question):
    answer = ModelAnswer(("Hi",), reasoning="Well.", calls=CALLS)
    delta, finish = await stage.complete(dialect.answer_script(answer), question)
    assert delta == Delta("Hi", "Well.", CALLS)
    assert finish == Finish("tool_calls", "fake-1", TokenUsage(7, 2))


async def test_streamed_calls_come_in_pieces(stage, dialect, question):
    answer = ModelAnswer((), calls=CALLS, finish_reason="tool_calls")
    items = await stage.stream(stream_of(dialect, answer), question)
    assert assembled(items) == list(CALLS)
    assert items[-1].finish_reason == "tool_calls"


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
async def test_reason_of_the_end_has_one_word_everywhere(
    stage, dialect, question, reason
):
    answer = ModelAnswer(finish_reason=reason)
    items = await stage.stream(stream_of(dialect, answer), question)
    _, finish = await stage.complete(dialect.answer_script(answer), question)
    assert items[-1].finish_reason == finish.finish_reason == reason


async def test_usage_is_told_in_full(stage, dialect, protocol, question):
    reasoned = 0 if protocol == "anthropic" else 5  # counted, but not told apart
    usage = TokenUsage(20, 10, 8, reasoned)
    answer = ModelAnswer(usage=usage)
    items = await stage.stream(stream_of(dialect, answer), question)
    _, finish = await stage.complete(dialect.answer_script(answer), question)
    assert items[-1].usage == finish.usage == usage


async def test_missing_usage_is_unknown(stage, dialect, question):
    answer = ModelAnswer(usage=None)
    items = await stage.stream(stream_of(dialect, answer), question)
    _, finish = await stage.complete(dialect.answer_script(answer), question)
    assert items[-1].usage is finish.usage is None


# --- Faults --------------------------------------------------------------------------


async def test_stream_without_its_end_is_incomplete(stage, dialect, question):
    script = stream_of(dialect, ModelAnswer(usage=None), is_cut=True)
    assert await stage.fault(script, question) == "incomplete"


async def test_stream_that_ends_early_but_properly_is_incomplete(
    stage, dialect, question
):
    events = dialect.events(ModelAnswer(usage=None))[:-1]
    assert await stage.fault(events_script(*events), question) == "incomplete"


@pytest.mark.parametrize("framing", [BodyFraming.CHUNKED, BodyFraming.UNTIL_CLOSE])
async def test_stream_cut_at_any_byte_is_never_complete(
    stage, dialect, question, framing
):
    whole = b"".join(dialect.events(ModelAnswer(("Hi",), calls=CALLS[:1], usage=None)))
    # Some servers end without the last empty line; JSON ends in its last brace.
    for at in range(len(whole) - len(b"\n\n")):
        script = events_script(whole[:at], framing=framing, is_cut=True)
        assert await stage.fault(script, question) == "incomplete", whole[:at]


async def test_error_inside_the_stream_has_its_name(stage, dialect, question):
    events = dialect.events(ModelAnswer())
    script = events_script(*events[:3], dialect.error_event(), *events[3:])
    assert await stage.fault(script, question) == "server_error"


async def test_error_as_the_whole_answer_has_its_name(stage, dialect, question):
    refusal = replace(dialect.refusal_script(503, "overloaded"), status=200)
    assert await stage.fault(refusal, question) == "server_error"
    with pytest.raises(LlmError) as caught:
        await stage.complete(refusal, question)
    assert caught.value.fault == "server_error"


@pytest.mark.parametrize(
    ("status", "message", "fault"),
    [
        (400, "no", "bad_request"),
        (400, "prompt is too long", "context_length"),
        (401, "no", "unauthorized"),
        (402, "no", "quota"),
        (403, "no", "unauthorized"),
        (404, "no", "not_found"),
        (429, "no", "rate_limited"),
        (500, "no", "server_error"),
        (503, "no", "server_error"),
        (529, "no", "server_error"),
    ],
)
async def test_refusal_has_one_name_everywhere(
    stage, dialect, question, status, message, fault
):
    script = dialect.refusal_script(status, message)
    assert await stage.fault(script, question) == fault


@pytest.mark.parametrize(
    "script",
    [
        events_script(b"data: {oops\n\n"),
        events_script(b"data: []\n\n"),
    ],
)
async def test_nonsense_is_a_bad_response(stage, question, script):
    assert await stage.fault(script, question) == "bad_response"


@pytest.mark.parametrize(
    "script",
    [
        json_script({}),
        json_script({"choices": [], "content": 1, "candidates": []}),
        Script((b"<html>",), headers=(("content-type", "text/html"),)),
    ],
)
async def test_what_is_no_stream_is_of_no_use(stage, question, script):
    assert await stage.fault(script, question) == "unusable_response"


async def test_endless_arguments_are_refused(stage, dialect, question, monkeypatch):
    monkeypatch.setattr(tool_calls, "MAX_ARGUMENT_CHARACTERS", 20)
    call = ToolCallDelta(0, "c", "weather", '{"city":"' + "x" * 20 + '"}')
    script = stream_of(dialect, ModelAnswer((), calls=[call]))
    with pytest.raises(LlmError, match="more than 20 characters of tool arguments"):
        await stage.stream(script, question)


async def test_endless_calls_are_refused(stage, dialect, question, monkeypatch):
    monkeypatch.setattr(tool_calls, "MAX_TOOL_CALLS", 1)
    script = stream_of(dialect, ModelAnswer((), calls=CALLS))
    with pytest.raises(LlmError, match="more than 1 tool calls"):
        await stage.stream(script, question)


async def test_call_without_a_name_is_a_bad_response(stage, dialect, question):
    call = ToolCallDelta(0, "c", "", "{}")
    answer = ModelAnswer((), calls=[call])
    assert await stage.fault(stream_of(dialect, answer), question) == "bad_response"
    with pytest.raises(LlmError, match="without a name"):
        await stage.complete(dialect.answer_script(answer), question)


async def test_call_without_an_id_gets_one(stage, dialect, question):
    calls = [replace(call, id="") for call in CALLS]
    answer = ModelAnswer((), calls=calls)
    items = await stage.stream(stream_of(dialect, answer), question)
    assert [call.id for call in assembled(items)] == ["call_0", "call_1"]


# --- Requests ------------------------------------------------------------------------


async def test_key_goes_into_a_header_and_nowhere_else(stage, dialect, question):
    await stage.complete(dialect.answer_script(ModelAnswer()), question)
    (request,) = stage.provider.requests
    assert KEY in "".join(request.headers.values())
    assert KEY.encode() not in request.body
    assert KEY not in request.path


@pytest.mark.parametrize("is_stream", [True, False])
async def test_own_headers_of_the_endpoint_are_sent(
    client, protocol, dialect, question, is_stream
):
    stream = stream_of(dialect, ModelAnswer())
    scripts = stream if is_stream else dialect.answer_script(ModelAnswer())
    async with FakeProvider(scripts) as provider:
        extra = (("anthropic-version", "2099-01-01"), ("x-team", "t-1"))
        endpoint = Endpoint(
            "w",
            provider.base_url,
            "m",
            extra_headers=extra,
            protocol=protocol,
        )
        if is_stream:
            async for _ in client.stream(endpoint, question):
                pass
        else:
            await client.complete(endpoint, question)
    headers = provider.requests[0].headers
    assert headers["anthropic-version"] == "2099-01-01"
    assert headers["x-team"] == "t-1"


@pytest.mark.parametrize("content", [object(), "\ud800"])
async def test_request_without_a_form_in_json_is_bad(stage, content):
    with pytest.raises(BadRequest):
        await stage.complete(
            json_script({}), ChatRequest([{"role": "user", "content": content}])
        )
    assert not stage.provider.requests


async def test_answer_goes_on_without_repeating_white_space(stage, dialect):
    request = ChatRequest(
        [
            {"role": "user", "content": "List"},
            {"role": "assistant", "content": "One.\n\n"},
        ],
        is_continued=True,
    )
    answer = ModelAnswer(("\n", "\n", "\nTwo", "."))
    items = await stage.stream(stream_of(dialect, answer), request)
    whole, _ = await stage.complete(dialect.answer_script(answer), request)
    assert "".join(item.text for item in items[:-1]) == whole.text == "\nTwo."
    assert "One." in str(stage.seen) and "One.\\n" not in str(stage.seen)


async def test_models_are_listed(transport: HttpTransport, protocol, dialect):
    async with FakeProvider(dialect.models_script(["b", "a"])) as provider:
        endpoint = Endpoint("w", provider.base_url, "", KEY, protocol=protocol)
        assert await list_models(transport, endpoint) == ["a", "b"]
    (request,) = provider.requests
    assert request.path.partition("?")[0] == "/v1/models"
    assert KEY in "".join(request.headers.values()) and KEY not in request.path


async def test_cut_after_the_end_marker_does_no_harm(
    stage, protocol, dialect, question
):
    script = replace(stream_of(dialect, ModelAnswer()), is_cut=True)
    if protocol in MARKED:
        items = await stage.stream(script, question)
        assert isinstance(items[-1], Finish)
        return
    with pytest.raises(Incomplete):
        await stage.stream(script, question)
