"""A response that is streamed: its events, their order, its ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from openai import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from apps.core.errors import Overloaded
from apps.engine.events import RunCancelled
from apps.gateway.stream_sender import StreamTiming
from tests.gateway.fakes import (
    RUN_ID,
    USAGE,
    Exchanged,
    answer_piece,
    completed,
    failed,
    plan,
    step_completed,
    step_started,
)
from tests.gateway.responses.conftest import (
    ID,
    WEATHER,
    Api,
    call_piece,
    calls_json,
    events_of,
)

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
TEXT = "response.output_text.delta"
ARGUMENTS = "response.function_call_arguments.delta"
SUMMARY = "response.reasoning_summary_text.delta"


async def test_head_is_that_of_an_event_stream(api: Api) -> None:
    api.client.run.plays(completed())
    answer = await api.ask(stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-conductor-run-id"] == str(RUN_ID)
    assert answer.is_complete


async def test_events_of_a_planned_run_in_order(api: Api) -> None:
    api.client.run.plays(
        plan(), step_started(0, "scout"), answer_piece("4"), completed("42")
    )
    events = await api.stream()
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        SUMMARY,
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        TEXT,
        TEXT,
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event["sequence_number"] for event in events] == list(range(16))


async def test_every_event_is_one_of_the_openai_client(api: Api) -> None:
    calls = calls_json(("weather", "{}"))
    api.client.run.plays(
        plan(),
        answer_piece("Let me look. "),
        call_piece(0, "{", name="weather"),
        call_piece(0, "}"),
        completed("Let me look. ", tool_calls=calls, finish_reason="tool_calls"),
    )
    final = accumulated(await api.stream(tools=[WEATHER]))
    assert (final.id, final.status) == (ID, "completed")
    assert final.output_text == "Let me look. "
    assert [item.type for item in final.output] == [
        "reasoning",
        "message",
        "function_call",
    ]
    assert final.output[2].call_id == f"call_{RUN_ID.hex}00"


async def test_each_piece_goes_out_at_once(api: Api) -> None:
    answer = await _begin(api)
    for number, text in enumerate(("It ", 'is "', "42\u2028\n"), start=3):
        api.client.run.say(answer_piece(text))
        await answer.until(lambda: len(answer.messages) == number)  # noqa: B023
    assert deltas(events_of(answer), TEXT) == ["It ", 'is "', "42\u2028\n"]


async def test_final_response_is_what_was_streamed(api: Api) -> None:
    api.client.run.plays(plan(), answer_piece("It is "), completed("It is 42."))
    events = await api.stream()
    response = events[-1]["response"]
    assert "".join(deltas(events, TEXT)) == "It is 42."
    done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    assert response["output"] == done
    assert response["usage"]["total_tokens"] == 150
    assert response["conductor"]["run_id"] == str(RUN_ID)


async def test_direct_call_tells_no_steps(api: Api) -> None:
    api.client.run.plays(plan(), step_started(0, "scout"), completed("42"))
    events = await api.stream(model="worker/writer")
    assert deltas(events, SUMMARY) == []


async def test_progress_stops_when_the_answer_begins(api: Api) -> None:
    answer = await _begin(api)
    api.client.run.say(plan(), answer_piece("42"), step_completed(1, "writer"))
    api.client.run.say(completed("42"))
    await api.client.done()
    events = events_of(answer)
    assert deltas(events, SUMMARY) == ["Plan: 2 steps (scout, writer)\n"]
    assert accumulated(events).output_text == "42"


async def test_parallel_calls_follow_each_other(api: Api) -> None:
    calls = calls_json(("weather", '{"a":1}'), ("time", "{}"))
    api.client.run.plays(
        call_piece(0, '{"a"', name="weather"),
        call_piece(1, "{", name="time"),
        call_piece(0, ":1}"),
        call_piece(1, "}"),
        completed("", tool_calls=calls, finish_reason="tool_calls"),
    )
    events = await api.stream(tools=[WEATHER], model="worker/writer")
    places = [e["output_index"] for e in events if e["type"] == ARGUMENTS]
    assert places == sorted(places)
    items = accumulated(events).output
    assert [(item.name, item.arguments) for item in items] == [
        ("weather", '{"a":1}'),
        ("time", "{}"),
    ]


async def test_calls_that_came_whole_are_sent_at_the_end(api: Api) -> None:
    calls = calls_json(("weather", '{"a":1}'))
    end = completed("", tool_calls=calls, finish_reason="tool_calls")
    api.client.run.plays(end)
    events = await api.stream(tools=[WEATHER])
    assert deltas(events, ARGUMENTS) == ['{"a":1}']


async def test_empty_answer_still_has_a_message(api: Api) -> None:
    api.client.run.plays(completed(""))
    final = accumulated(await api.stream(model="worker/writer"))
    assert [item.type for item in final.output] == ["message"]


async def test_cut_answer_ends_as_incomplete(api: Api) -> None:
    api.client.run.plays(answer_piece("It"), completed("It", finish_reason="length"))
    last = (await api.stream())[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert last["response"]["output"][-1]["status"] == "incomplete"


# --- ends that are not good ----------------------------------------------------------


async def test_refusal_before_the_first_byte_is_a_plain_error(api: Api) -> None:
    api.client.backend.refuses(Overloaded("full"))
    answer = await api.ask(stream=True)
    assert (answer.status, answer.error["code"]) == (503, "overloaded")


async def test_failure_is_told_by_two_events(api: Api) -> None:
    api.client.run.plays(answer_piece("4"), failed("worker_failed", "all gone"))
    *_, last_delta, failure, error = await api.stream()
    assert last_delta["type"] == TEXT
    assert failure["type"] == "response.failed"
    assert failure["response"]["status"] == "failed"
    assert failure["response"]["error"]["message"] == "all gone"
    assert failure["response"]["output"][0]["status"] == "incomplete"
    assert (error["type"], error["code"]) == ("error", "worker_failed")
    assert error["error"]["message"] == "all gone"


async def test_cancelled_run_is_not_complete(api: Api) -> None:
    api.client.run.plays(RunCancelled("stopped by alice", USAGE, 0, False, 1, 1))
    *_, failure, error = await api.stream()
    assert failure["response"]["status"] == "cancelled"
    assert error["code"] == "run_cancelled"


@pytest.mark.parametrize(
    "pieces",
    [
        (answer_piece("It is 41"),),
        (call_piece(0, '{"b"', name="weather"),),
        (call_piece(0, "", name="time"),),
        (call_piece(0, "{}", name="weather"), call_piece(1, "{}", name="weather")),
    ],
)
async def test_other_answer_than_the_one_sent_is_an_error(
    api: Api, pieces: tuple[Any, ...]
) -> None:
    calls = calls_json(("weather", '{"a":1}'))
    end = completed("It is 42.", tool_calls=calls, finish_reason="tool_calls")
    api.client.run.plays(*pieces, end)
    *_, failure, error = await api.stream(tools=[WEATHER])
    assert failure["type"] == "response.failed"
    assert error["code"] == "answer_changed"


async def test_unexpected_fault_is_an_error_without_detail(api: Api) -> None:
    api.client.run.breaks(RuntimeError("secret detail"))
    answer = await api.ask(stream=True)
    assert events_of(answer)[-1]["error"]["code"] == "internal_error"
    assert (b"secret" in answer.body, answer.is_complete) == (False, True)


async def test_client_that_leaves_cancels_the_run(api: Api) -> None:
    answer = await _begin(api)
    answer.leave()
    await api.client.done()
    assert api.client.run.cancelled_for == ["client_closed"]
    assert not api.client.run.has_listeners


async def test_background_stream_goes_on_without_its_client(api: Api) -> None:
    answer = await _begin(api, background=True)
    answer.leave()
    api.client.run.say(completed("42"))
    await api.client.done()
    assert api.client.run.cancelled_for == []


# --- pace ----------------------------------------------------------------------------


async def test_slow_client_gets_what_piled_up_as_one_event(api: Api) -> None:
    answer = await _begin(api)
    answer.gate.clear()
    api.client.run.say(answer_piece("0 "))
    async with asyncio.timeout(5):
        await answer.blocked.wait()
    later = [f"{number} " for number in range(1, 500)]
    api.client.run.say(*map(answer_piece, later), completed("0 " + "".join(later)))
    answer.gate.set()
    await api.client.done()
    assert deltas(events_of(answer), TEXT) == ["0 ", "".join(later)]


async def test_silence_is_broken_by_events_that_change_nothing(api: Api) -> None:
    api.client.timing = StreamTiming(heartbeat_s=0.001)
    answer = await _begin(api)
    await answer.until(lambda: len(answer.messages) >= 5)
    api.client.run.say(completed("42"))
    await api.client.done()
    events = events_of(answer)
    assert events[2]["type"] == events[3]["type"] == "response.in_progress"
    assert accumulated(events).output_text == "42"


async def test_client_that_takes_nothing_for_long_loses_its_run(api: Api) -> None:
    api.client.timing = StreamTiming(heartbeat_s=0.001, stall_s=0.002)
    answer = await _begin(api)
    answer.gate.clear()
    api.client.run.say(answer_piece("4"))
    async with asyncio.timeout(5):
        await api.client.run.cancelled.wait()
    assert api.client.run.cancelled_for[0] == "client_stalled"


def accumulated(events: Iterable[dict[str, Any]]) -> Any:
    """Let the openai client's helper add the events up; return its final response."""
    state: ResponseStreamState[Any] = ResponseStreamState(
        input_tools=omit, text_format=omit
    )
    for event in events:
        state.handle_event(EVENT.validate_python(event))
    assert state._completed_response is not None
    return state._completed_response


def deltas(events: Iterable[dict[str, Any]], kind: str) -> list[str]:
    """Return the deltas of all events of one type."""
    return [event["delta"] for event in events if event["type"] == kind]


async def _begin(api: Api, **fields: Any) -> Exchanged:
    """Start a stream and wait for its first events."""
    answer = api.open(stream=True, **fields)
    await answer.until(lambda: len(answer.messages) >= 2)
    return answer
