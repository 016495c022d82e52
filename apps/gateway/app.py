"""The ASGI application under `/v1`.

Starlette routes; everything else is bare ASGI, because every microsecond is paid on
every request. The middleware stack is the router itself: `Endpoint` is the one boundary
where errors become answers, on paths that exist and on those that do not.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from django.conf import settings
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from apps.core.errors import ConductorError
from apps.gateway.adapters import DjangoBackend
from apps.gateway.catalogue import Models
from apps.gateway.chat import ChatCompletions
from apps.gateway.errors import (
    ClientGone,
    MethodNotAllowed,
    NoSuchEndpoint,
    failure_of_error,
)
from apps.gateway.exchange import Exchange
from apps.gateway.ports import Backend
from apps.gateway.pump import StreamTiming
from apps.gateway.responses.routes import response_handlers
from apps.gateway.starting import Starter

COMPLETIONS = "/v1/chat/completions"
EXPOSED_HEADERS = (
    "idempotent-replayed",
    "openai-processing-ms",
    "retry-after",
    "x-conductor-cost-usd",
    "x-conductor-overhead-ms",
    "x-conductor-run-id",
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
Handler = Callable[[Exchange], Awaitable[None]]
logger = logging.getLogger(__name__)


def create_app(
    backend: Backend | None = None, timing: StreamTiming | None = None
) -> Starlette:
    """Return the application; tests bring their own backend and timing."""
    backend = backend or DjangoBackend()
    starter = Starter(backend)
    timing = timing or StreamTiming()
    chat = ChatCompletions(backend, starter, timing)
    responses = response_handlers(backend, starter, timing)
    models = Models(backend)
    completions = Endpoint({"POST": chat.post})
    app = Starlette(
        routes=[
            Route(COMPLETIONS, completions),
            *[Route(path, Endpoint(found)) for path, found in responses.items()],
            Route("/v1/models", Endpoint({"GET": models.list})),
            Route("/v1/models/{model_id:path}", Endpoint({"GET": models.retrieve})),
        ]
    )
    # A redirect would turn a POST into a GET, and the client would see no error.
    app.router.redirect_slashes = False
    app.router.default = Endpoint({})
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

    def __init__(self, known: Mapping[str, Endpoint], router: ASGIApp) -> None:
        self._known = known
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        find = self._known.get(scope["path"], self._router)
        await find(scope, receive, send)


class Endpoint:
    """One path: picks the handler of the method and turns its errors into answers."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = dict(handlers)
        if "GET" in self._handlers:
            self._handlers["HEAD"] = self._handlers["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 4404, "reason": ""})
            return
        exchange = Exchange(scope, receive, send)
        try:
            await self._handle(exchange)
        except ConductorError as error:
            await exchange.send_failure(failure_of_error(error))
        except ClientGone:
            logger.debug("request %s: client gone", exchange.request_id.decode())
        except Exception:  # the boundary: whatever happened, answer in shape
            logger.exception(
                "request %s failed (run %s)",
                exchange.request_id.decode(),
                exchange.run_id,
            )
            await exchange.send_internal_failure()

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
            raise NoSuchEndpoint(f"there is nothing at {path!r}")
