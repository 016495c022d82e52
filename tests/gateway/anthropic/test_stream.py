"""A run as the events of a streamed message."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import RawMessageStreamEvent
from pydantic import TypeAdapter

from apps.gateway.stream_sender import StreamTiming
from tests.gateway.anthropic.conftest import (
    WEATHER,
    MessageApi,
    call_piece,
    calls_json,
    events_of,
)
from tests.gateway.fakes import (
    RUN_ID,
    answer_piece,
    completed,
    failed,
    plan,
    step_completed,
    step_started,
)

EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
THINKING = {"type": "adaptive"}


def kinds(events: list[dict[str, Any]]) -> list[str]:
    """Return the events' types, pings left out."""
    return [event["type"] for event in events if event["type"] != "ping"]


def message_of(events: list[dict[str, Any]]) -> Any:
    """Return what the anthropic package makes of the events."""
    message = None
    buffers: dict[int, bytes] = {}
    for event in events:
        if event["type"] != "ping":
            message = accumulate_event(
                event=EVENT.validate_python(event),
                current_snapshot=message,
                json_bufs=buffers,
            )
    return message


async def test_events_come_in_the_protocols_order(api: MessageApi) -> None:
    api.client.run.plays(answer_piece("4"), answer_piece("2"), completed())
    events = await api.stream()
    assert events[1] == {"type": "ping"}
    assert kinds(events) == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    message = message_of(events)
    assert (message.id, message.content[0].text) == (f"msg_{RUN_ID.hex}", "42")
    assert message.stop_reason == "end_turn"


async def test_usage_is_an_estimate_first_and_the_sum_at_last(api: MessageApi) -> None:
    api.client.run.plays(completed())
    events = await api.stream()
    assert events[0]["message"]["usage"]["input_tokens"] > 0
    assert events[0]["message"]["usage"]["output_tokens"] == 0
    usage = message_of(events).usage
    assert (usage.input_tokens, usage.cache_read_input_tokens) == (100, 20)
    assert usage.output_tokens == 30


async def test_run_is_named_at_once_and_told_at_last(api: MessageApi) -> None:
    api.client.run.plays(completed())
    events = await api.stream()
    assert events[0]["message"]["conductor"]["run_id"] == str(RUN_ID)
    assert events[-2]["conductor"]["worker"] == "writer"


async def test_progress_comes_as_thoughts_before_the_answer(api: MessageApi) -> None:
    api.client.run.plays(
        plan(),
        step_started(0, "scout"),
        step_completed(0, "scout"),
        answer_piece("4"),
        step_completed(1, "writer"),
        answer_piece("2"),
        completed(),
    )
    message = message_of(await api.stream(thinking=THINKING))
    thoughts, said = message.content
    assert thoughts.thinking.splitlines() == [
        "Plan: 2 steps (scout, writer)",
        "[1/2] Find the facts → scout",
        "[1/2] scout: done in 3.2 s",
    ]
    assert RUN_ID.hex in thoughts.signature
    assert said.text == "42"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"thinking": {"type": "disabled"}},
        {"thinking": {"type": "adaptive", "display": "omitted"}},
        {"model": "worker/writer", "thinking": THINKING},
        {"conductor": {"progress": "off"}, "thinking": THINKING},
    ],
)
async def test_there_are_no_thoughts_otherwise(
    api: MessageApi, fields: dict[str, Any]
) -> None:
    api.client.run.plays(plan(), answer_piece("42"), completed())
    message = message_of(await api.stream(**fields))
    assert [block.type for block in message.content] == ["text"]


async def test_tool_calls_are_streamed_one_after_the_other(api: MessageApi) -> None:
    calls = calls_json(("weather", '{"town":"Rome"}'), ("weather", '{"town":"Oslo"}'))
    api.client.run.plays(
        answer_piece("I look."),
        call_piece(0, '{"town"', name="weather"),
        call_piece(1, '{"town":"Os', name="weather"),
        call_piece(0, ':"Rome"}'),
        completed("I look.", finish_reason="tool_calls", tool_calls=calls),
    )
    events = await api.stream(tools=[WEATHER])
    message = message_of(events)
    _, first, second = message.content
    assert (first.id, first.name) == (f"call_{RUN_ID.hex}00", "weather")
    assert (first.input, second.input) == ({"town": "Rome"}, {"town": "Oslo"})
    assert message.stop_reason == "tool_use"
    opened: set[int] = set()
    for event in events:
        if event["type"] == "content_block_start":
            opened.add(event["index"])
        elif event["type"] == "content_block_stop":
            opened.remove(event["index"])
        assert len(opened) <= 1


async def test_call_without_arguments_has_an_empty_input(api: MessageApi) -> None:
    calls = calls_json(("weather", "{}"))
    api.client.run.plays(
        call_piece(0, "{}", name="weather"),
        completed("", finish_reason="tool_calls", tool_calls=calls),
    )
    (block,) = message_of(await api.stream(tools=[WEATHER])).content
    assert (block.type, block.input) == ("tool_use", {})


async def test_answer_that_was_not_streamed_comes_whole(api: MessageApi) -> None:
    api.client.run.plays(completed("It is 42."))
    assert message_of(await api.stream()).content[0].text == "It is 42."


async def test_failure_ends_the_stream_with_an_error(api: MessageApi) -> None:
    end = failed("worker_failed", "no worker could")
    api.client.run.plays(answer_piece("4"), end)
    answer = await api.ask(stream=True)
    last = events_of(answer)[-1]
    assert last["type"] == "error"
    assert last["error"] == {
        "type": "api_error",
        "message": "no worker could",
        "code": "worker_failed",
    }
    assert last["request_id"] == answer.headers["request-id"]
    assert "message_stop" not in kinds(events_of(answer))


async def test_other_answer_than_was_sent_is_an_error(api: MessageApi) -> None:
    api.client.run.plays(answer_piece("43"), completed("42"))
    last = (await api.stream())[-1]
    assert (last["type"], last["error"]["code"]) == ("error", "answer_changed")


async def test_run_that_never_began_is_a_plain_error(api: MessageApi) -> None:
    api.client.backend.refuses(ValueError("boom"))
    answer = await api.ask(stream=True)
    assert (answer.status, answer.error["type"]) == (500, "api_error")


async def test_silence_is_broken_by_pings(api: MessageApi) -> None:
    api.client.timing = StreamTiming(heartbeat_s=0.001)
    answer = api.open(stream=True)
    await api.client.run.heard.wait()
    api.client.run.say(plan())
    await answer.until(lambda: answer.body.count(b"event: ping") > 2)
    api.client.run.say(completed())
    await api.client.done()
    assert message_of(events_of(answer)).content[0].text == "42"


async def test_client_that_leaves_cancels_the_run(api: MessageApi) -> None:
    answer = api.open(stream=True)
    await api.client.run.heard.wait()
    answer.leave()
    await api.client.done()
    assert api.client.run.cancelled_for == ["client_closed"]
