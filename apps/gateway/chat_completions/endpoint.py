"""`POST /v1/chat/completions`: one conversation in, one run, one answer out."""

from __future__ import annotations

from functools import partial

from django.conf import settings

from apps.accounts.principal import KeyPrincipal
from apps.accounts.rights import RUN
from apps.gateway.auth import authenticate
from apps.gateway.backend import Backend
from apps.gateway.chat_completions.chunks import ChunkWriter
from apps.gateway.chat_completions.documents import completion_document, created_of
from apps.gateway.chat_completions.request import CompletionRequest, read_chat_request
from apps.gateway.chat_completions.stream import ChatStreamEncoder
from apps.gateway.errors import ClientGone
from apps.gateway.exchange import Exchange
from apps.gateway.parsing.json_body import parse_object
from apps.gateway.presets import CHAT, filled_request
from apps.gateway.run_handles import RunHandle
from apps.gateway.run_starter import RunStarter
from apps.gateway.step_events import wants_events
from apps.gateway.stream_sender import Streams
from apps.gateway.tool_calls import SentCalls
from apps.gateway.whole import answer_whole


class ChatCompletions:
    """Starts a run for each request and stays with it to the end."""

    def __init__(self, backend: Backend, starter: RunStarter, streams: Streams) -> None:
        self._backend = backend
        self._starter = starter
        self._streams = streams

    async def post(self, exchange: Exchange) -> None:
        """Answer a chat completion, whole or streamed."""
        principal = await authenticate(exchange, self._backend)
        principal.require(RUN)
        has_events = wants_events(exchange)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        sent = parse_object(raw)
        filled = await filled_request(
            sent, CHAT, exchange, principal, self._backend, raw
        )
        limit = settings.MAX_PROMPT_BYTES
        request = read_chat_request(filled, max_prompt_bytes=limit)
        del sent, filled
        started = await self._starter.start(exchange, principal, request.asked, raw)
        del raw  # may be megabytes of images
        try:
            if request.asked.is_streamed:
                encoder = _encoder(request, principal, started, has_events=has_events)
                await self._streams.send(exchange, started, encoder)
            else:
                document = partial(completion_document, model=request.asked.model)
                await answer_whole(exchange, started, document, question="messages")
        except ClientGone:
            started.leave()
            raise


def _encoder(
    request: CompletionRequest,
    principal: KeyPrincipal,
    started: RunHandle,
    *,
    has_events: bool,
) -> ChatStreamEncoder:
    model = request.asked.model
    progress = request.asked.progress_for(principal.key)
    writer = ChunkWriter(
        completion_id=f"chatcmpl-{started.run_id.hex}",
        created=created_of(started.run_id),
        model=model,
    )
    return ChatStreamEncoder(
        writer,
        SentCalls(started.run_id),
        wants_usage=request.wants_usage or principal.key.always_include_usage,
        has_events=has_events or progress == "events",
        shows_progress=progress == "reasoning",
    )
