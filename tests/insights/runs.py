"""Runs for tests of insights: rows as an execution leaves them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apps.core.ids import first_id
from apps.runs.models import Run
from apps.runs.selectors import shape_of
from tests.conftest import Cast
from tests.runs.test_usage import ran, step

PARALLEL = [
    {"worker": "alpha", "access": [], "state": "completed"},
    {"worker": "beta", "access": [], "state": "completed"},
    {"worker": "gamma", "access": [0, 1], "state": "completed"},
]
FAULT = {
    "stage": "step",
    "fault": "rate_limited",
    "worker": "beta",
    "cost": 40,
    "rescue": "retry",
}
LOOP = {
    "stage": "loop",
    "fault": "repeated_subtask",
    "worker": "alpha",
    "cost": 30,
    "rescue": "none",
}
_count = iter(range(1, 1_000_000))


def answered(cast: Cast, at: datetime, **fields: Any) -> Run:
    """Put a run with two steps on record, which began then and has its answer."""
    values: dict[str, Any] = {
        "id": type(first_id(at))(int=first_id(at).int + next(_count)),
        "planner": "language_model",
        "plan": PARALLEL,
        "latency_ms": 2_000,
        "first_token_ms": 400,
        "asked_tokens": 20,
        "answer_tokens": 10,
        "findings": [],
        "finished_at": at,
        **fields,
    }
    access = [each["access"] for each in values["plan"]]
    values.setdefault("shape", shape_of(access).key)
    run = ran(cast, at, **values)
    step(run, "alpha", 0)
    step(run, "beta", 1)
    step(run, "gamma", 2, latency_ms=900)
    return run
