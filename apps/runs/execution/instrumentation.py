"""Counts the runs of one process, and traces them where traces are collected.

What is observed is what listeners hear, durable events: the engine knows nothing of it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence

from apps.engine import events as ev
from apps.runs.execution.live_run import RunExecution
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.telemetry import metrics
from apps.runs.telemetry.loop_lag import sample_loop_lag
from apps.runs.telemetry.tracing import RunTrace, open_tracing


class Observer:
    """Follows every run that its executor begins."""

    def __init__(self) -> None:
        """Begin. Raises: ImproperlyConfigured if traces are wanted and can't be."""
        self._tracing = open_tracing()
        self._traces: dict[uuid.UUID, RunTrace] = {}
        self._sampler = asyncio.create_task(sample_loop_lag())

    def attach(
        self,
        execution: RunExecution,
        resolved: ResolvedModel,
        history: Sequence[ev.Event],
    ) -> None:
        """Follow a run from its first event here on."""
        # One that was only put on record begins here.
        is_new = all(isinstance(event, ev.RunCreated) for event in history)
        if history:
            metrics.CLAIMED.add(metrics.QUEUE if is_new else metrics.TAKE_OVER)
            if is_new:
                metrics.STARTED.add(resolved.tier)
        execution.listen(metrics.RunCounter(resolved.tier).hear)
        if self._tracing is not None:
            trace = self._tracing.follow(
                execution.id, execution.order, resolved, is_resumed=not is_new
            )
            self._traces[execution.id] = trace
            execution.listen(trace.hear)

    def leave(self, run_id: uuid.UUID) -> None:
        """Note that a run does not execute here any more."""
        if self._tracing is not None:
            self._traces.pop(run_id).leave()

    async def close(self) -> None:
        """Observe no more; send what is left to send."""
        self._sampler.cancel()
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.close)
