"""The client and the simulator understand each other, fault for fault."""

from __future__ import annotations

import base64
import struct
import zlib
from contextlib import aclosing
from dataclasses import replace
from typing import Any, get_args

import orjson
import pytest

from apps.llm.chat import ChatClient
from apps.llm.errors import LlmError
from apps.llm.http import HttpTransport
from apps.llm.model_listing import list_models
from apps.llm.types import (
    ChatRequest,
    Delta,
    Endpoint,
    Finish,
    Protocol,
    Timeouts,
    ToolCallDelta,
)

PROTOCOLS = get_args(Protocol)
PATIENT = Timeouts(connect_s=10, first_byte_s=10, idle_s=10, total_s=20)
SHORT = {
    "fault-idle": replace(PATIENT, idle_s=0.5),
    "fault-silent": replace(PATIENT, first_byte_s=0.5),
}
"""Where a model's silence is what is waited for."""
SAY = {"role": "user", "content": "[[say one two three four five six seven eight]]"}
SAID = "one two three four five six seven eight"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Weather", "parameters": SCHEMA},
}

EVERYWHERE = {
    "fault-400": "bad_request",
    "fault-401": "unauthorized",
    "fault-403": "unauthorized",
    "fault-404": "not_found",
    "fault-429": "rate_limited",
    "fault-500": "server_error",
    "fault-bad-json": "bad_response",
    "fault-context-length": "context_length",
    "fault-cut": "incomplete",
    "fault-cut-quiet": "incomplete",
    "fault-error-event": "server_error",
    "fault-filtered": "content_filtered",
    "fault-html": "unusable_response",
    "fault-overloaded": "server_error",
    "fault-overloaded-event": "server_error",
    "fault-quota": "quota",
    "fault-redirect": "bad_response",
    "fault-refuse": "incomplete",
    "cut-0": "incomplete",
    "cut-4": "incomplete",
    "error-4": "server_error",
    "no-such-model": "not_found",
}
STREAMED = EVERYWHERE | {
    "cut-quiet-4": "incomplete",
    "fault-idle": "idle_timeout",
    "fault-silent": "first_byte_timeout",
}
WHOLE = EVERYWHERE | {"cut-quiet-4": "bad_response", "fault-cut-quiet": "bad_response"}


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    name: Protocol = request.param
    return name


class Simulated:
    """The simulator as a provider of one protocol."""

    def __init__(self, client: ChatClient, protocol: Protocol, url: str) -> None:
        self.client = client
        self.protocol = protocol
        self.url = url.removesuffix("/v1") + (
            "/v1beta" if protocol == "gemini" else "/v1"
        )

    def endpoint(self, model: str) -> Endpoint:
        timeouts = SHORT.get(model, PATIENT)
        return Endpoint("w", self.url, model, "k", timeouts, protocol=self.protocol)

    async def stream(self, model: str, request: ChatRequest) -> tuple[Delta, Finish]:
        """Return all pieces together, and the finish."""
        items: list[Any] = []
        endpoint = self.endpoint(model)
        async with aclosing(self.client.stream(endpoint, request)) as stream:
            items = [item async for item in stream]
        calls: dict[int, ToolCallDelta] = {}
        for part in (part for item in items[:-1] for part in item.tool_calls):
            known = calls.get(part.index, ToolCallDelta(part.index))
            calls[part.index] = ToolCallDelta(
                part.index,
                known.id + part.id,
                known.name + part.name,
                known.arguments + part.arguments,
            )
        text = "".join(item.text for item in items[:-1])
        reasoning = "".join(item.reasoning for item in items[:-1])
        return Delta(text, reasoning, tuple(calls.values())), items[-1]

    async def both(self, model: str, request: ChatRequest) -> tuple[Delta, Finish]:
        """Return the answer, streamed and whole, which must be the same."""
        streamed = await self.stream(model, request)
        whole = await self.client.complete(self.endpoint(model), request)
        assert _without_ids(whole[0]) == _without_ids(streamed[0])
        assert whole[1] == streamed[1]
        return streamed


def _without_ids(delta: Delta) -> tuple[Any, ...]:
    calls = [(call.name, call.arguments) for call in delta.tool_calls]
    return delta.text, delta.reasoning, calls


@pytest.fixture
def simulated(client: ChatClient, protocol: Protocol, simulator_url: str) -> Simulated:
    return Simulated(client, protocol, simulator_url)


def asked(content: Any, **fields: Any) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": content}], **fields)


@pytest.mark.parametrize(("model", "fault"), STREAMED.items())
async def test_streamed_fault_has_its_name(simulated: Simulated, model, fault):
    with pytest.raises(LlmError) as caught:
        await simulated.stream(model, ChatRequest([SAY]))
    assert caught.value.fault == fault, caught.value


@pytest.mark.parametrize(("model", "fault"), WHOLE.items())
async def test_whole_fault_has_its_name(simulated: Simulated, model, fault):
    with pytest.raises(LlmError) as caught:
        await simulated.client.complete(simulated.endpoint(model), ChatRequest([SAY]))
    assert caught.value.fault == fault, caught.value


async def test_wait_of_a_busy_provider_is_told(simulated: Simulated):
    with pytest.raises(LlmError) as caught:
        await simulated.stream("fault-429", ChatRequest([SAY]))
    assert caught.value.retry_after_s is not None


async def test_text_and_usage_are_whole(simulated: Simulated):
    delta, finish = await simulated.both("echo", asked("Hello 🙂\nworld"))
    assert delta == Delta("Hello 🙂\nworld")
    assert (finish.finish_reason, finish.model) == ("stop", "echo")
    assert finish.usage is not None and finish.usage.completion_tokens > 0


async def test_thinking_and_cached_input_are_told(simulated: Simulated):
    delta, finish = await simulated.both("thinker", asked("What is 2 + 2?"))
    assert delta.reasoning and delta.text
    assert finish.usage is not None and finish.usage.cached_tokens > 0


async def test_missing_usage_is_unknown(simulated: Simulated):
    _, finish = await simulated.both("fault-no-usage", ChatRequest([SAY]))
    assert finish.usage is None


async def test_other_model_is_named(simulated: Simulated):
    _, finish = await simulated.both("fault-other-model", ChatRequest([SAY]))
    assert finish.model != "fault-other-model"


async def test_answer_that_reached_its_length_says_so(simulated: Simulated):
    _, finish = await simulated.both("sim-delta", ChatRequest([SAY], max_tokens=3))
    assert finish.finish_reason == "length"


async def test_withheld_answer_says_so(simulated: Simulated):
    _, finish = await simulated.both("filtered", ChatRequest([SAY]))
    assert finish.finish_reason == "content_filter"


async def test_answer_goes_on_from_its_beginning(simulated: Simulated):
    begun = {"role": "assistant", "content": "one two three "}
    request = ChatRequest([SAY, begun], is_continued=True)
    delta, _ = await simulated.both("scripted", request)
    assert "one two three " + delta.text == SAID


async def test_tools_are_called_and_their_results_used(simulated: Simulated):
    question = {"role": "user", "content": "What is the weather in Rome and in Oslo?"}
    request = ChatRequest([question], tools=(WEATHER,), tool_choice="auto")
    delta, finish = await simulated.both("sim-delta", request)
    assert finish.finish_reason == "tool_calls"
    arguments = [orjson.loads(call.arguments) for call in delta.tool_calls]
    assert arguments == [{"city": "Rome"}, {"city": "Oslo"}]
    assert len({call.id for call in delta.tool_calls}) == 2
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in delta.tool_calls
    ]
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": f"{degrees} degrees"}
        for call, degrees in zip(delta.tool_calls, (31, 12), strict=True)
    ]
    history: list[dict[str, Any]] = [
        question,
        {"role": "assistant", "content": "", "tool_calls": calls},
        *reversed(results),
    ]
    answer, finish = await simulated.both(
        "sim-delta", ChatRequest(history, tools=(WEATHER,))
    )
    assert finish.finish_reason == "stop"
    assert "31" in answer.text and "12" in answer.text


async def test_tool_can_be_forced(simulated: Simulated):
    choice = {"type": "function", "function": {"name": "get_weather"}}
    request = asked("Hello", tools=(WEATHER,), tool_choice=choice)
    delta, finish = await simulated.both("sim-delta", request)
    assert [call.name for call in delta.tool_calls] == ["get_weather"]
    assert finish.finish_reason == "tool_calls"


def png(width: int, height: int) -> bytes:
    def block(kind: bytes, data: bytes) -> bytes:
        length, check = len(data), zlib.crc32(kind + data)
        return struct.pack(">I", length) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\0" * width for _ in range(height)))
    blocks = block(b"IHDR", header) + block(b"IDAT", rows) + block(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + blocks


async def test_images_arrive_whole(simulated: Simulated):
    picture = png(13, 7)
    url = "data:image/png;base64," + base64.b64encode(picture).decode()
    content = [
        {"type": "text", "text": "What are the pixels of this image?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    delta, _ = await simulated.both("sim-delta", asked(content))
    assert "image/png" in delta.text
    assert str(len(picture)) in delta.text
    assert "13" in delta.text and "7" in delta.text


async def test_json_is_asked_for_and_given(simulated: Simulated):
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    request = asked("Where is the Colosseum?", response_format=wanted)
    delta, _ = await simulated.both("sim-delta", request)
    assert isinstance(orjson.loads(delta.text)["city"], str)


async def test_models_are_listed(transport: HttpTransport, simulated: Simulated):
    names = await list_models(transport, simulated.endpoint(""))
    assert {"sim-delta", "echo", "fault-429"} <= set(names)
