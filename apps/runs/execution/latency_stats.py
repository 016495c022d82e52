"""Tracks the time to first token of each endpoint, to detect slow calls.

Kept for each team, endpoint and way of asking (a plain answer begins when it is whole),
by one process. `p95_s` is the nearest-rank 95th percentile of the last `KEPT` calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import inf
from statistics import median_low

from apps.core.percentiles import percentile_rank
from apps.runs.execution.circuit_breaker import Key

KEPT = 200
"""Calls that count: enough for a steady percentile, few enough to follow a change."""
ENOUGH = 20
"""With fewer a 95th percentile would be the slowest call."""
PERCENT = 95
"""Percent of the calls that begin within the time that is known."""
LIMIT_FACTOR = 3.0
LEAST_LIMIT_S = 10.0
"""However quick an endpoint usually is, it may take so long."""
MOST = 10_000
"""Endpoints that are known; the longest known is forgotten for a new one."""


class LatencyStats:
    """The latencies of one process. Used on its event loop alone."""

    def __init__(self) -> None:
        self._began: dict[tuple[Key, bool], deque[float]] = {}
        self._limits: dict[Key, float | None] = {}
        """Of streamed answers, until another call has begun."""

    def began(self, key: Key, *, is_streamed: bool, after_s: float) -> None:
        """Note that a call's first item came after this long."""
        calls = self._began.get((key, is_streamed))
        if calls is None:
            if len(self._began) >= MOST:
                del self._began[next(iter(self._began))]
                self._limits.clear()
            calls = self._began[key, is_streamed] = deque(maxlen=KEPT)
        calls.append(after_s)
        self._limits.pop(key, None)

    def left(self, key: Key, *, is_streamed: bool, after_s: float) -> None:
        """Note that a call was closed after this long, before anything had come.

        It counts as later than every other if it was late already. Otherwise each
        rival that wins would make the next call look late sooner, and each cancelled
        run would make the endpoint look quick.
        """
        known = self.p95_s(key, is_streamed=is_streamed)
        if known is not None and after_s > known:
            self.began(key, is_streamed=is_streamed, after_s=inf)

    def is_known(self, key: Key) -> bool:
        """Return whether enough streamed answers have begun to tell what is usual."""
        calls = self._began.get((key, True), ())
        return sum(after_s < inf for after_s in calls) >= ENOUGH

    def pool_limit_s(self, keys: Iterable[Key]) -> float | None:
        """Return what endpoints that begin in turn suggest as the limit of another.

        None: they have begun too few streamed answers, or gave half of them up.
        """
        calls = [call for key in keys for call in self._began.get((key, True), ())]
        if len(calls) < ENOUGH:
            return None
        usual_s = median_low(calls)
        return None if usual_s == inf else max(LEAST_LIMIT_S, LIMIT_FACTOR * usual_s)

    def limit_s(self, key: Key) -> float | None:
        """Return after how long a streamed answer is taken not to begin at all.

        None: not known. So it is, too, if more than 5 % of the calls were given up: the
        endpoint may have become slower, and only waiting for it shows how slow.
        """
        if key not in self._limits:
            self._limits[key] = self._new_limit_s(key)
        return self._limits[key]

    def _new_limit_s(self, key: Key) -> float | None:
        calls = self._began.get((key, True), ())
        known_s = self.p95_s(key, is_streamed=True)
        given_up = sum(after_s == inf for after_s in calls)
        if known_s is None or 100 * given_up > (100 - PERCENT) * len(calls):
            return None
        return max(LEAST_LIMIT_S, LIMIT_FACTOR * known_s)

    def p95_s(self, key: Key, *, is_streamed: bool) -> float | None:
        """Return how long 95 % of the calls took to begin; None: too few to say.

        If more than 5 % were given up before they began: the longest of those that
        did begin.
        """
        calls = self._began.get((key, is_streamed), ())
        known = sorted(after_s for after_s in calls if after_s < inf)
        if len(known) < ENOUGH:
            return None
        return known[min(percentile_rank(len(calls), PERCENT), len(known)) - 1]
