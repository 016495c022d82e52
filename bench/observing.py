"""Measures the cost of metrics for a run and a token: `python -m bench.observing`.

Times the counting alone, as the paths of a direct call and of a run of three steps do
it: the listener's events, the call's adapter, the ledger's lag, the request, the ids of
the logs. Tracing is off, as it is unless somebody collects traces.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from statistics import median

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
django.setup()

from apps.audit.metrics import GROUP, LAG  # noqa: E402
from apps.core.logs import bind, log_context  # noqa: E402
from apps.core.request_metrics import count_request  # noqa: E402
from apps.engine import events as ev  # noqa: E402
from apps.engine.ports import Progress  # noqa: E402
from apps.engine.usage import Usage  # noqa: E402
from apps.llm.types import Endpoint  # noqa: E402
from apps.runs.execution.endpoint_client import _CallTimer  # noqa: E402
from apps.runs.execution.latency_stats import LatencyStats  # noqa: E402
from apps.runs.telemetry.metrics import RunCounter  # noqa: E402
from bench.figures import keep, say  # noqa: E402

ROUNDS, TIMES = 7, 2_000
USAGE = Usage(100, 50)
RUN, TEAM = uuid.uuid4(), uuid.uuid4()
ENDPOINT = Endpoint("w", "https://host/v1", "m")
KEY = (TEAM, ENDPOINT.base_url, ENDPOINT.model)
CREATED = ev.RunCreated("p", "ultra", "pool", 1, "model", False, {})
STARTED = ev.StepStarted(0, 0, 1, "w", "[]")
COMPLETED = ev.StepCompleted(0, 0, 1, "w", "t", "", "stop", "m", USAGE, 7, 300, 100)
REPLIED = ev.PlanReplied(0, 1, "o", "stop", "m", USAGE, 7, 300)
ACCEPTED = ev.PlanAccepted(0, "model", ("w",), ((),), (), ("s",), "")
ENDED = ev.RunCompleted("a", "stop", USAGE, 7, False, 900, 10)


class _Quiet(LatencyStats):
    """Latencies were kept before there were counts."""

    def began(self, key: object, *, is_streamed: bool, after_s: float) -> None:
        """Keep nothing."""


def calls(count: int) -> None:
    """Do what the adapter does for so many calls."""
    quiet = _Quiet()
    for _ in range(count):
        wait = _CallTimer(quiet, KEY, True, ("worker", ENDPOINT.protocol))
        wait.end()
        wait.complete()


def run(steps: int, plans: int) -> None:
    """Count one run: its request, events, calls and commits."""
    log_context.set({"request_id": b"r"})
    bind(run_id=RUN, team_id=TEAM)
    hear = RunCounter("ultra").hear
    hear(CREATED)
    for _ in range(plans):
        hear(REPLIED)
    hear(ACCEPTED)
    for _ in range(steps):
        hear(STARTED)
        hear(COMPLETED)
    hear(ENDED)
    calls(steps + plans)
    for _ in range(1 + steps + plans):
        LAG.observe(0.002)
        GROUP.observe(1)
    count_request("chat", 200, 0.3)


def token_cost() -> Callable[[], None]:
    """Return what counting does with a token."""
    hear = RunCounter("ultra").hear
    piece = Progress(0, 0, 1, "w", "token")
    return lambda: hear(piece)


def micros(work: Callable[[], None]) -> float:
    """Return the processor's time for `work`, in microseconds: the median of rounds."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(TIMES):
            work()
        rounds.append((time.process_time() - began) / TIMES * 1e6)
    return median(rounds)


def main() -> None:
    """Measure, and keep the figures."""
    figures = {
        "direct_us": round(micros(lambda: run(1, 0)), 2),
        "three_steps_us": round(micros(lambda: run(3, 1)), 2),
        "token_us": round(micros(token_cost()), 3),
    }
    for name, value in figures.items():
        say(f"{name}: {value}")
    keep("observing", figures)


if __name__ == "__main__":
    main()
