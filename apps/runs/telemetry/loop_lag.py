"""Measures the lag of this process's event loop."""

from __future__ import annotations

import asyncio

from apps.core.metrics import SHORT_S, Histogram

SAMPLE_S = 0.1
"""How often it is measured: ten times a second costs a five-thousandth of a core."""
LOOP_LAG = Histogram(
    "event_loop_lag_seconds",
    "How much later than asked for the event loop woke a task.",
    SHORT_S,
)


async def sample_loop_lag() -> None:
    """Measure until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + SAMPLE_S
        await asyncio.sleep(SAMPLE_S)
        LOOP_LAG.observe(max(0.0, loop.time() - due))
