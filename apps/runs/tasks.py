"""Celery tasks of worker processes, handed over to the event loop.

A worker process takes tasks in a thread beside its event loop. A task only hands over:
a run lasts for minutes, its task for a millisecond. Task names and arguments
are a contract between versions of the product that run side by side.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache

from celery import Celery, shared_task
from django.conf import settings
from django.utils.module_loading import import_string

from apps.core.errors import Overloaded
from apps.runs.coordination.run_notifier import RunNotifier
from apps.runs.execution.executor import Executor, get_executor

logger = logging.getLogger(__name__)
EXECUTE, SWEEP = "runs.execute", "runs.sweep"
AHEAD = 32
"""Tasks on their way to the event loop; more are left to other processes."""
FULL_POLL_S = 0.05
"""How often a process that is full looks whether it has room again."""


# --- for those who leave runs to the workers -----------------------------------------


def notify_of_run(run_id: uuid.UUID) -> None:
    """Notify a worker process of a run without an owner. Never blocks, never raises."""
    _waker().wake(run_id)


@cache
def _waker() -> RunNotifier:
    app: Celery = import_string(settings.TASK_APP)

    def tell(run_id: uuid.UUID) -> None:
        app.send_task(EXECUTE, [str(run_id)], retry=False)

    return RunNotifier(tell)


# --- for the workers -----------------------------------------------------------------


@shared_task(name=EXECUTE)  # type: ignore[untyped-decorator]
def run_execute_task(run_id: str) -> None:
    """Execute a run in this process, if it has no owner.

    Waits while the process is full, so that other processes get the next tasks.
    """
    executor = _executor_with_room()
    if executor is not None:
        _hand_over(executor, executor.claim(uuid.UUID(run_id)), f"run {run_id}")


@shared_task(name=SWEEP)  # type: ignore[untyped-decorator]
def run_sweep_task() -> None:
    """Take up runs without an owner, now."""
    executor = _executor_with_room()
    if executor is not None:
        _hand_over(executor, executor.lease_keeper.sweep(), "runs without an owner")


_ahead: set[Future[object]] = set()


def _executor_with_room() -> Executor | None:
    """Wait until a run could begin; None if this process executes none any more."""
    while True:
        try:
            executor = get_executor()
        except Overloaded:
            return None
        if len(_ahead) < min(AHEAD, executor.room):
            return executor
        time.sleep(FULL_POLL_S)


def _hand_over(
    executor: Executor, work: Coroutine[object, object, object], what: str
) -> None:
    future: Future[object] = asyncio.run_coroutine_threadsafe(work, executor.loop)
    _ahead.add(future)

    def forget(done: Future[object]) -> None:
        _ahead.discard(done)
        if not done.cancelled() and (failure := done.exception()) is not None:
            logger.warning("%s: left to the next sweep: %s", what, failure)

    future.add_done_callback(forget)
