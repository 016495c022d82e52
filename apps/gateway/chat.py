"""`POST /v1/chat/completions`: one prompt in, one run, one answer out."""

from __future__ import annotations

import asyncio
import time

from django.conf import settings

from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.budgets.rates import TokenMeter
from apps.engine.events import RunCompleted
from apps.gateway.access import (
    DIRECT_SCOPE,
    RUN_SCOPE,
    authenticate,
    pass_rates,
    require_scope,
)
from apps.gateway.chat_request import ChatRequest, parse_chat_request
from apps.gateway.chunks import ChunkWriter
from apps.gateway.errors import CLIENT_CLOSED, ClientGone, failure_of_run
from apps.gateway.exchange import Exchange
from apps.gateway.ports import Backend
from apps.gateway.documents import completion_document, cost_text
from apps.gateway.stream import AnswerStream, StreamTiming
from apps.runs.types import LiveRun, RunOrder, RunSummary

SOURCE = "api"
DIRECT_PREFIX = "worker/"
MAX_USER_AGENT = 200
"""Characters of the client's user agent that the ledger keeps."""


class ChatCompletions:
    """Starts a run for each request and stays with it to the end."""

    def __init__(self, backend: Backend, timing: StreamTiming) -> None:
        self._backend = backend
        self._timing = timing

    async def post(self, exchange: Exchange) -> None:
        """Answer a chat completion, whole or streamed."""
        holder = await authenticate(exchange, self._backend)
        require_scope(holder, RUN_SCOPE)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        request = parse_chat_request(raw, max_prompt_bytes=settings.MAX_PROMPT_BYTES)
        if request.model.startswith(DIRECT_PREFIX):
            require_scope(holder, DIRECT_SCOPE)
        meter = await pass_rates(exchange, holder, request.prompt)
        order = _order(exchange, holder, request, meter)
        live = await self._backend.start_run(order)
        exchange.run_id = live.id
        try:
            if request.is_streamed:
                await self._stream(exchange, holder, request, live)
            else:
                await _answer(exchange, request, live)
        except ClientGone:
            live.cancel(CLIENT_CLOSED)
            raise

    async def _stream(
        self, exchange: Exchange, holder: KeyHolder, request: ChatRequest, live: LiveRun
    ) -> None:
        writer = ChunkWriter(
            completion_id=f"chatcmpl-{live.id.hex}",
            created=int(time.time()),
            model=request.model,
        )
        stream = AnswerStream(
            exchange,
            live,
            writer,
            wants_usage=request.wants_usage or holder.always_include_usage,
            shows_progress=not request.model.startswith(DIRECT_PREFIX),
            timing=self._timing,
        )
        await stream.run()


async def _answer(exchange: Exchange, request: ChatRequest, live: LiveRun) -> None:
    created = int(time.time())
    watcher = asyncio.ensure_future(
        exchange.watch_disconnect(lambda: live.cancel(CLIENT_CLOSED))
    )
    try:
        summary = await live.finished()
    finally:
        watcher.cancel()
    headers = _account_headers(summary)
    end = summary.end
    if isinstance(end, RunCompleted):
        body = completion_document(summary, end, model=request.model, created=created)
        await exchange.send_json(200, body, headers)
    else:
        await exchange.send_failure(failure_of_run(end), headers)


def _account_headers(summary: RunSummary) -> list[tuple[bytes, bytes]]:
    return [
        (b"x-conductor-cost-usd", cost_text(summary.end.cost_micros).encode()),
        (b"x-conductor-overhead-ms", b"%d" % summary.end.overhead_ms),
    ]


def _order(
    exchange: Exchange,
    holder: KeyHolder,
    request: ChatRequest,
    meter: TokenMeter | None,
) -> RunOrder:
    return RunOrder(
        team_id=holder.team_id,
        actor=Actor(type="api_key", id=str(holder.key_id), display=holder.display),
        prompt=request.prompt,
        model=request.model,
        source=SOURCE,
        params=request.params,
        is_streamed=request.is_streamed,
        is_watched=request.is_streamed,
        user_id=holder.created_by_id,
        api_key_id=holder.key_id,
        context=_context(exchange, request),
        narrowing=request.narrowing,
        allowed_tiers=holder.allowed_tiers,
        allowed_workers=holder.allowed_workers,
        meter=meter,
    )


def _context(exchange: Exchange, request: ChatRequest) -> dict[str, str]:
    context = {"request_id": exchange.request_id.decode("ascii")}
    if client := exchange.scope.get("client"):
        context["address"] = client[0]
    if agent := exchange.headers.get(b"user-agent"):
        context["user_agent"] = agent.decode("latin-1")[:MAX_USER_AGENT]
    if request.ignored:
        context["ignored_fields"] = request.ignored
    return context
