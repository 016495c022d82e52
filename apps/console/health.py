"""How a team's workers are doing: what runs met lately, and what the last test said."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.utils import timezone

from apps.pools.models import Worker
from apps.runs.selectors import worker_calls

WINDOW = timedelta(hours=24)
DEGRADED_SHARE, FAILING_SHARE = 0.05, 0.5
"""Share of calls that failed, from which a worker counts as such."""


class HealthState(StrEnum):
    """How a worker is doing."""

    UNTESTED = "untested"
    """Nobody called or tested it."""
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    """Some calls fail."""
    FAILING = "failing"
    """Most calls fail, or the test did and no call since tells otherwise."""
    DISABLED = "disabled"
    """Plans do not use it."""


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """A worker's state, and why."""

    state: HealthState
    calls: int
    """Of runs, in the last day."""
    failures: int
    latency_ms: int | None
    """Median of those calls, else of the last test; None: unknown."""
    last_test: Mapping[str, Any] | None

    @property
    def why(self) -> str:
        """Return what the state rests on, in words."""
        if self.calls:
            calls = f"{self.calls:,} call{'' if self.calls == 1 else 's'} in a day"
            return f"{calls}, {self.failures:,} failed"
        if self.last_test is None:
            return "never called or tested"
        return "last test worked" if self.last_test.get("ok") else "last test failed"


def worker_health(
    team_id: uuid.UUID, workers: Iterable[Worker]
) -> dict[uuid.UUID, WorkerHealth]:
    """Return the health of these workers of a team, by id."""
    calls = worker_calls(team_id, timezone.now() - WINDOW)
    nothing = (0, 0, None)
    return {each.id: _health(each, *calls.get(each.name, nothing)) for each in workers}


def _health(
    worker: Worker, calls: int, failures: int, latency_ms: int | None
) -> WorkerHealth:
    test: Mapping[str, Any] | None = worker.last_test or None
    if latency_ms is None and test is not None:
        latency_ms = test.get("latency_ms")
    state = _state(worker, calls, failures, test)
    return WorkerHealth(state, calls, failures, latency_ms, test)


def _state(
    worker: Worker, calls: int, failures: int, test: Mapping[str, Any] | None
) -> HealthState:
    if not worker.is_enabled:
        return HealthState.DISABLED
    if calls:
        share = failures / calls
        if share >= FAILING_SHARE:
            return HealthState.FAILING
        return HealthState.DEGRADED if share >= DEGRADED_SHARE else HealthState.HEALTHY
    if test is None:
        return HealthState.UNTESTED
    return HealthState.HEALTHY if test.get("ok") else HealthState.FAILING
