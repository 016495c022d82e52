"""T1: no provider can freeze the process, fill its memory or end a call by a crash.

Each hostile model of the simulator is asked over loopback. Time is what the loop's
thread spends of the processor in one turn of the loop, so a busy machine changes
nothing; memory is what is allocated at most.
"""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import get_args

import pytest

from apps.llm.chat import ChatClient
from apps.llm.errors import LlmError
from apps.llm.types import ChatRequest, Endpoint, Protocol, Timeouts
from apps.simulator.app import create_app
from apps.simulator.faulty import hostile
from tests.serving import serving

LONGEST_TURN_S = 0.1
"""The longest was measured at 0.025 s; unbounded, many of these models take seconds."""
MOST_BYTES = 120_000_000
"""Of one call, with what the simulator in this process holds to send it. Most of it is
room that `orjson` sets aside for a body of 8 MB, and never touches."""
QUICK = Timeouts(connect_s=5, first_byte_s=3, idle_s=5, total_s=60)
QUESTION = ChatRequest([{"role": "user", "content": "Hi"}])
ANSWERED = "answered"
EITHER = {ANSWERED, "bad_response"}
"""What one protocol has no use for is passed over, another one needs it."""
UNUSABLE = (
    "body-brackets",
    "body-endless-text",
    "body-long-text",
    "body-spaces",
    "http-compressed",
    "http-huge-length",
    "stream-as-json",
    "stream-blank-events",
    "stream-comments",
    "stream-empty-data",
    "stream-empty-events",
    "stream-empty-lines",
    "stream-empty-lines-cr",
    "stream-empty-lines-crlf",
    "stream-error-long",
    "stream-event-names",
    "stream-fields",
    "stream-html",
    "stream-json",
    "stream-long-arguments",
    "stream-long-comment",
    "stream-long-event",
    "stream-long-line",
    "stream-long-name",
    "stream-long-text",
    "stream-long-thinking",
    "stream-many-calls",
    "stream-short-tokens",
    "stream-silent-events",
)
"""What is too much of something, or no stream, and so would come again."""
OUTCOMES = {
    **{name: {"unusable_response"} for name in UNUSABLE},
    "http-compressed-error": {"server_error"},
    "http-long-extension": {"bad_response", "incomplete", "unusable_response"},
    "http-long-length": {"bad_response", "incomplete", "unusable_response"},
    "http-many-trailers": {"incomplete", "bad_response", "unusable_response"},
    "http-no-status": {"incomplete"},
    "http-strange-status": {"server_error"},
    "http-tiny-chunks": {"incomplete", "bad_response", "unusable_response"},
    "error-endless": {"server_error"},
    "error-hard-200": {"bad_request", "server_error"},
    "error-html": {"server_error"},
    "error-long": {"server_error"},
    "error-long-200": {"unusable_response"},
    "error-not-utf8": {"server_error"},
    "error-odd-wait": {"rate_limited"},
    "error-wait": {"rate_limited"},
    "stream-after-end": {ANSWERED, "unusable_response"},
    "stream-bytewise": {ANSWERED},
    "stream-error-hard": {"server_error"},
    "stream-escaped-text": {ANSWERED},
    "stream-half-tags": {ANSWERED},
    "stream-huge-usage": EITHER,
    "stream-long-key": {ANSWERED},
    "stream-long-text-in-one": {ANSWERED},
    "stream-odd-index": EITHER,
    "stream-think-tags": {ANSWERED},
    "stream-two-ends": {ANSWERED},
    "stream-types-list": EITHER,
    "stream-types-null": EITHER,
    "stream-types-number": EITHER,
    "stream-types-object": EITHER,
    "stream-types-text": EITHER,
    "stream-zeros": {"incomplete"},
    "stream-marks": {"incomplete"},
    "body-bytewise": {ANSWERED},
    "body-escaped-text": {ANSWERED},
    "body-think-tags": {ANSWERED},
}
"""What becomes of those that do not simply end as their part of the corpus does."""
USUAL = {"error": {"bad_request"}}
LARGE = (
    "http-tiny-chunks",
    "error-long",
    "error-brackets",
    "stream-error-long",
    "stream-empty-data",
    "stream-empty-lines",
    "stream-flat-brackets",
    "stream-long-event",
    "stream-long-line",
    "stream-long-text",
    "stream-long-thinking",
    "stream-short-tokens",
    "stream-think-tags",
    "body-brackets",
    "body-endless-text",
    "body-escaped-text",
    "body-flat-brackets",
    "body-flat-texts",
    "body-long-text",
    "body-spaces",
)


class Turns:
    """The turns of the running loop."""

    def __init__(self) -> None:
        self.longest_s = 0.0

    async def watch(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            self.longest_s = max(self.longest_s, time.thread_time() - before)


@asynccontextmanager
async def watched() -> AsyncIterator[Turns]:
    turns = Turns()
    gc.disable()  # a collection of all that the tests hold would count as a turn
    watching = asyncio.create_task(turns.watch())
    try:
        yield turns
    finally:
        await asyncio.sleep(0)  # so that the turn in which the call ended counts too
        watching.cancel()
        gc.enable()


@pytest.fixture(scope="module")
def hostile_url() -> Iterator[str]:
    with serving(create_app(speed=0), ws="none") as url:
        yield url


def cases() -> list[tuple[str, str, bool]]:
    """Return name, protocol and whether the answer is streamed."""
    found = []
    for name in hostile.ways():
        part = name.split("-")[1]
        forms = {"stream": (True,), "body": (False,)}.get(part, (True, False))
        protocols = ("openai",) if part == "http" else get_args(Protocol)
        found += [(name, protocol, form) for protocol in protocols for form in forms]
    return found


async def outcome(client: ChatClient, endpoint: Endpoint, *, is_streamed: bool) -> str:
    """Return the fault of a call, all of whose answer is kept."""
    try:
        if not is_streamed:
            await client.complete(endpoint, QUESTION)
            return ANSWERED
        return ANSWERED if [i async for i in client.stream(endpoint, QUESTION)] else ""
    except LlmError as exc:
        return exc.fault


def endpoint_at(url: str, name: str, protocol: Protocol = "openai") -> Endpoint:
    version = "v1beta" if protocol == "gemini" else "v1"
    return Endpoint("w", f"{url}/{version}", name, "k", QUICK, protocol=protocol)


def test_corpus_has_at_least_sixty_misbehaviours():
    assert len(hostile.ways()) >= 60
    assert {f"hostile-{name}" for name in (*OUTCOMES, *LARGE)} <= set(hostile.ways())


@pytest.mark.parametrize(("name", "protocol", "is_streamed"), cases())
async def test_hostile_provider_harms_nobody_else(
    client: ChatClient, hostile_url: str, name: str, protocol: Protocol, is_streamed
):
    """T1: the call ends by a named fault or an answer, and every task gets its turn."""
    endpoint = endpoint_at(hostile_url, name, protocol)
    async with watched() as turns:
        found = await outcome(client, endpoint, is_streamed=is_streamed)
    part, _, short = name.removeprefix("hostile-").partition("-")
    usual = USUAL.get(part, {"bad_response"})
    assert found in OUTCOMES.get(f"{part}-{short}", usual)
    assert turns.longest_s < LONGEST_TURN_S


@pytest.mark.parametrize("name", LARGE)
async def test_memory_of_a_call_is_bounded(
    client: ChatClient, hostile_url: str, name: str
):
    """T1: what a call may hold does not depend on how much its provider sends."""
    endpoint = endpoint_at(hostile_url, f"hostile-{name}")
    tracemalloc.start()
    try:
        await outcome(client, endpoint, is_streamed=not name.startswith("body"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MOST_BYTES
