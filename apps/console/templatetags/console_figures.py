"""Figures and words of evaluations, tests and learning: bounds, splits, faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django import template
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.web.recorded_words import fault_word, role_word

if TYPE_CHECKING:
    from apps.evaluation.reports.statistics import Interval

register = template.Library()
DIGITS = 3
"""Of a share."""
PERCENT = 100
MINUS = "\u2212"
SPLITS = {"held_out": _("held out"), "training": _("training")}
STAGES = {
    "waiting": _("not begun"),
    "running": _("in progress"),
    "completed": _("done"),
    "failed": _("not finished"),
}


@register.filter
def bounds(found: Interval | None) -> str:
    """Return the bounds of the interval of a share."""
    if found is None:
        return "–"
    low, high = (floatformat(each, DIGITS) for each in (found.low, found.high))
    return gettext("{low} to {high}").format(low=low, high=high)


@register.filter
def gate_words(gate: Mapping[str, Any]) -> str:
    """Return how many of the others a version was told apart from, and better than."""
    measured = [each for each in gate["others"] if each["difference"] is not None]
    better = sum(each["low"] > 0 for each in measured)
    worse = sum(each["high"] < 0 for each in measured)
    unclear = len(gate["others"]) - better - worse
    parts = [
        gettext("Better than {number} of {total}").format(
            number=better, total=len(gate["others"])
        )
    ]
    if worse:
        parts.append(gettext("worse than {number}").format(number=worse))
    if unclear:
        parts.append(gettext("not told apart from {number}").format(number=unclear))
    return "; ".join(parts)


@register.filter
def gate_difference(gate: Mapping[str, Any]) -> str:
    """Return how far a version is from the best of the others, in points of a hundred.

    Empty: there is no other, or none on the same tasks.
    """
    best = next((e for e in gate["others"] if e["name"] == gate["best_other"]), None)
    if best is None or best["difference"] is None:
        return ""
    signed, low, high = (_points(best[key]) for key in ("difference", "low", "high"))
    sign = "+" if best["difference"] > 0 else ""
    return gettext("{difference} points (interval of 95 %: {low} to {high})").format(
        difference=f"{sign}{signed}", low=low, high=high
    )


@register.filter
def points(share: float) -> str:
    """Return a share in points of a hundred."""
    return _points(share)


@register.filter
def percent(share: float) -> str:
    """Return a share as a whole percentage."""
    return f"{floatformat(PERCENT * share, 0)} %"


def _points(share: float) -> str:
    return floatformat(PERCENT * share, -1).replace("-", MINUS)


@register.filter
def at_least(amount: str, has_unknown: bool) -> str:
    """Return an amount, as a lower bound if a part of it is unknown."""
    if not has_unknown:
        return amount
    return gettext("at least {amount}").format(amount=amount)


@register.filter
def split_word(split: str) -> str:
    """Return which part of a suite a task belongs to."""
    return gettext(SPLITS.get(split, split))


@register.filter
def stage_word(state: str) -> str:
    """Return how far a stage of a training is."""
    return gettext(STAGES[state])


register.filter("fault_word", fault_word)
register.filter("role_word", role_word)
