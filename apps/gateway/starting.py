"""From a checked request to a run: rates, scopes, continuation, idempotency.

Both ways of asking, chat completions and responses, begin here, and only here.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.budgets.rates import TokenMeter
from apps.engine.ports import CallParams, Messages
from apps.gateway.access import DIRECT_SCOPE, RUN_SCOPE, pass_rates, require_scope
from apps.gateway.exchange import Exchange
from apps.gateway.idempotency import Begin, KeyedRuns, idempotency_key
from apps.gateway.ports import Backend
from apps.gateway.sharing import Started, begun
from apps.gateway.tool_calls import continued_run
from apps.gateway.turnstile import Turnstile
from apps.runs.types import (
    NOT_NARROWED,
    Delivery,
    LiveRun,
    Narrowing,
    RunOrder,
    RunRecord,
)

SOURCE = "api"
DIRECT_PREFIX = "worker/"
MAX_USER_AGENT = 200
"""Characters of the client's user agent that the ledger keeps."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for, checked; the same for both ways of asking."""

    model: str
    prompt: str
    messages: Messages = ()
    """Empty: there is nothing but `prompt`."""
    params: CallParams = field(default_factory=CallParams)
    is_streamed: bool = False
    delivery: Delivery | None = None
    """None: as the key or the tier says."""
    narrowing: Narrowing = NOT_NARROWED
    ignored: str = ""
    """Names of the fields that had no effect, for the ledger."""
    is_background: bool = False
    """True: the run goes on when its client leaves."""
    echo: Mapping[str, Any] = field(default_factory=dict)
    """What the answer gives back of its request."""


class Starter:
    """Starts runs, or finds those that the same request has started before."""

    def __init__(self, backend: Backend, turnstile: Turnstile) -> None:
        self._backend = backend
        self._turnstile = turnstile
        self._keyed = KeyedRuns(backend)

    async def start(
        self, exchange: Exchange, holder: KeyHolder, asked: Asked, raw_body: bytes
    ) -> Started:
        """Return the run of a request.

        Whoever stops waiting for it says so with `Started.leave`. Raises: NotAllowed,
        RateLimited, InvalidInput, IdempotencyConflict; what `Backend.start_run` raises.
        """
        key = idempotency_key(exchange)
        require_scope(holder, RUN_SCOPE)
        if asked.model.startswith(DIRECT_PREFIX):
            require_scope(holder, DIRECT_SCOPE)
        meter = await pass_rates(exchange, holder, asked.prompt)
        continues = await self._asking_worker(holder, asked.messages)
        order = _order(exchange, holder, asked, meter, continues)
        begin = self._begin_of(asked)
        if key is None:
            started = begun(await begin(order, None))
        else:
            # Another API key may be allowed less: it is not told what this one asked.
            head = f"{exchange.scope['path']}\n{holder.key_id}\n".encode()
            digest = hashlib.sha256(head + raw_body).digest()
            started = await self._keyed.start(order, key, digest, begin)
        started.is_background = asked.is_background
        exchange.run_id = started.run_id
        if started.is_joined:
            exchange.extra_headers = [
                *exchange.extra_headers,
                (b"idempotent-replayed", b"true"),
            ]
        return started

    def _begin_of(self, asked: Asked) -> Begin:
        # Who does not stay with a run must find it when they come back. A stream waits
        # for the record by itself, and must not miss what happens until then.
        if asked.is_background and not asked.is_streamed:
            begin: Begin = self._backend.start_aside
        else:
            begin = self._backend.start_run

        async def begin_in_turn(
            order: RunOrder, run_id: uuid.UUID | None
        ) -> LiveRun | RunRecord:
            await self._turnstile.enter()
            return await begin(order, run_id)

        return begin_in_turn

    async def _asking_worker(self, holder: KeyHolder, messages: Messages) -> str:
        run_id = continued_run(messages)
        if run_id is None:
            return ""
        return await self._backend.asking_worker(holder.team_id, run_id)


def _order(
    exchange: Exchange,
    holder: KeyHolder,
    asked: Asked,
    meter: TokenMeter | None,
    continues: str,
) -> RunOrder:
    return RunOrder(
        team_id=holder.team_id,
        actor=Actor(type="api_key", id=str(holder.key_id), display=holder.display),
        prompt=asked.prompt,
        model=asked.model,
        source=SOURCE,
        params=asked.params,
        is_streamed=asked.is_streamed,
        is_watched=asked.is_streamed,
        user_id=holder.created_by_id,
        api_key_id=holder.key_id,
        context=_context(exchange, asked),
        narrowing=asked.narrowing,
        allowed_tiers=holder.allowed_tiers,
        allowed_workers=holder.allowed_workers,
        meter=meter,
        messages=asked.messages,
        continues=continues,
        delivery=asked.delivery or holder.delivery,
        echo=asked.echo,
    )


def _context(exchange: Exchange, asked: Asked) -> dict[str, str]:
    context = {"request_id": exchange.request_id.decode("ascii")}
    if client := exchange.scope.get("client"):
        context["address"] = client[0]
    if agent := exchange.headers.get(b"user-agent"):
        context["user_agent"] = agent.decode("latin-1")[:MAX_USER_AGENT]
    if asked.ignored:
        context["ignored_fields"] = asked.ignored
    return context
