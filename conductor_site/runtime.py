"""The parts that web and worker processes share, opened and closed as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from apps.audit.browsing.full_checks import full_check_take, full_checks_order_due
from apps.audit.checkpoints.thread import CheckpointThread
from apps.audit.exports.jobs import export_take
from apps.audit.jobs import JobThread
from apps.audit.writer_process import open_writer
from apps.evaluation.jobs import evaluation_take
from apps.evaluation.shadow.jobs import shadow_take
from apps.governance.trials.jobs import policy_trial_take, policy_trials_end_lost
from apps.runs.execution.executor import Executor, open_executor
from apps.runs.models import ProcessKind
from apps.training.conductor.jobs import conductor_gate_take, conductor_training_take
from apps.training.trainings.jobs import training_take
from apps.webhooks.delivery_thread import DeliveryThread
from conductor_site.maintenance import (
    ALERT_EVERY_S,
    ALERT_JOBS,
    FREQUENT_JOBS,
    QUEUE_EVERY_S,
    SEARCH_JOBS,
    SUM_EVERY_S,
    SUM_JOBS,
    MaintenanceThread,
)
from conductor_site.runtime_tuning import tune_interpreter


@asynccontextmanager
async def open_runtime(
    kind: ProcessKind, end_runs: Callable[[Executor], Awaitable[None]]
) -> AsyncIterator[Executor]:
    """Open the ledger's writer, the executor and the regular jobs on this loop.

    On leaving, `end_runs` closes the executor and the writer as the process needs it;
    then the jobs end, and the last entry gets its checkpoint. Raises: DatabaseError;
    RuntimeError if another process serves the same database.
    """
    tune_interpreter()
    await open_writer()
    async with AsyncExitStack() as stack:
        executor = await open_executor(kind)
        for close in (
            CheckpointThread().close,
            *(thread.close for thread in _maintenance_threads(executor)),
            *(thread.start().close for thread in _job_threads(kind)),
            DeliveryThread().close,
        ):
            stack.push_async_callback(asyncio.to_thread, close)
        stack.push_async_callback(end_runs, executor)
        yield executor


def _maintenance_threads(executor: Executor) -> tuple[MaintenanceThread, ...]:
    """Return the threads for what a process does at regular times; they have begun."""
    return (
        MaintenanceThread(executor),
        MaintenanceThread(executor, FREQUENT_JOBS, every_s=QUEUE_EVERY_S),
        MaintenanceThread(executor, ALERT_JOBS, every_s=ALERT_EVERY_S),
        MaintenanceThread(executor, SUM_JOBS, every_s=SUM_EVERY_S),
        MaintenanceThread(executor, SEARCH_JOBS, every_s=QUEUE_EVERY_S),
    )


def _job_threads(kind: ProcessKind) -> tuple[JobThread, ...]:
    """Return the threads for the jobs that a process of this kind takes."""
    return (
        JobThread("full-checks", full_check_take, full_checks_order_due),
        JobThread("ledger-exports", export_take),
        JobThread("evaluations", partial(evaluation_take, kind)),
        JobThread("shadow-tests", partial(shadow_take, kind)),
        JobThread("trainings", lambda: training_take() or conductor_gate_take()),
        JobThread("conductor-trainings", partial(conductor_training_take, kind)),
        JobThread("policy-trials", policy_trial_take, policy_trials_end_lost),
    )
