"""Template tags of the headline: what conducting brings, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.utils.translation import gettext

if TYPE_CHECKING:
    from apps.evaluation.reports.headline import Headline
    from apps.evaluation.reports.statistics import Interval

register = template.Library()
PERCENT = 100


@register.filter("headline_words")
def headline_words(found: Headline) -> str:
    """Return how much more often conducting is right, and at what cost."""
    points = round(PERCENT * abs(found.difference.value))
    if found.is_better:
        words = gettext(
            "Conductor is right {points} points more often than the best single model "
            "{bounds}"
        )
    elif found.difference.high < 0:
        words = gettext(
            "Conductor is right {points} points less often than the best single model "
            "{bounds}"
        )
    else:
        words = gettext(
            "Conductor and the best single model are right about equally often: the "
            "difference of {points} points may be chance {bounds}"
        )
    said = words.format(points=points, bounds=points_of(found.difference))
    if found.cost_ratio is None:
        return f"{said}."
    cost = gettext("at {ratio} times its cost").format(
        ratio=ratio_words(found.cost_ratio)
    )
    return f"{said}, {cost}."


def points_of(interval: Interval) -> str:
    """Return the bounds of a difference in points of a hundred, such as `[9, 36]`."""
    low, high = (round(PERCENT * each) for each in (interval.low, interval.high))
    return f"[{low}, {high}]".replace("-", "−")


def ratio_words(ratio: float) -> str:
    """Return a ratio in two digits."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


@register.filter("headline_percent")
def percent_words(interval: Interval) -> str:
    """Return a share in percent."""
    return gettext("{percent} %").format(percent=round(PERCENT * interval.value))


@register.filter("headline_bounds")
def bounds_words(interval: Interval) -> str:
    """Return the interval of a share in percent."""
    return gettext("{low} to {high} %").format(
        low=round(PERCENT * interval.low), high=round(PERCENT * interval.high)
    )
