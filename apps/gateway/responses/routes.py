"""Routes under `/v1/responses`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apps.gateway.backend import Backend
from apps.gateway.exchange import Exchange
from apps.gateway.responses.compaction import Compactions
from apps.gateway.responses.counting import InputTokens
from apps.gateway.responses.endpoints import Responses
from apps.gateway.run_starter import RunStarter
from apps.gateway.stream_sender import Streams

RESPONSES = "/v1/responses"
ONE = f"{RESPONSES}/{{response_id}}"
Handlers = dict[str, Callable[[Exchange], Awaitable[None]]]


def response_handlers(
    backend: Backend, starter: RunStarter, streams: Streams
) -> dict[str, Handlers]:
    """Return the handlers by path and method."""
    responses = Responses(backend, starter, streams)
    return {
        RESPONSES: {"POST": responses.post},
        # Before the path of one response, whose id could be any word.
        f"{RESPONSES}/compact": {"POST": Compactions(backend, starter).post},
        f"{RESPONSES}/input_tokens": {"POST": InputTokens(backend).post},
        ONE: {"GET": responses.retrieve, "DELETE": responses.delete},
        f"{ONE}/cancel": {"POST": responses.cancel},
        f"{ONE}/input_items": {"GET": responses.input_items},
    }
