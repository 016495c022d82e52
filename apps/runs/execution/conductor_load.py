"""Tracks how many requests wait at the conductors' servers, and sheds load.

For servers that show vLLM's metrics. A conductor that is in use is looked after in the
background: its server is asked at most once in `READ_S`, and not at all once no run has
planned with it for `IDLE_S`. So a call to it costs a look into memory. Where nothing is
known, or nothing fresh, calls go out. Of one process and its event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace

from apps.engine.errors import CallFailed, CallFault
from apps.engine.ports import CONDUCTOR, Call, CallEnd, Delta
from apps.llm.errors import LlmError
from apps.llm.types import Endpoint, Timeouts
from apps.llm.vllm_metrics import ServerLoad, metrics_url
from apps.runs.execution.endpoint_client import EndpointClient

READ_S = 1.0
"""From one reading's end to the next."""
READ_LIMITS = Timeouts(connect_s=1.0, first_byte_s=2.0, idle_s=2.0, total_s=2.0)
FRESH_S = 5.0
"""An older reading says nothing any more."""
IDLE_S = 10.0
BLIND_S = 60.0
"""How long a server that shows no metrics is not asked again."""

PASSING = frozenset(
    {
        CallFault.CONNECT,
        CallFault.FIRST_BYTE_TIMEOUT,
        CallFault.IDLE_TIMEOUT,
        CallFault.TOTAL_TIMEOUT,
        CallFault.SERVER_ERROR,
        CallFault.INCOMPLETE,
    }
)
"""Faults after which a server may show its metrics the next time."""

Read = Callable[[Endpoint], Awaitable[ServerLoad]]
Key = tuple[str, str | None, tuple[tuple[str, str], ...]]
"""Where and with which secrets: who has the same may know the same."""


@dataclass(slots=True)
class _Watch:
    """A server that is looked after."""

    endpoint: Endpoint
    used_at: float
    read_at: float = float("-inf")
    load: ServerLoad | None = None
    begun: int = 0
    """Calls that this process let out since the reading."""
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class LoadMonitor:
    """The queues of one process's conductors."""

    def __init__(
        self,
        read: Read,
        max_queue: int,
    ) -> None:
        self._read = read
        self._max_queue = max_queue
        self._loop = asyncio.get_running_loop()
        self._watches: dict[Key, _Watch] = {}

    def admit(self, endpoint: Endpoint) -> int:
        """Return 0 if a call may go out, else how many requests wait already.

        Never waits and never fails; without a limit it does nothing at all.
        """
        if not self._max_queue:
            return 0
        url = metrics_url(endpoint)
        if url is None:
            return 0
        now = self._loop.time()
        key = (url, endpoint.api_key, endpoint.extra_headers)
        watch = self._watches.get(key)
        if watch is None:
            watch = self._watches[key] = _Watch(endpoint, now)
            watch.task = self._loop.create_task(self._look_after(key, watch))
        watch.used_at = now
        load = watch.load
        if load is None or now - watch.read_at > FRESH_S:
            return 0
        # Behind a queue, whatever has gone out since the reading waits as well.
        waiting = load.waiting + watch.begun if load.waiting else 0
        if waiting > self._max_queue:
            return waiting
        watch.begun += 1
        return 0

    @property
    def max_queue(self) -> int:
        """Return how many requests may wait; 0: any number."""
        return self._max_queue

    def loads(self) -> list[ServerLoad]:
        """Return the fresh readings of all servers that are looked after."""
        now = self._loop.time()
        return [
            watch.load
            for watch in list(self._watches.values())
            if watch.load is not None and now - watch.read_at <= FRESH_S
        ]

    async def close(self) -> None:
        """Stop looking."""
        tasks = [watch.task for watch in self._watches.values() if watch.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look_after(self, key: Key, watch: _Watch) -> None:
        endpoint = replace(watch.endpoint, timeouts=READ_LIMITS)
        try:
            while self._loop.time() - watch.used_at <= IDLE_S:
                pause_s = await self._look(endpoint, watch)
                await asyncio.sleep(pause_s)
        finally:
            self._watches.pop(key, None)

    async def _look(self, endpoint: Endpoint, watch: _Watch) -> float:
        """Take a reading; return for how long to leave the server in peace."""
        begun = watch.begun
        try:
            load = await self._read(endpoint)
        except LlmError as exc:
            # One that is gone for a moment is asked again soon, one that is no vLLM
            # is not; the call itself says what is wrong with it.
            return READ_S if exc.fault in PASSING else BLIND_S
        watch.load, watch.read_at = load, self._loop.time()
        watch.begun -= begun
        return READ_S


@dataclass(frozen=True, slots=True)
class LoadGuard:
    """Calls the models of one pool, its conductor only where the queue is short."""

    model_client: EndpointClient
    queues: LoadMonitor

    def stream(self, call: Call) -> AsyncGenerator[Delta | CallEnd, None]:
        """Yield the answer, then its end; see `engine.ports.ModelClient`."""
        if call.worker == CONDUCTOR:
            endpoint = self.model_client.endpoints[CONDUCTOR]
            if waiting := self.queues.admit(endpoint):
                return _refuse(endpoint.name, waiting, self.queues.max_queue)
        return self.model_client.stream(call)


async def _refuse(
    name: str, waiting: int, max_queue: int
) -> AsyncGenerator[Delta | CallEnd, None]:
    raise CallFailed(
        CallFault.QUEUE_FULL,
        f"{name!r}: {waiting} requests wait at its server, more than {max_queue}",
    )
    yield  # never reached; it makes this an iterator
