"""`POST /v1/messages` and `POST /v1/messages/count_tokens`."""

from __future__ import annotations

from functools import partial

from django.conf import settings

from apps.accounts.types import KeyHolder
from apps.core.errors import NotFound
from apps.gateway.anthropic.documents import message_document
from apps.gateway.anthropic.request import (
    MessageRequest,
    count_input,
    parse_message_request,
)
from apps.gateway.anthropic.stream import MessageStreamEncoder
from apps.gateway.auth import RUN_SCOPE, authenticate, pass_rates, require_scope
from apps.gateway.backend import Backend
from apps.gateway.errors import ClientGone
from apps.gateway.exchange import Exchange
from apps.gateway.models_endpoint import usable_models
from apps.gateway.run_handles import RunHandle
from apps.gateway.run_starter import RunStarter
from apps.gateway.stream_sender import Streams
from apps.gateway.whole import answer_whole


class AnthropicMessages:
    """Starts a run for each message and stays with it to the end."""

    def __init__(self, backend: Backend, starter: RunStarter, streams: Streams) -> None:
        self._backend = backend
        self._starter = starter
        self._streams = streams

    async def post(self, exchange: Exchange) -> None:
        """Answer a message, whole or streamed."""
        holder = await self._holder(exchange)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        limit = settings.MAX_PROMPT_BYTES
        request = parse_message_request(raw, max_prompt_bytes=limit)
        started = await self._starter.start(exchange, holder, request.asked, raw)
        del raw  # may be megabytes of images
        try:
            if request.asked.is_streamed:
                encoder = _encoder(exchange, holder, request, started)
                await self._streams.send(exchange, started, encoder)
            else:
                document = partial(
                    message_document,
                    model=request.asked.model,
                    shows_thinking=request.shows_thinking_to(holder),
                )
                await answer_whole(exchange, started, document, question="messages")
        except ClientGone:
            started.leave()
            raise

    async def count_tokens(self, exchange: Exchange) -> None:
        """Answer with an estimate of the tokens that a message would have."""
        holder = await self._holder(exchange)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        limit = settings.MAX_PROMPT_BYTES
        model, tokens = count_input(raw, max_prompt_bytes=limit)
        await pass_rates(exchange, holder)
        if model not in await usable_models(self._backend, holder):
            raise NotFound(f"there is no model {model[:100]!r}", param="model")
        await exchange.send_json(200, {"input_tokens": tokens})

    async def _holder(self, exchange: Exchange) -> KeyHolder:
        holder = await authenticate(exchange, self._backend)
        require_scope(holder, RUN_SCOPE)
        return holder


def _encoder(
    exchange: Exchange, holder: KeyHolder, request: MessageRequest, started: RunHandle
) -> MessageStreamEncoder:
    return MessageStreamEncoder(
        started.run_id,
        model=request.asked.model,
        request_id=exchange.request_id.decode("ascii"),
        estimated_input=request.estimated_input,
        shows_thinking=request.shows_thinking_to(holder),
    )
