"""Counters of runs: their durable events, and calls of models.

`RunCounter` is a listener of one run. It counts what has been recorded, so a process
that dies has counted no more than what is on record. Labels are tiers, outcomes and
faults: words of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apps.core.metrics import LONG_S, SHORT_S, Counts, Histogram
from apps.engine import events as ev
from apps.runs.types import Signal

STARTED = Counts("runs_started", "Runs that began in this process.", ("tier",))
QUEUED = Counts("runs_queued", "Runs put on record here for another process.")
CLAIMED = Counts(
    "runs_claimed",
    "Runs that this process took up: from the queue, or after an interruption.",
    ("how",),
)
ENDED = Counts("runs_ended", "Runs that ended here.", ("tier", "outcome"))
FAILURES = Counts("runs_failed", "Runs that failed here, by code.", ("code",))
SECONDS = Histogram("run_seconds", "From a run's start to its end.", LONG_S, ("tier",))
OVERHEAD = Histogram(
    "run_overhead_seconds",
    "The part of it in which no model was waited for.",
    SHORT_S,
    ("tier",),
)
PLANS = Counts("plans", "What became of plans.", ("outcome",))
STEPS = Counts("steps", "Steps that ended.", ("outcome",))
TOKENS = Counts("tokens", "Tokens of calls that ended.", ("role", "kind"))
COST = Counts("cost_micros", "Known cost of calls, in micro-dollars.", ("role",))
UNPRICED = Counts("calls_of_unknown_cost", "Calls whose cost is not known.", ("role",))
LEASES_EXPIRED = Counts(
    "leases_expired", "Leases of other processes that this one found to have run out."
)
OWNER_DEATHS = Counts("run_owner_deaths", "Runs whose process was found to be gone.")
LEASES_LOST = Counts("leases_lost", "Times this process lost its own lease.")

CALLS = Counts(
    "model_calls",
    "Calls of models: completed, closed by us, or a fault.",
    ("role", "protocol", "outcome"),
)
FIRST_SECONDS = Histogram(
    "model_first_token_seconds",
    "From a streamed call to the first piece of its answer.",
    LONG_S,
    ("role", "protocol"),
)
CALL_SECONDS = Histogram(
    "model_call_seconds",
    "From a call to the end of a complete answer.",
    LONG_S,
    ("role", "protocol"),
)
WORKER, CONDUCTOR = "worker", "conductor"
COMPLETED, CLOSED = "completed", "closed"
QUEUE, TAKE_OVER = "queue", "take_over"
UNKNOWN_TIER = "unknown"
"""Of a run that was given up before it was looked at."""


class RunCounter:
    """Counts one run's events. A listener; pieces of text cost it a look-up."""

    __slots__ = ("_tier",)

    def __init__(self, tier: str) -> None:
        self._tier = tier

    def hear(self, signal: Signal) -> None:
        """Count a signal, if it is one that counts."""
        count = _COUNTED.get(type(signal))
        if count is not None:
            count(self._tier, signal)


def count_end(tier: str, event: ev.RunEnd) -> None:
    """Count the end of a run."""
    ENDED.add(tier, event.action[4:])  # without its "run."
    if event.latency_ms:  # 0: the run broke off, and nobody knows
        SECONDS.observe(event.latency_ms / 1000, tier)
        OVERHEAD.observe(event.overhead_ms / 1000, tier)
    if isinstance(event, ev.RunFailed):
        FAILURES.add(event.code)


def count_given_up(code: str) -> None:
    """Count a run that was ended without executing."""
    ENDED.add(UNKNOWN_TIER, "failed")
    FAILURES.add(code)


def _spent(role: str, event: Any) -> None:
    usage, micros = event.usage, event.cost_micros
    TOKENS.add(role, "prompt", by=usage.prompt_tokens)
    TOKENS.add(role, "completion", by=usage.completion_tokens)
    if micros is None:
        UNPRICED.add(role)
    else:
        COST.add(role, by=micros)


def _completed(tier: str, event: ev.StepCompleted) -> None:
    STEPS.add(COMPLETED)
    _spent(WORKER, event)


_COUNTED: dict[type, Callable[[str, Any], None]] = {
    ev.RunCreated: lambda tier, event: STARTED.add(tier),
    ev.PlanReplied: lambda tier, event: _spent(CONDUCTOR, event),
    ev.PlanCallFailed: lambda tier, event: _spent(CONDUCTOR, event),
    ev.PlanAccepted: lambda tier, event: PLANS.add("accepted"),
    ev.PlanRejectedEvent: lambda tier, event: PLANS.add("rejected"),
    ev.PlanKept: lambda tier, event: PLANS.add("kept"),
    ev.StepAttemptFailed: lambda tier, event: _spent(WORKER, event),
    ev.StepCompleted: _completed,
    ev.StepReused: lambda tier, event: STEPS.add("reused"),
    ev.StepFailed: lambda tier, event: STEPS.add("failed"),
    ev.StepSkipped: lambda tier, event: STEPS.add("skipped"),
    ev.RunCompleted: count_end,
    ev.RunFailed: count_end,
    ev.RunCancelled: count_end,
}
