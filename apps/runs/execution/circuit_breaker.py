"""Lets an endpoint that keeps failing rest, so that runs turn to others at once.

A circuit opens after `FAILURES` calls in a row, within `WINDOW_S`, that failed on the
endpoint's side: older failures say nothing of how it is now. Then
one call in `REST_S` goes through; the first success closes it. Kept for each team: what
one team meets tells another nothing. Of one process, and safe to read from any thread.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from apps.engine.errors import CallFault
from apps.llm.types import Endpoint

FAILURES = 5
WINDOW_S = 300.0
"""Long enough for five calls in turn that each take a minute to fail."""
REST_S = 30.0
ITS_OWN_FAULTS = frozenset(
    {
        CallFault.CONNECT,
        CallFault.FIRST_BYTE_TIMEOUT,
        CallFault.FIRST_TOKEN_TIMEOUT,
        CallFault.IDLE_TIMEOUT,
        CallFault.TOTAL_TIMEOUT,
        CallFault.SERVER_ERROR,
        CallFault.INCOMPLETE,
        CallFault.BAD_RESPONSE,
    }
)
"""What a rest may heal. An endpoint that refuses a request, or wants fewer, is well."""
UNTOLD_FAULTS = frozenset({CallFault.UNUSABLE_RESPONSE})
"""What says neither that an endpoint is well nor that a rest would help."""

Key = tuple[uuid.UUID, str, str]
"""Team, base URL and model."""


@dataclass(slots=True)
class _Trouble:
    failed_at: deque[float] = field(default_factory=lambda: deque(maxlen=FAILURES))
    """The latest failures, the oldest first."""
    rests_until: float = 0.0

    def is_open(self, now: float) -> bool:
        """Say whether there were enough failures lately."""
        if len(self.failed_at) < FAILURES:
            return False
        return now - self.failed_at[0] <= WINDOW_S


class CircuitBreakers:
    """The circuits of one process. Endpoints that are well take no room."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._troubled: dict[Key, _Trouble] = {}

    def admit(self, key: Key) -> float:
        """Return 0 if a call may go out, else for how many seconds it may not.

        Of a circuit that has rested long enough, the first to ask is let through.
        """
        trouble = self._troubled.get(key)
        if trouble is None:
            return 0.0
        now = self._clock()
        if not trouble.is_open(now):
            return 0.0
        if now < trouble.rests_until:
            return trouble.rests_until - now
        trouble.rests_until = now + REST_S
        return 0.0

    def succeeded(self, key: Key) -> None:
        """Close the circuit: the endpoint has answered."""
        self._troubled.pop(key, None)

    def failed(self, key: Key, fault: CallFault) -> float:
        """Count a failure; return for how many seconds no call may go out now.

        A failure that is not the endpoint's own proves it is there, or nothing.
        """
        if fault in UNTOLD_FAULTS:
            return self._rest_s(key, self._clock())
        if fault not in ITS_OWN_FAULTS:
            self.succeeded(key)
            return 0.0
        trouble = self._troubled.setdefault(key, _Trouble())
        now = self._clock()
        trouble.failed_at.append(now)
        trouble.rests_until = now + REST_S
        return self._rest_s(key, now)

    def is_open(self, key: Key) -> bool:
        """Say whether calls are kept back at the moment."""
        return self._rest_s(key, self._clock()) > 0

    def _rest_s(self, key: Key, now: float) -> float:
        trouble = self._troubled.get(key)
        if trouble is None or not trouble.is_open(now):
            return 0.0
        return max(0.0, trouble.rests_until - now)


def circuit_key(team_id: uuid.UUID, endpoint: Endpoint) -> Key:
    """Return what a team's circuit for an endpoint goes by."""
    return team_id, endpoint.base_url, endpoint.model
