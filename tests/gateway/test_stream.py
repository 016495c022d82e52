"""A completion that is streamed: framing, pace, ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import orjson
import pytest
from openai._streaming import SSEBytesDecoder, SSEDecoder
from openai.types.chat import ChatCompletionChunk

from apps.core.errors import Overloaded
from apps.engine.events import RunCancelled
from apps.engine.ports import Progress
from apps.gateway.chat_completions.stream import unsent_text
from apps.gateway.stream_sender import StreamTiming
from tests.gateway.conftest import CHAT, Client, chat_body
from tests.gateway.fakes import (
    RUN_ID,
    USAGE,
    Exchanged,
    answer_piece,
    completed,
    failed,
    holder,
    plan,
    step_completed,
    step_started,
)

WITH_USAGE = {"stream": True, "stream_options": {"include_usage": True}}


async def test_head_is_that_of_an_event_stream(client: Client) -> None:
    client.run.plays(completed())
    answer = await client.chat(stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.headers["x-conductor-run-id"] == str(RUN_ID)


async def test_every_chunk_is_one_of_the_openai_client(client: Client) -> None:
    client.run.plays(plan(), step_started(0, "scout"), answer_piece("4"), completed())
    answer = await client.chat(**WITH_USAGE)
    events = list(_decoder().iter_bytes(_halves(answer.body)))
    chunks = [ChatCompletionChunk.model_validate_json(e.data) for e in events[:-1]]
    assert events[-1].data == "[DONE]"
    assert {(c.id, c.created, c.model) for c in chunks} == {
        (f"chatcmpl-{RUN_ID.hex}", chunks[0].created, "conductor-mini")
    }
    assert not any(event.id or event.event for event in events)


async def test_role_goes_out_before_anything_has_happened(client: Client) -> None:
    answer = client.open_chat(stream=True)
    await answer.until(lambda: len(answer.messages) == 2)
    assert answer.chunks[0]["choices"][0]["delta"]["role"] == "assistant"


async def test_each_piece_goes_out_at_once(client: Client) -> None:
    answer = await _begin(client)
    for number, text in enumerate(("It ", 'is "', "42\u2028\n"), start=3):
        client.run.say(answer_piece(text))
        await answer.until(lambda: len(answer.messages) == number)  # noqa: B023
    assert answer.deltas("content") == ["It ", 'is "', "42\u2028\n"]


async def test_other_texts_than_the_answer_stay_inside(client: Client) -> None:
    inner = Progress(round=0, step=0, attempt=1, text="draft")
    client.run.plays(inner, answer_piece("42"), completed("42"))
    assert (await client.chat(stream=True)).deltas("content") == ["42"]


async def test_steps_are_told_as_reasoning_under_both_names(client: Client) -> None:
    client.run.plays(
        plan(),
        step_started(1, "writer"),
        step_completed(1, "writer"),
        completed("42"),
    )
    answer = await client.chat(stream=True)
    told = "".join(answer.deltas("reasoning_content"))
    assert "[2/2] Write it down → writer\n" in told
    assert told == "".join(answer.deltas("reasoning"))
    assert answer.deltas("content") == ["42"]


async def test_direct_call_tells_no_steps(client: Client) -> None:
    client.run.plays(plan(), step_started(0, "scout"), completed("42"))
    answer = await client.chat(stream=True, model="worker/writer")
    assert answer.deltas("reasoning") == []


async def test_stream_ends_with_one_finish_reason_and_done(client: Client) -> None:
    client.run.plays(answer_piece("42"), completed("42", finish_reason="length"))
    answer = await client.chat(stream=True)
    reasons = [c["choices"][0]["finish_reason"] for c in answer.chunks]
    assert [reason for reason in reasons if reason] == ["length"]
    assert (answer.lines[-1], answer.is_complete) == (b"[DONE]", True)


async def test_conductor_rides_on_the_finish_chunk(client: Client) -> None:
    client.run.plays(completed())
    last = (await client.chat(stream=True)).chunks[-1]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["conductor"]["run_id"] == str(RUN_ID)


async def test_usage_chunk_comes_last_when_asked_for(client: Client) -> None:
    client.run.plays(completed())
    *_, finish, last = (await client.chat(**WITH_USAGE)).chunks
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 150)
    assert "conductor" in last
    assert "conductor" not in finish


async def test_key_can_ask_for_usage_always(client: Client) -> None:
    client.backend.caller = holder("runs:create", always_include_usage=True)
    client.run.plays(completed())
    assert (await client.chat(stream=True)).chunks[-1]["usage"]["total_tokens"] == 150


async def test_answer_that_came_whole_is_sent_at_the_end(client: Client) -> None:
    client.run.plays(completed("It is 42."))
    assert (await client.chat(stream=True)).deltas("content") == ["It is 42."]


async def test_rest_of_the_answer_is_sent_at_the_end(client: Client) -> None:
    client.run.plays(answer_piece("It "), completed("It is 42."))
    answer = await client.chat(stream=True)
    assert "".join(answer.deltas("content")) == "It is 42."


async def test_answer_that_differs_from_what_was_sent_is_an_error(
    client: Client,
) -> None:
    client.run.plays(answer_piece("It is 41"), completed("It is 42."))
    answer = await client.chat(stream=True)
    assert answer.chunks[-1]["error"]["code"] == "answer_changed"
    assert b"[DONE]" not in answer.body


@pytest.mark.parametrize(
    ("answer", "sent", "rest"),
    [
        ("abc", "", "abc"),
        ("abc", "ab", "c"),
        ("abc", "abc", ""),
        ("abc", "\n ab", "c"),
        ("abc", " abc\n", ""),
        ("abc", "abd", None),
        ("abc", "abcd", None),
        ("", "\n", ""),
        ("a b", "a ", "b"),
    ],
)
def test_unsent_text_forgives_only_white_space_around(
    answer: str, sent: str, rest: str | None
) -> None:
    assert unsent_text(answer, sent) == rest


# --- ends that are not good ----------------------------------------------------------


async def test_refusal_before_the_first_byte_is_a_plain_error(client: Client) -> None:
    client.backend.refuses(Overloaded("full"))
    answer = await client.chat(stream=True)
    assert (answer.status, answer.error["code"]) == (503, "overloaded")


async def test_failure_is_an_error_line_and_never_done(client: Client) -> None:
    client.run.plays(answer_piece("4"), failed("worker_failed", "all gone"))
    answer = await client.chat(stream=True)
    assert answer.deltas("content") == ["4"]
    assert answer.chunks[-1]["error"]["message"] == "all gone"
    assert (b"[DONE]" in answer.body, answer.is_complete) == (False, True)


async def test_cancelled_run_is_an_error_line(client: Client) -> None:
    client.run.plays(RunCancelled("stopped by alice", USAGE, 0, False, 1, 1))
    answer = await client.chat(stream=True)
    assert answer.chunks[-1]["error"]["code"] == "run_cancelled"


async def test_unexpected_fault_is_an_error_line_without_detail(
    client: Client,
) -> None:
    client.run.breaks(RuntimeError("secret detail"))
    answer = await client.chat(stream=True)
    assert answer.chunks[-1]["error"]["code"] == "internal_error"
    assert (b"secret" in answer.body, answer.is_complete) == (False, True)


async def test_client_that_leaves_cancels_the_run(client: Client) -> None:
    answer = await _begin(client)
    answer.leave()
    await client.done()
    assert client.run.cancelled_for == ["client_closed"]
    assert not client.run.has_listeners


async def test_client_that_leaves_after_the_end_cancels_nothing(
    client: Client,
) -> None:
    client.run.plays(completed())
    answer = await client.chat(stream=True)
    answer.leave()
    await client.done()
    assert client.run.cancelled_for == []


async def test_closed_socket_cancels_the_run(client: Client) -> None:
    answer = await _begin(client)
    answer.breaks = OSError("gone")
    client.run.say(answer_piece("4"))
    await client.done()
    assert client.run.cancelled_for == ["client_closed"]


# --- pace ----------------------------------------------------------------------------


async def test_slow_client_gets_what_piled_up_as_one_chunk(client: Client) -> None:
    answer = await _begin(client)
    answer.gate.clear()
    client.run.say(answer_piece("0 "))
    async with asyncio.timeout(5):
        await answer.blocked.wait()
    later = [f"{number} " for number in range(1, 500)]
    client.run.say(*map(answer_piece, later), completed("0 " + "".join(later)))
    answer.gate.set()
    await client.done()
    assert answer.deltas("content") == ["0 ", "".join(later)]


async def test_kinds_keep_their_order_when_they_pile_up(client: Client) -> None:
    answer = await _begin(client)
    client.run.say(plan(), step_started(0, "scout"), answer_piece("4"))
    client.run.say(answer_piece("2"), step_completed(0, "scout"))
    await answer.until(lambda: len(answer.chunks) == 3)
    kinds = [next(iter(chunk["choices"][0]["delta"])) for chunk in answer.chunks[1:]]
    assert kinds == ["reasoning_content", "content"]


async def test_silence_is_broken_by_empty_chunks(client: Client) -> None:
    client.timing = StreamTiming(heartbeat_s=0.001)
    answer = await _begin(client)
    await answer.until(lambda: len(answer.messages) >= 4)
    assert answer.chunks[1]["choices"][0]["delta"] == {}


async def test_client_that_takes_nothing_for_long_loses_its_run(
    client: Client,
) -> None:
    client.timing = StreamTiming(heartbeat_s=0.001, stall_s=0.002)
    answer = await _begin(client)
    answer.gate.clear()
    client.run.say(answer_piece("4"))
    async with asyncio.timeout(5):
        await client.run.cancelled.wait()
    assert client.run.cancelled_for[0] == "client_stalled"


async def _begin(client: Client) -> Exchanged:
    """Start a stream and wait for its first chunk."""
    answer = client.open_chat(stream=True)
    await answer.until(lambda: len(answer.messages) >= 2)
    return answer


def _decoder() -> SSEBytesDecoder:
    return SSEDecoder()


def _halves(body: bytes) -> Iterator[bytes]:
    yield body[: len(body) // 2]
    yield body[len(body) // 2 :]


# --- named events --------------------------------------------------------------------


async def test_named_events_come_only_when_asked_for(client: Client) -> None:
    client.run.plays(plan(), step_started(0, "scout"), answer_piece("42"), completed())
    body = orjson.dumps(chat_body(stream=True))
    headers = {"x-conductor-events": "true"}
    answer = await client.ask("POST", CHAT, body, headers=headers)
    named = [
        block.split(b"\n") for block in answer.body.split(b"\n\n") if b"event:" in block
    ]
    assert [name for name, _ in named] == [
        b"event: plan.accepted",
        b"event: step.started",
    ]
    facts = orjson.loads(named[1][1].removeprefix(b"data: "))
    assert facts == {"round": 0, "step": 0, "attempt": 1, "worker": "scout"}


async def test_named_events_tell_no_text(client: Client) -> None:
    client.run.plays(plan(), step_completed(0, "scout"), completed())
    body = orjson.dumps(chat_body(model="worker/scout", stream=True))
    headers = {"x-conductor-events": "true"}
    answer = await client.ask("POST", CHAT, body, headers=headers)
    assert b"event: step.completed" in answer.body
    assert b"Find the facts" not in answer.body


@pytest.mark.parametrize("value", ["", "false"])
async def test_named_events_can_be_declined(client: Client, value: str) -> None:
    client.run.plays(plan(), completed())
    body = orjson.dumps(chat_body(stream=True))
    headers = {"x-conductor-events": value}
    answer = await client.ask("POST", CHAT, body, headers=headers)
    assert b"event:" not in answer.body


async def test_odd_wish_for_named_events_is_refused(client: Client) -> None:
    headers = {"x-conductor-events": "all"}
    answer = await client.ask("POST", CHAT, b"{}", headers=headers)
    assert answer.error["param"] == "X-Conductor-Events"
