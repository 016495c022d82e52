"""Delivers to webhooks, in a thread of each serving process with a loop of its own.

A look every second finds webhooks with something to deliver; one task for each claims
it. So a slow receiver delays no other one, and no two processes send to the same.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connections

from apps.llm.http import HttpTransport, open_transport
from apps.webhooks.feeding import deliveries_add
from apps.webhooks.sending import (
    attempt,
    attempts_store,
    messages_due,
    webhook_claim,
    webhook_release,
    webhooks_due,
)

logger = logging.getLogger(__name__)

LOOK_S = 1.0
MAX_TASKS = 50
"""Webhooks that a process delivers to at the same time."""
END_S = 5.0
"""How long to wait for attempts in progress at the end."""
T = TypeVar("T")


class DeliveryThread:
    """The thread that does it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the attempts in progress, which others repeat, and stop."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(END_S)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(deliver(self._stop))


async def deliver(stop: asyncio.Event, *, until_idle: bool = False) -> None:
    """Deliver until `stop` is set; with `until_idle` until nothing is due."""
    with ThreadPoolExecutor(1, "webhooks-database") as database:
        async with open_transport(
            allowed_networks=settings.WEBHOOK_NETWORKS,
            allowed_ports=settings.WEBHOOK_PORTS,
        ) as transport:
            work = _DeliveryLoop(database, transport)
            try:
                while not stop.is_set():
                    is_idle = await work.look()
                    if until_idle and is_idle:
                        return
                    await _wait(stop, 0.01 if until_idle else LOOK_S)
            finally:
                await work.close()
                await work.in_database(connections.close_all)


class _DeliveryLoop:
    """The deliveries of one process."""

    def __init__(self, database: ThreadPoolExecutor, transport: HttpTransport) -> None:
        self._database, self._transport = database, transport
        self._tasks: dict[uuid.UUID, asyncio.Task[None]] = {}

    async def in_database(self, work: Callable[..., T], *args: Any) -> T:
        """Do some work in the thread that has the connection to the database."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._database, partial(work, *args))

    async def look(self) -> bool:
        """Begin what is due; True: nothing is in progress."""
        try:
            for webhook_id in await self.in_database(_due):
                if webhook_id not in self._tasks and len(self._tasks) < MAX_TASKS:
                    task = asyncio.create_task(self._serve(webhook_id))
                    self._tasks[webhook_id] = task
                    task.add_done_callback(partial(self._forget, webhook_id))
        except (DatabaseError, InterfaceError) as exc:
            logger.warning("webhooks: the database is away: %s", exc)
        except Exception:  # the boundary of a thread: the next look may do better
            logger.exception("webhooks: none this time")
        return not self._tasks

    async def close(self) -> None:
        """End what is in progress."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, webhook_id: uuid.UUID, _: asyncio.Task[None]) -> None:
        del self._tasks[webhook_id]

    async def _serve(self, webhook_id: uuid.UUID) -> None:
        """Deliver to a webhook until nothing is due."""
        try:
            claim_id = await self.in_database(webhook_claim, webhook_id)
            if claim_id is None:
                return
            try:
                while await self._step(webhook_id, claim_id):
                    pass
            finally:
                released = self.in_database(webhook_release, webhook_id, claim_id)
                await asyncio.shield(released)  # also if the end comes meanwhile
        except (DatabaseError, InterfaceError) as exc:
            logger.warning("webhooks: the database is away: %s", exc)
        except Exception:  # the boundary of a task: others must get their turn
            logger.exception("webhooks: webhook %s broke off", webhook_id)

    async def _step(self, webhook_id: uuid.UUID, claim_id: uuid.UUID) -> bool:
        """Add deliveries and send some; False: there is nothing to do."""
        place = webhook_id, claim_id
        has_new = await self.in_database(deliveries_add, *place)
        due = await self.in_database(messages_due, *place)
        if due:
            sent = [attempt(self._transport, message) for _, message in due]
            seen = await asyncio.gather(*sent)
            pairs = [(each, one) for (each, _), one in zip(due, seen, strict=True)]
            await self.in_database(attempts_store, *place, pairs)
        return has_new or bool(due)


def _due() -> list[uuid.UUID]:
    close_old_connections()
    return webhooks_due()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
