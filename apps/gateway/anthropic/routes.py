"""Routes of Anthropic's protocol, and the clients that speak it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apps.gateway.anthropic.endpoints import AnthropicMessages
from apps.gateway.anthropic.errors import ANTHROPIC_ERRORS
from apps.gateway.anthropic.models import speaks_anthropic
from apps.gateway.backend import Backend
from apps.gateway.error_shape import OPENAI_ERRORS, ErrorShape
from apps.gateway.exchange import Exchange
from apps.gateway.run_starter import RunStarter
from apps.gateway.stream_sender import Streams

MESSAGES = "/v1/messages"
Handlers = dict[str, Callable[[Exchange], Awaitable[None]]]


def message_handlers(
    backend: Backend, starter: RunStarter, streams: Streams
) -> dict[str, Handlers]:
    """Return the handlers by path and method."""
    messages = AnthropicMessages(backend, starter, streams)
    return {
        MESSAGES: {"POST": messages.post},
        f"{MESSAGES}/count_tokens": {"POST": messages.count_tokens},
    }


def errors_for(exchange: Exchange) -> ErrorShape:
    """Return how a failure is worded on a path that two protocols share, or none has.

    Every path below `/v1/messages` is Anthropic's; else its clients name a version.
    """
    path = exchange.scope["path"]
    is_below = path == MESSAGES or path.startswith(MESSAGES + "/")
    if is_below or speaks_anthropic(exchange):
        return ANTHROPIC_ERRORS
    return OPENAI_ERRORS
