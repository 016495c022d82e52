"""The estimated cost of a run, in words."""

from __future__ import annotations

from apps.runs.types import Estimate
from apps.web.formats import count, money


def estimate_text(estimate: Estimate) -> str:
    """Return a range of money and what it rests on, or that it is unknown."""
    if estimate.basis == "unknown":
        return "Cost unknown: a model of this pool has no price."
    low, high = money(estimate.low_micros), money(estimate.high_micros)
    price = f"About {low}" if low == high else f"About {low} to {high}"
    if estimate.basis == "prices":
        return f"{price}, by the prices of the pool."
    return f"{price}, by the last {count(estimate.sample)} runs."
