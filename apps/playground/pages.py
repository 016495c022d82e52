"""Pages of lists that are too long to be counted whole each time they are shown."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

COUNTED = 10_000
"""Rows that are counted in any case; behind them, up to the page that is asked for."""
MAX_PAGE = 10**9


class LongPaginator(Paginator):  # type: ignore[type-arg]
    """Counts rows up to the page asked for and one beyond, so that pages go on."""

    _counted = COUNTED

    def get_page(self, number: Any) -> Page[Any]:
        """Return a page, the first for nonsense and the last for too high a number."""
        try:
            wanted = min(max(int(number), 1), MAX_PAGE)
        except (TypeError, ValueError):
            wanted = 1
        self._counted = max(COUNTED, wanted * self.per_page)
        return super().get_page(wanted)

    @cached_property
    def count(self) -> int:
        """Return how many rows there are, or one more than were to be counted."""
        rows = cast("QuerySet[Any]", self.object_list)
        return rows.order_by()[: self._counted + 1].count()

    @property
    def has_more(self) -> bool:
        """Say whether there are more rows than were counted."""
        return self.count > self._counted

    @property
    def counted(self) -> int:
        """Return how many rows there are at least."""
        return min(self.count, self._counted)
