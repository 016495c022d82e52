"""The estimated cost of a run, in words."""

from __future__ import annotations

from django.utils.translation import gettext

from apps.core.money import MICROS
from apps.runs.types import Estimate
from apps.web.formats import count

CENT = MICROS // 100


def estimate_text(estimate: Estimate) -> str:
    """Return what `estimate_words` says, as a line that says what it is."""
    words = estimate_words(estimate)
    if estimate.basis == "unknown":
        return words
    return gettext("Estimated cost: {words}").format(words=words)


def estimate_words(estimate: Estimate) -> str:
    """Return the most a run may cost and what most cost, or that it is unknown."""
    if estimate.basis == "unknown":
        return gettext("Cost unknown: a model of this pool has no price.")
    typical = _cents(estimate.typical_micros)
    if estimate.most_micros is None:
        text = gettext("typically under {typical}").format(typical=typical)
    elif _cents(estimate.most_micros) == typical:
        text = gettext("under {typical}").format(typical=typical)
    else:
        most = _cents(estimate.most_micros)
        words = gettext("typically under {typical}, at most {most}")
        text = words.format(most=most, typical=typical)
    if estimate.basis == "past runs":
        words = gettext("{words}, from the last {number} runs.")
        return words.format(words=text, number=count(estimate.sample))
    return f"{text}."


def _cents(micros: int) -> str:
    """Return an amount that is not less, in whole cents."""
    cents = max(1, -(-micros // CENT))
    return f"${cents / 100:,.2f}"
