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
        checkpoints, maintenance = CheckpointThread(), MaintenanceThread(executor)
        frequent = MaintenanceThread(executor, FREQUENT_JOBS, every_s=QUEUE_EVERY_S)
        alerts = MaintenanceThread(executor, ALERT_JOBS, every_s=ALERT_EVERY_S)
        sums = MaintenanceThread(executor, SUM_JOBS, every_s=SUM_EVERY_S)
        search = MaintenanceThread(executor, SEARCH_JOBS, every_s=QUEUE_EVERY_S)
        checks = JobThread("full-checks", full_check_take, full_checks_order_due)
        exports = JobThread("ledger-exports", export_take)
        evaluations = JobThread("evaluations", partial(evaluation_take, kind))
        shadows = JobThread("shadow-tests", partial(shadow_take, kind))
        trainings = JobThread(
            "trainings", lambda: training_take() or conductor_gate_take()
        )
        conductors = JobThread(
            "conductor-trainings", partial(conductor_training_take, kind)
        )
        trials = JobThread("policy-trials", policy_trial_take, policy_trials_end_lost)
        webhooks = DeliveryThread()
        stack.push_async_callback(asyncio.to_thread, checkpoints.close)
        stack.push_async_callback(asyncio.to_thread, maintenance.close)
        stack.push_async_callback(asyncio.to_thread, frequent.close)
        stack.push_async_callback(asyncio.to_thread, alerts.close)
        stack.push_async_callback(asyncio.to_thread, sums.close)
        stack.push_async_callback(asyncio.to_thread, search.close)
        stack.push_async_callback(asyncio.to_thread, checks.close)
        stack.push_async_callback(asyncio.to_thread, exports.close)
        stack.push_async_callback(asyncio.to_thread, evaluations.close)
        stack.push_async_callback(asyncio.to_thread, shadows.close)
        stack.push_async_callback(asyncio.to_thread, trainings.close)
        stack.push_async_callback(asyncio.to_thread, conductors.close)
        stack.push_async_callback(asyncio.to_thread, trials.close)
        stack.push_async_callback(asyncio.to_thread, webhooks.close)
        stack.push_async_callback(end_runs, executor)
        yield executor
