"""`POST /v1/chat/completions`: one conversation in, one run, one answer out."""

from __future__ import annotations

import asyncio

from django.conf import settings

from apps.accounts.types import KeyHolder
from apps.engine.events import RunCompleted
from apps.gateway.access import RUN_SCOPE, authenticate, require_scope
from apps.gateway.chat_request import ChatRequest, parse_chat_request
from apps.gateway.chunks import ChunkWriter
from apps.gateway.documents import completion_document, cost_text, created_of
from apps.gateway.errors import ClientGone, failure_of_run
from apps.gateway.exchange import Exchange
from apps.gateway.ports import Backend
from apps.gateway.pump import Streams
from apps.gateway.sharing import Started
from apps.gateway.starting import DIRECT_PREFIX, Starter
from apps.gateway.step_events import wants_events
from apps.gateway.stream import CompletionTeller
from apps.gateway.tool_calls import SentCalls
from apps.runs.types import RunSummary


class ChatCompletions:
    """Starts a run for each request and stays with it to the end."""

    def __init__(self, backend: Backend, starter: Starter, streams: Streams) -> None:
        self._backend = backend
        self._starter = starter
        self._streams = streams

    async def post(self, exchange: Exchange) -> None:
        """Answer a chat completion, whole or streamed."""
        holder = await authenticate(exchange, self._backend)
        require_scope(holder, RUN_SCOPE)
        has_events = wants_events(exchange)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        request = parse_chat_request(raw, max_prompt_bytes=settings.MAX_PROMPT_BYTES)
        started = await self._starter.start(exchange, holder, request.asked, raw)
        del raw  # may be megabytes of images
        try:
            if request.asked.is_streamed:
                teller = _teller(request, holder, started, has_events=has_events)
                await self._streams.send(exchange, started, teller)
            else:
                await _answer(exchange, request, started)
        except ClientGone:
            started.leave()
            raise


def _teller(
    request: ChatRequest, holder: KeyHolder, started: Started, *, has_events: bool
) -> CompletionTeller:
    model = request.asked.model
    writer = ChunkWriter(
        completion_id=f"chatcmpl-{started.run_id.hex}",
        created=created_of(started.run_id),
        model=model,
    )
    return CompletionTeller(
        writer,
        SentCalls(started.run_id),
        wants_usage=request.wants_usage or holder.always_include_usage,
        has_events=has_events,
        shows_progress=not model.startswith(DIRECT_PREFIX),
    )


async def _answer(exchange: Exchange, request: ChatRequest, started: Started) -> None:
    watcher = asyncio.ensure_future(exchange.watch_disconnect(started.leave))
    try:
        summary = await started.run.finished()
    finally:
        watcher.cancel()
    headers = account_headers(summary)
    end = summary.end
    if isinstance(end, RunCompleted):
        body = completion_document(summary, end, model=request.asked.model)
        await exchange.send_json(200, body, headers)
    else:
        await exchange.send_failure(failure_of_run(end), headers)


def account_headers(summary: RunSummary) -> list[tuple[bytes, bytes]]:
    """Return what the answer's head tells of a run that has ended."""
    return [
        (b"x-conductor-cost-usd", cost_text(summary.end.cost_micros).encode()),
        (b"x-conductor-overhead-ms", b"%d" % summary.end.overhead_ms),
    ]
