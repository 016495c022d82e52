"""The engine's ports over the ledger and the wire protocols.

The only bridge between the engine and Django: what needs the ORM goes through a thread
here, and nowhere else in this app.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from channels.db import database_sync_to_async

from apps.audit.types import Actor, Batch, EntryDraft
from apps.audit.writer import get_writer
from apps.core.single_flight import SingleFlight
from apps.engine import events as ev
from apps.engine.codec import encode
from apps.engine.errors import CallFailed, CallFault
from apps.engine.ports import Call, CallEnd, Delta
from apps.engine.usage import Usage
from apps.llm.chat import ChatClient
from apps.llm.errors import LlmError
from apps.llm.types import ChatRequest, Endpoint, Finish
from apps.pools.selectors import peek_snapshot, pool_snapshot
from apps.pools.types import PoolSnapshot
from apps.runs.projection import RunProjection
from apps.runs.types import RunOrder

SUBJECT = "run"
_OUTCOMES = {
    ev.PlanCallFailed.action: "failure",
    ev.PlanRejectedEvent.action: "failure",
    ev.StepAttemptFailed.action: "failure",
    ev.StepFailed.action: "failure",
    ev.RunFailed.action: "failure",
    ev.RunCancelled.action: "cancelled",
}
_BY_CALLER = frozenset({ev.RunCreated.action, ev.RunCancelled.action})
"""What a person or key does; everything else the service does for them."""


class LedgerRecorder:
    """Records one run's events in its team's chain, with the rows they change."""

    def __init__(
        self, run_id: uuid.UUID, order: RunOrder, projection: RunProjection
    ) -> None:
        self._run_id = run_id
        self._order = order
        self._projection = projection
        self._service = Actor(
            "service", "conductor", "Conductor", on_behalf_of=order.actor.display
        )
        self.stopped_by: Actor | None = None
        """Who cancelled the run, if not its owner."""

    async def record(self, *events: ev.Event) -> None:
        """Return once the events are durable; see `engine.ports.Recorder`."""
        batch = Batch(
            self._order.team_id,
            tuple([self._draft(event) for event in events]),
            self._projection.writes(events),
        )
        future = get_writer().post(batch)
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            future.result()
            raise

    def _draft(self, event: ev.Event) -> EntryDraft:
        record = encode(event)
        action = record.action
        return EntryDraft(
            action,
            SUBJECT,
            self._run_id,
            self._actor(action),
            record.data,
            record.bodies,
            _OUTCOMES.get(action, "success"),
            self._order.context if action == ev.RunCreated.action else {},
        )

    def _actor(self, action: str) -> Actor:
        if action not in _BY_CALLER:
            return self._service
        return self.stopped_by or self._order.actor


@dataclass(frozen=True, slots=True)
class EndpointCaller:
    """Calls the models of one pool."""

    client: ChatClient
    endpoints: Mapping[str, Endpoint]

    async def stream(self, call: Call) -> AsyncGenerator[Delta | CallEnd, None]:
        """Yield the answer, then its end; see `engine.ports.WorkerCaller`."""
        endpoint = self.endpoints[call.worker]
        params = call.params
        request = ChatRequest(
            call.messages,
            params.max_tokens,
            params.temperature,
            params.top_p,
            params.stop,
            params.seed,
            params.response_format,
        )
        try:
            if not call.is_streamed:
                whole, finish = await self.client.complete(endpoint, request)
                yield Delta(whole.text, whole.reasoning)
                yield _end(finish)
                return
            async with aclosing(self.client.stream(endpoint, request)) as stream:
                async for item in stream:
                    if isinstance(item, Finish):
                        yield _end(item)
                    else:
                        yield Delta(item.text, item.reasoning)
        except LlmError as exc:
            raise CallFailed(
                CallFault(exc.fault), exc.message, retry_after_s=exc.retry_after_s
            ) from exc


def _end(finish: Finish) -> CallEnd:
    usage = finish.usage
    return CallEnd(
        None
        if usage is None
        else Usage(
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
        ),
        finish.finish_reason,
        finish.model,
    )


class PoolLoader:
    """Loads pools without blocking the loop; runs that begin together share a read."""

    def __init__(self) -> None:
        self._reads: SingleFlight[tuple[uuid.UUID, str | None], PoolSnapshot] = (
            SingleFlight(_read_snapshot)
        )

    async def load(self, team_id: uuid.UUID, pool: str | None) -> PoolSnapshot:
        """Return a pool, None: the default one. Raises: NotFound, PoolUnusable."""
        known = peek_snapshot(team_id, pool)
        return known or await self._reads.get((team_id, pool))


async def _read_snapshot(key: tuple[uuid.UUID, str | None]) -> PoolSnapshot:
    read: PoolSnapshot = await database_sync_to_async(pool_snapshot)(*key)
    return read
