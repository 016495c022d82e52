"""The ASGI application under `/v1`.

Starlette routes; everything else is bare ASGI, because every microsecond is paid on
every request. The middleware stack is the router itself: `PathHandler` is the one
boundary where errors become answers, on paths that exist and on those that do not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from django.conf import settings
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from apps.core.database_outage import database_away, is_outage
from apps.core.errors import ConductorError, Overloaded
from apps.core.logs import log_context
from apps.core.request_metrics import count_request
from apps.gateway.anthropic.routes import errors_for, message_handlers
from apps.gateway.backend import Backend
from apps.gateway.batches.routes import batch_handlers
from apps.gateway.chat_completions.endpoint import ChatCompletions
from apps.gateway.django_backend import DjangoBackend
from apps.gateway.embeddings.endpoint import Embedding
from apps.gateway.errors import (
    ClientGone,
    MethodNotAllowed,
    NoSuchEndpoint,
    failure_of_error,
)
from apps.gateway.exchange import Exchange
from apps.gateway.models_endpoint import Models
from apps.gateway.request_pacing import AdmissionQueue
from apps.gateway.responses.routes import response_handlers
from apps.gateway.run_starter import RunStarter
from apps.gateway.stream_sender import Streams, StreamTiming
from apps.gateway.text_completions.endpoint import TextCompletions
from apps.gateway.wrong_paths import hint_for

COMPLETIONS = "/v1/chat/completions"
EXPOSED_HEADERS = (
    "idempotent-replayed",
    "openai-processing-ms",
    "request-id",
    "retry-after",
    "x-conductor-cost-usd",
    "x-conductor-ignored",
    "x-conductor-overhead-ms",
    "x-conductor-run-id",
    "x-conductor-worker",
    "x-ratelimit-limit-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
    "x-request-id",
    "x-should-retry",
)
"""What pages of other sites may read of an answer."""
OPENAI_ROUTES = frozenset({"batches", "chat", "completions", "responses"})
"""Classes of paths that are OpenAI's alone, whatever the client's headers say."""
Handler = Callable[[Exchange], Awaitable[None]]
logger = logging.getLogger(__name__)
TELL_S = 1.0
"""How long a connection may take to receive the notice that the process stops."""


def create_app(
    backend: Backend | None = None,
    timing: StreamTiming | None = None,
    *,
    wake_batches: Callable[[], None] = lambda: None,
) -> Starlette:
    """Return the application; tests bring their own backend and timing.

    `wake_batches`: called when there is a new batch, or one is cancelled.
    """
    backend = backend or DjangoBackend()
    streams = Streams(timing or StreamTiming())
    starter = RunStarter(backend, AdmissionQueue(lambda: streams.are_live))
    chat = ChatCompletions(backend, starter, streams)
    responses = response_handlers(backend, starter, streams)
    texts = TextCompletions(backend, starter, streams)
    embedding = Embedding(backend, starter)
    batches = batch_handlers(backend, wake_batches)
    messages = message_handlers(backend, starter, streams)
    models = Models(backend)
    completions = PathHandler({"POST": chat.post}, "chat")
    app = Starlette(
        routes=[
            Route(COMPLETIONS, completions),
            Route(
                "/v1/embeddings", PathHandler({"POST": embedding.post}, "embeddings")
            ),
            Route("/v1/completions", PathHandler({"POST": texts.post}, "completions")),
            *[
                Route(path, PathHandler(found, "responses"))
                for path, found in responses.items()
            ],
            *[
                Route(path, PathHandler(found, "batches"))
                for path, found in batches.items()
            ],
            *[
                Route(path, PathHandler(found, "messages"))
                for path, found in messages.items()
            ],
            Route("/v1/models", PathHandler({"GET": models.list}, "models")),
            Route(
                "/v1/models/{model_id:path}",
                PathHandler({"GET": models.retrieve}, "models"),
            ),
        ]
    )
    # A redirect would turn a POST into a GET, and the client would see no error.
    app.router.redirect_slashes = False
    app.router.default = PathHandler({})
    app.middleware_stack = _with_cors(_Shortcut({COMPLETIONS: completions}, app.router))
    return app


def _with_cors(inner: ASGIApp) -> ASGIApp:
    if not settings.CORS_ORIGINS:
        return inner
    return CORSMiddleware(
        inner,
        allow_origins=settings.CORS_ORIGINS,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("*",),
        expose_headers=EXPOSED_HEADERS,
    )


class _Shortcut:
    """Finds the busiest path in one look-up; the router finds the others."""

    def __init__(self, known: Mapping[str, PathHandler], router: ASGIApp) -> None:
        self._known = known
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        find = self._known.get(scope["path"], self._router)
        await find(scope, receive, send)


class PathHandler:
    """One path: picks the handler of the method and turns its errors into answers."""

    def __init__(self, handlers: Mapping[str, Handler], route: str = "unknown") -> None:
        """`route`: the class that its requests are counted under."""
        self._route = route
        self._handlers = dict(handlers)
        if "GET" in self._handlers:
            self._handlers["HEAD"] = self._handlers["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 4404, "reason": ""})
            return
        exchange = Exchange(scope, receive, send)
        if self._route not in OPENAI_ROUTES:
            exchange.errors = errors_for(exchange)
        log_context.set({"request_id": exchange.request_id})
        try:
            await self._handle(exchange)
        except ConductorError as error:
            await exchange.send_failure(failure_of_error(error))
        except asyncio.CancelledError:
            # The process stops; its own runs have told their clients by now, but who
            # waits here for a run of another process has heard nothing.
            stopping = Overloaded("this process is shutting down", retry_after_s=1)
            # A client that takes nothing must not keep the process from stopping.
            with suppress(TimeoutError, ClientGone):
                async with asyncio.timeout(TELL_S):
                    await exchange.send_failure(failure_of_error(stopping))
            raise
        except ClientGone:
            logger.debug("request %s: client gone", exchange.request_id.decode())
        except Exception as error:  # the boundary: whatever happened, answer in shape
            if is_outage(error):
                await _answer_outage(exchange, error)
                return
            logger.exception(
                "request %s failed (run %s)",
                exchange.request_id.decode(),
                exchange.run_id,
            )
            await exchange.send_internal_failure()
        finally:
            count_request(self._route, exchange.status, exchange.elapsed_s)

    async def _handle(self, exchange: Exchange) -> None:
        method, path = exchange.scope["method"], exchange.scope["path"]
        handler = self._handlers.get(method)
        if handler is not None:
            await handler(exchange)
        elif self._handlers:
            allowed = ", ".join(sorted(self._handlers))
            raise MethodNotAllowed(
                f"{path} takes {allowed}, not {method}", allowed=allowed
            )
        else:
            hint = hint_for(path)
            raise NoSuchEndpoint(
                f"there is nothing at {path[:200]!r}" + (hint and f"; {hint}")
            )


async def _answer_outage(exchange: Exchange, error: Exception) -> None:
    logger.warning("request %s: %s", exchange.request_id.decode(), error)
    await exchange.send_failure(failure_of_error(database_away()))
