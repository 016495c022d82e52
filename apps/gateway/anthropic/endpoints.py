"""`POST /v1/messages` and `POST /v1/messages/count_tokens`."""

from __future__ import annotations

from functools import partial

from django.conf import settings

from apps.accounts.principal import KeyPrincipal
from apps.accounts.rights import RUN
from apps.core.errors import NotFound
from apps.gateway.anthropic.documents import message_document
from apps.gateway.anthropic.request import (
    MessageRequest,
    count_input,
    read_message_request,
)
from apps.gateway.anthropic.stream import MessageStreamEncoder
from apps.gateway.auth import authenticate, pass_rates
from apps.gateway.backend import Backend
from apps.gateway.errors import ClientGone
from apps.gateway.exchange import Exchange
from apps.gateway.models_endpoint import usable_models
from apps.gateway.parsing.json_body import parse_object
from apps.gateway.presets import MESSAGE, filled_body, filled_request
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
        principal = await self._authenticate(exchange)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        limit = settings.MAX_PROMPT_BYTES
        filled = await filled_request(
            parse_object(raw), MESSAGE, exchange, principal, self._backend, raw
        )
        request = read_message_request(filled, max_prompt_bytes=limit)
        del filled
        started = await self._starter.start(exchange, principal, request.asked, raw)
        del raw  # may be megabytes of images
        try:
            if request.asked.is_streamed:
                encoder = _encoder(exchange, principal, request, started)
                await self._streams.send(exchange, started, encoder)
            else:
                document = partial(
                    message_document,
                    model=request.asked.model,
                    shows_thinking=request.shows_thinking_to(principal.key),
                )
                await answer_whole(exchange, started, document, question="messages")
        except ClientGone:
            started.leave()
            raise

    async def count_tokens(self, exchange: Exchange) -> None:
        """Answer with an estimate of the tokens that a message would have."""
        principal = await self._authenticate(exchange)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        limit = settings.MAX_PROMPT_BYTES
        filled = await filled_body(parse_object(raw), MESSAGE, principal, self._backend)
        model, tokens = count_input(filled.body, max_prompt_bytes=limit)
        await pass_rates(exchange, principal)
        if model not in await usable_models(self._backend, principal.key):
            raise NotFound(f"there is no model {model[:100]!r}", param="model")
        await exchange.send_json(200, {"input_tokens": tokens})

    async def _authenticate(self, exchange: Exchange) -> KeyPrincipal:
        principal = await authenticate(exchange, self._backend)
        principal.require(RUN)
        return principal


def _encoder(
    exchange: Exchange,
    principal: KeyPrincipal,
    request: MessageRequest,
    started: RunHandle,
) -> MessageStreamEncoder:
    return MessageStreamEncoder(
        started.run_id,
        model=request.asked.model,
        request_id=exchange.request_id.decode("ascii"),
        estimated_input=request.estimated_input,
        shows_thinking=request.shows_thinking_to(principal.key),
    )
