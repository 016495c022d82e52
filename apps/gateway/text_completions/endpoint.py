"""Starts a run for one prompt and answers with the text of its answer."""

from __future__ import annotations

from functools import partial

from django.conf import settings

from apps.accounts.rights import RUN
from apps.gateway.auth import authenticate
from apps.gateway.backend import Backend
from apps.gateway.chat_completions.documents import created_of
from apps.gateway.chat_completions.stream import ChatStreamEncoder
from apps.gateway.errors import ClientGone
from apps.gateway.exchange import Exchange
from apps.gateway.parsing.json_body import parse_object
from apps.gateway.presets import TEXT, filled_request
from apps.gateway.run_starter import RunStarter
from apps.gateway.step_events import wants_events
from apps.gateway.stream_sender import Streams
from apps.gateway.text_completions.documents import (
    TextChunkWriter,
    text_completion_document,
)
from apps.gateway.text_completions.request import read_text_completion
from apps.gateway.tool_calls import SentCalls
from apps.gateway.whole import answer_whole


class TextCompletions:
    """`POST /v1/completions`: one prompt in, one run, its answer out."""

    def __init__(self, backend: Backend, starter: RunStarter, streams: Streams) -> None:
        self._backend = backend
        self._starter = starter
        self._streams = streams

    async def post(self, exchange: Exchange) -> None:
        """Answer a text completion, whole or streamed."""
        principal = await authenticate(exchange, self._backend)
        principal.require(RUN)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        filled = await filled_request(
            parse_object(raw), TEXT, exchange, principal, self._backend, raw
        )
        limit = settings.MAX_PROMPT_BYTES
        request = read_text_completion(filled, max_prompt_bytes=limit)
        asked = request.asked
        started = await self._starter.start(exchange, principal, asked, raw)
        try:
            if not asked.is_streamed:
                document = partial(text_completion_document, model=asked.model)
                await answer_whole(exchange, started, document, question="prompt")
                return
            encoder = ChatStreamEncoder(
                TextChunkWriter(
                    completion_id=f"cmpl-{started.run_id.hex}",
                    created=created_of(started.run_id),
                    model=asked.model,
                ),
                SentCalls(started.run_id),
                wants_usage=request.wants_usage or principal.key.always_include_usage,
                has_events=wants_events(exchange),
                shows_progress=False,
            )
            await self._streams.send(exchange, started, encoder)
        except ClientGone:
            started.leave()
            raise
