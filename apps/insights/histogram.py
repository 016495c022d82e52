"""Counts of values in ranges that grow with them, so that percentiles can be merged.

Eight ranges for each doubling: a percentile is at most 4.5 % beside the value that the
values themselves would give, whatever the period. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log2

import orjson

from apps.core.percentiles import percentile_rank

PER_DOUBLING = 8
"""Ranges for each doubling of the value."""


class LogHistogram:
    """How many values lie in each range."""

    __slots__ = ("counts",)

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self.counts = dict(counts or {})
        """By range; 0 is that of the value 0."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogHistogram) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, values: Iterable[int]) -> LogHistogram:
        """Return the histogram of some values."""
        made = cls()
        for value in values:
            made.add(value)
        return made

    @classmethod
    def unpacked(cls, text: str) -> LogHistogram:
        """Return what `packed` made a text of."""
        flat = orjson.loads(text or "[]")
        return cls(dict(zip(flat[::2], flat[1::2], strict=True)))

    def packed(self) -> str:
        """Return it as a short text for a column; empty: no value."""
        flat = [part for item in sorted(self.counts.items()) for part in item]
        return orjson.dumps(flat).decode() if flat else ""

    @property
    def total(self) -> int:
        """Return how many values there are."""
        return sum(self.counts.values())

    def add(self, value: int) -> None:
        """Count a value, which is 0 or more."""
        place = range_of(value)
        self.counts[place] = self.counts.get(place, 0) + 1

    def merge(self, other: LogHistogram) -> None:
        """Add the counts of another one."""
        counts = self.counts
        for place, count in other.counts.items():
            counts[place] = counts.get(place, 0) + count

    def percentile(self, percent: int) -> int | None:
        """Return the middle of the range that a percentile lies in; None: no value.

        The percentile is the smallest value that so many percent do not exceed.
        """
        rank = percentile_rank(self.total, percent)
        seen = 0
        for place in sorted(self.counts):
            seen += self.counts[place]
            if seen >= rank:
                return middle_of(place)
        return None


def range_of(value: int) -> int:
    """Return the range that a value lies in."""
    return 0 if value <= 0 else 1 + int(PER_DOUBLING * log2(value))


def middle_of(place: int) -> int:
    """Return the value in the middle of a range, as a whole number."""
    return 0 if place == 0 else round(2.0 ** ((place - 0.5) / PER_DOUBLING))
