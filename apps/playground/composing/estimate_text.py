"""The estimated cost of a run, in words."""

from __future__ import annotations

from apps.core.money import MICROS
from apps.runs.types import Estimate
from apps.web.formats import count

CENT = MICROS // 100


def estimate_text(estimate: Estimate) -> str:
    """Return the most a run may cost and what most cost, or that it is unknown."""
    if estimate.basis == "unknown":
        return "Cost unknown: a model of this pool has no price."
    typical = _cents(estimate.typical_micros)
    if estimate.most_micros is None:
        text = f"Estimated cost: typically under {typical}"
    elif _cents(estimate.most_micros) == typical:
        text = f"Estimated cost: under {typical}"
    else:
        most = _cents(estimate.most_micros)
        text = f"Estimated cost: up to {most}, typically under {typical}"
    if estimate.basis == "past runs":
        return f"{text}, from the last {count(estimate.sample)} runs."
    return f"{text}."


def _cents(micros: int) -> str:
    """Return an amount that is not less, in whole cents."""
    cents = max(1, -(-micros // CENT))
    return f"${cents / 100:,.2f}"
