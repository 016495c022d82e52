"""The limits of one run, as numbers. `meter.py` holds a run to them."""

from __future__ import annotations

from dataclasses import dataclass

MAX_TIME_S = 86_400
"""Seconds that a caller may limit a run to: a day, longer than any tier allows."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one run may use, the conductor's own calls included."""

    max_steps: int = 5
    """Steps of one plan."""
    max_rounds: int = 1
    """Plans of one run (recursion), re-plans after a failure not counted."""
    max_delegations: int = 0
    """Plans whose last step's worker plans the rest; the plan that it makes is one of
    `max_rounds`, and can't leave the rest to another worker."""
    max_replans: int = 1
    """Further plans after a failed step."""
    max_plan_attempts: int = 3
    """Answers of the conductor per plan before the fallback plan is used."""
    max_parallel: int = 4
    """Calls in flight at the same time, a rival not counted."""
    max_calls: int = 40
    """Outbound calls, retries included."""
    max_attempts: int = 3
    """Calls per step: retries and the fallback worker together."""
    max_tokens: int | None = None
    """Input and output tokens of all calls."""
    max_cost_micros: int | None = None
    """Micro-dollars; with it set, workers without a price are refused."""
    max_cost_reason: str = ""
    """Who set that limit, in words for the error; empty: the caller or the tier."""
    wall_time_s: float = 900.0
    """From the start of the run to its end; anew when another process resumes it."""
    step_time_s: float = 600.0
    """From the first call of a step to its result, waits and other workers included."""
    is_hedged: bool = False
    """True: a worker slower than it nearly always is gets a rival."""
    retry_base_s: float = 1.0
    """Before the first retry of an endpoint; doubles each time, with full jitter."""
    retry_cap_s: float = 60.0
    """Longest wait a `Retry-After` may ask for."""

    @property
    def max_in_flight(self) -> int:
        """Return how many calls there may be at the same time, a rival included.

        A rival would otherwise wait for the very call it is to overtake.
        """
        return self.max_parallel + self.is_hedged
