"""The ASGI application: routes, the key, counts, and one answer per request."""

from __future__ import annotations

import hmac
from collections import Counter
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from apps.simulator import embedding, models
from apps.simulator.connection import BodyTooLarge, Connection, ConnectionGone
from apps.simulator.exchange import SimulatedExchange
from apps.simulator.faults import FaultyModels
from apps.simulator.problems import Kind, Problem
from apps.simulator.request import InvalidRequest
from apps.simulator.surfaces import surface_of
from apps.simulator.surfaces.base import ApiPath, SimulatedCall, Surface
from apps.simulator.tiny_conductor.serving import TinyConductor

STATS_PATH = "/v1/stats"


def create_app(
    speed: float = 1.0,
    seed: int = 0,
    api_key: str = "",
    tiny_conductor: TinyConductor | None = None,
) -> ASGIApp:
    """Return a simulator as an ASGI application.

    `speed` multiplies the pace of every model; 0 means that nothing waits. `seed`
    decides which questions workers get wrong. With `api_key` every call needs it.
    `tiny_conductor` has other weights than those that ship.
    """
    tiny = tiny_conductor or TinyConductor()
    return Simulator(speed=speed, seed=seed, api_key=api_key, tiny_conductor=tiny)


class Simulator:
    """Serves simulated models and counts what is asked of them."""

    def __init__(
        self, *, speed: float, seed: int, api_key: str, tiny_conductor: TinyConductor
    ) -> None:
        if speed < 0:
            raise ValueError(f"speed: expected 0 or more, got {speed!r}")
        self._speed = speed
        self._seed = seed
        self._api_key = api_key.encode()
        self._faults = FaultyModels()
        self._tiny = tiny_conductor
        own = (*models.NAMES, tiny_conductor.name, embedding.MODEL)
        self._names = (*own, *self._faults.names)
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
        except ConnectionGone:
            self._disconnected += 1
        finally:
            self._in_flight -= 1

    async def _route(self, connection: Connection) -> None:
        call = _call(connection.scope)
        surface = surface_of(call)
        place = surface.place(call)
        if call.path == "/healthz":
            await connection.respond_json(200, {"status": "ok"})
        elif not hmac.compare_digest(
            surface.key(call).encode() if self._api_key else b"", self._api_key
        ):
            problem = Problem(Kind.UNAUTHORIZED, "Incorrect API key provided.")
            await _fail(connection, surface, problem)
        elif place.kind == "chat":
            await self._chat(connection, surface, call, place)
        elif place.kind == "embeddings":
            await self._embed(connection, surface, call)
        elif call.path == STATS_PATH and call.method == "GET":
            await connection.respond_json(200, self._stats())
        else:
            await self._show_models(connection, surface, call, place)

    async def _show_models(
        self,
        connection: Connection,
        surface: Surface,
        call: SimulatedCall,
        place: ApiPath,
    ) -> None:
        is_known = place.name in self._names or self._is_found(place.name)
        try:
            if call.method == "GET" and place.kind == "models":
                await connection.respond_json(200, surface.models(self._names, call))
            elif call.method == "GET" and place.kind == "model" and is_known:
                await connection.respond_json(200, surface.model(place.name))
            else:
                message = f"{call.method} {call.path} does not exist"
                await _fail(connection, surface, Problem(Kind.NOT_FOUND, message))
        except InvalidRequest as exc:
            await _fail(connection, surface, _bad(exc))

    def _is_found(self, name: str) -> bool:
        return bool(self._faults.find(name) or models.find(name))

    async def _chat(
        self,
        connection: Connection,
        surface: Surface,
        call: SimulatedCall,
        place: ApiPath,
    ) -> None:
        if call.method != "POST":
            problem = Problem(Kind.METHOD, "Only POST is allowed here.")
            await _fail(connection, surface, problem)
            return
        try:
            body = await connection.body()
            asked = surface.read(call, place, body)
        except BodyTooLarge:
            problem = Problem(Kind.TOO_LARGE, "The request body is too large.")
            await _fail(connection, surface, problem)
        except InvalidRequest as exc:
            await _fail(connection, surface, _bad(exc))
        else:
            exchange = SimulatedExchange(
                connection, surface, asked, body, speed=self._speed
            )
            await self._answer(exchange)

    async def _embed(
        self, connection: Connection, surface: Surface, call: SimulatedCall
    ) -> None:
        try:
            if call.method != "POST":
                raise InvalidRequest("Only POST is allowed here.")
            answer = surface.embeddings(await connection.body())
        except InvalidRequest as exc:
            await _fail(connection, surface, _bad(exc))
        else:
            self._requests[embedding.MODEL] += 1
            await connection.respond_json(200, answer)

    async def _answer(self, exchange: SimulatedExchange) -> None:
        name = exchange.request.model
        if name == self._tiny.name:
            self._requests[name] += 1
            await self._tiny.answer(exchange)
            return
        fault = self._faults.find(name)
        model = None if fault else models.find(name)
        if fault is None and model is None:
            message = f"The model {name!r} does not exist."
            await exchange.refuse(Problem(Kind.NO_MODEL, message, "model"))
            return
        self._requests[name] += 1
        if fault is not None:
            await fault(exchange, self._seed)
        elif model is not None:
            await exchange.answer(models.ask(model, exchange.request, self._seed))

    def _stats(self) -> dict[str, Any]:
        return {
            "requests": dict(self._requests),
            "total": self._requests.total(),
            "in_flight": self._in_flight - 1,  # this request does not count itself
            "disconnected": self._disconnected,
        }


def _call(scope: Scope) -> SimulatedCall:
    query = scope.get("query_string", b"").decode("latin-1")
    headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
    fields = dict(parse_qsl(query)) if query else {}
    return SimulatedCall(scope["method"], scope["path"], fields, headers)


def _bad(exc: InvalidRequest) -> Problem:
    return Problem(Kind.BAD_REQUEST, exc.message, exc.param)


async def _fail(connection: Connection, surface: Surface, problem: Problem) -> None:
    failure = surface.failure(problem)
    await connection.respond_json(failure.status, failure.body, failure.headers)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
