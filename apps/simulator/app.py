"""The ASGI application: routes, the key, counts, and one answer per request."""

from __future__ import annotations

import hmac
from collections import Counter
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from apps.simulator import models, request, wire
from apps.simulator.connection import BodyTooLarge, ClientGone, Connection
from apps.simulator.exchange import Exchange
from apps.simulator.faults import faults

BASE_PATH = "/v1"


def create_app(speed: float = 1.0, seed: int = 0, api_key: str = "") -> ASGIApp:
    """Return a simulator as an ASGI application.

    `speed` multiplies the pace of every model; 0 means that nothing waits. `seed`
    decides which questions workers get wrong. With `api_key` every call needs it.
    """
    return Simulator(speed=speed, seed=seed, api_key=api_key)


class Simulator:
    """Serves simulated models and counts what is asked of them."""

    def __init__(self, *, speed: float, seed: int, api_key: str) -> None:
        if speed < 0:
            raise ValueError(f"speed: expected 0 or more, got {speed!r}")
        self._speed = speed
        self._seed = seed
        self._bearer = f"Bearer {api_key}".encode() if api_key else b""
        self._faults = faults()
        self._names = (*models.NAMES, *self._faults)
        self._requests: Counter[str] = Counter()
        self._in_flight = 0
        self._disconnected = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self._serve(Connection(scope, receive, send))

    async def _serve(self, connection: Connection) -> None:
        self._in_flight += 1
        try:
            with connection:
                await self._route(connection)
        except ClientGone:
            self._disconnected += 1
        finally:
            self._in_flight -= 1

    async def _route(self, connection: Connection) -> None:
        method, path = connection.scope["method"], connection.scope["path"]
        if path == "/healthz":
            await connection.respond_json(200, {"status": "ok"})
        elif not self._is_allowed(connection):
            await _refuse_key(connection)
        elif path == f"{BASE_PATH}/chat/completions":
            await self._chat(connection, method)
        elif method != "GET":
            await _not_found(connection, f"{method} {path} does not exist")
        elif path == f"{BASE_PATH}/stats":
            await connection.respond_json(200, self._stats())
        else:
            await self._list_models(connection, path)

    def _is_allowed(self, connection: Connection) -> bool:
        if not self._bearer:
            return True
        return hmac.compare_digest(connection.header(b"authorization"), self._bearer)

    async def _list_models(self, connection: Connection, path: str) -> None:
        prefix = f"{BASE_PATH}/models"
        name = path.removeprefix(f"{prefix}/")
        if path == prefix:
            data = [_model(known) for known in self._names]
            await connection.respond_json(200, {"object": "list", "data": data})
        elif path != name and (name in self._names or models.find(name)):
            await connection.respond_json(200, _model(name))
        else:
            await _not_found(connection, f"GET {path} does not exist")

    async def _chat(self, connection: Connection, method: str) -> None:
        if method != "POST":
            message = "Only POST is allowed here."
            await _fail(connection, 405, message, "method_not_allowed")
            return
        try:
            body = await connection.body()
            asked = request.read(body)
        except BodyTooLarge:
            message = "The request body is too large."
            await _fail(connection, 413, message, "request_too_large")
        except request.BadRequest as exc:
            await _fail(connection, 400, exc.message, "invalid_value", exc.param)
        else:
            await self._answer(Exchange(connection, asked, body, speed=self._speed))

    async def _answer(self, exchange: Exchange) -> None:
        name = exchange.request.model
        fault = self._faults.get(name)
        model = None if fault else models.find(name)
        if fault is None and model is None:
            message = f"The model {name!r} does not exist."
            await _fail(exchange.connection, 404, message, "model_not_found", "model")
            return
        self._requests[name] += 1
        if fault is not None:
            await fault(exchange, self._seed)
        elif model is not None:
            await exchange.answer(model(exchange.request, self._seed))

    def _stats(self) -> dict[str, Any]:
        return {
            "requests": dict(self._requests),
            "total": self._requests.total(),
            "in_flight": self._in_flight - 1,  # this request does not count itself
            "disconnected": self._disconnected,
        }


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "simulator"}


async def _fail(
    connection: Connection,
    status: int,
    message: str,
    code: str,
    param: str | None = None,
) -> None:
    body = wire.error(message, kind="invalid_request_error", code=code, param=param)
    await connection.respond_json(status, body)


async def _not_found(connection: Connection, message: str) -> None:
    await _fail(connection, 404, message, "not_found")


async def _refuse_key(connection: Connection) -> None:
    body = wire.error(
        "Incorrect API key provided.",
        kind="invalid_request_error",
        code="invalid_api_key",
    )
    headers = ((b"www-authenticate", b"Bearer"),)
    await connection.respond_json(401, body, headers)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
