"""Tunes Python for a process whose event loop is always busy."""

from __future__ import annotations

import gc
import sys
from functools import cache

SWITCH_INTERVAL_S = 0.0002
"""How soon a waiting thread gets its turn."""
GC_THRESHOLDS = (10_000, 20, 50)
"""A busy loop makes thousands of short-lived objects a millisecond; at the usual 700
the collector looks at them many times each."""


def tune_interpreter() -> None:
    """Share the interpreter fairly and collect seldom. Call it when all is loaded."""
    # Django's threads, and the ledger's writer where it is one, share the interpreter
    # with a busy event loop; at the usual 5 ms a full loop starves them.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    _spare_the_collector()


@cache
def _spare_the_collector() -> None:
    """Keep full collections from stopping all streams for tens of milliseconds.

    What has been loaded by now stays for good, so no collection looks at it again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
