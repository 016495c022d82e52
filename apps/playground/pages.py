"""Pages of lists that are too long to be counted whole each time they are shown."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

COUNTED = 10_000
"""Rows that are counted in any case; behind them, up to the page that is asked for."""
REACHED = 100_000
"""Rows that pages lead to. The database steps over all that come before a page, so
going on for ever would take ever longer."""


class LongPaginator(Paginator):  # type: ignore[type-arg]
    """Counts rows up to the page asked for and one beyond, so that pages go on."""

    _counted = COUNTED

    def get_page(self, number: Any) -> Page[Any]:
        """Return a page, the first for nonsense and the last for too high a number."""
        try:
            wanted = min(max(int(number), 1), max(1, REACHED // self.per_page))
        except (TypeError, ValueError):
            wanted = 1
        self._counted = max(COUNTED, wanted * self.per_page)
        return super().get_page(wanted)

    @cached_property
    def count(self) -> int:
        """Return how many rows there are that pages lead to.

        One more than were to be counted, if there are more.
        """
        return min(self._found, REACHED)

    @cached_property
    def _found(self) -> int:
        rows = cast("QuerySet[Any]", self.object_list)
        return rows.order_by()[: self._counted + 1].count()

    @property
    def has_more(self) -> bool:
        """Say whether there are more rows than were counted."""
        return self._found > self._counted

    @property
    def counted(self) -> int:
        """Return how many rows there are at least."""
        return min(self.count, self._counted)
