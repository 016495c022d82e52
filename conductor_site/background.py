"""Worker processes and the beat: `python -m conductor_site.worker`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import AsyncExitStack

from celery.beat import Service
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from apps.audit.writer_process import fork_writer
from apps.runs.execution.executor import Executor, close_executor
from apps.runs.models import ProcessKind
from conductor_site.bootstrap import faults_in_lines
from conductor_site.celery import app
from conductor_site.celery_consumer import CeleryConsumer
from conductor_site.metrics import MetricsPort
from conductor_site.runtime import open_runtime
from conductor_site.shutdown_deadline import CLOSE_S, end_within

__all__ = ["beat", "execute_runs", "fork_writer"]
logger = logging.getLogger(__name__)
STOPS = (signal.SIGTERM, signal.SIGINT)


async def execute_runs() -> None:
    """Execute runs until a signal. Call it on a fresh event loop.

    Raises: DatabaseError if there is no database to begin with.
    """
    port = MetricsPort()
    with faults_in_lines():
        await port.open()
    async with AsyncExitStack() as stack:
        consumer = CeleryConsumer() if settings.REDIS_URL else None
        if consumer is not None:
            # Last of all: a broker that does not answer delays nothing else.
            stack.push_async_callback(asyncio.to_thread, consumer.join)
        stack.push_async_callback(port.close)
        runtime = open_runtime(ProcessKind.WORKER, _close_in_time)
        executor = await stack.enter_async_context(runtime)
        end = _End(executor)
        if consumer is not None:
            consumer.start()
            stack.callback(consumer.stop)
        logger.info("worker process: executing runs")
        await _sweep(executor)
        await end.asked.wait()
        logger.info(
            "worker process: waiting for %d runs to end", len(executor.live_ids)
        )
    logger.info("worker process: stopped")


def beat() -> None:
    """Send the tasks that are due, until a signal."""
    if not settings.REDIS_URL:
        sys.exit("error: REDIS_URL is not set, so there is no worker to remind")
    for number in STOPS:
        signal.signal(number, lambda *_: sys.exit(0))
    logger.info("beat: sending tasks")
    # Its own default keeps a file in the working folder, whatever the settings say.
    Service(app, scheduler_cls=app.conf.beat_scheduler).start()


async def _close_in_time(executor: Executor) -> None:
    await close_executor(settings.WORKER_DRAIN_S)


async def _sweep(executor: Executor) -> None:
    """Begin with what has been left; if the database is away the next sweep does."""
    try:
        await executor.lease_keeper.sweep()
    except (DatabaseError, InterfaceError) as exc:
        logger.warning("worker process: first sweep failed: %s", exc)


class _End:
    """How signals end a worker: in order, sooner, or at once."""

    def __init__(self, executor: Executor) -> None:
        self.asked = asyncio.Event()
        self._executor = executor
        self._dropping: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        for number in STOPS:
            loop.add_signal_handler(number, self._hear)

    def _hear(self) -> None:
        if not self.asked.is_set():
            self.asked.set()
            end_within(settings.WORKER_DRAIN_S + CLOSE_S)
        elif self._dropping is None:
            # The drain has nothing more to wait for then.
            self._dropping = asyncio.create_task(self._executor.drop_all())
            end_within(CLOSE_S)
        else:
            os._exit(1)  # others take its runs when its lease has run out
