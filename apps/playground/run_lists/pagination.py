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
    """Counts rows up to the page asked for and one beyond, so that pages go on.

    The rows before a page are stepped over by their ids, which an index has.
    """

    _counted = COUNTED
    _known: tuple[int, list[Any]] = (-1, [])
    """Ids of a part of the list, and where it begins."""

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
        if self._counted > COUNTED:
            # Whoever is at a page far behind knows how many rows come before it.
            start = self._counted - self.per_page
            ids = self._ids(start, self._counted + 1)
            if ids:
                return start + len(ids)
        return self._rows.order_by()[: self._counted + 1].count()

    def page(self, number: Any) -> Page[Any]:
        """Return a page. Raises: InvalidPage."""
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        ids = self._ids(start, min(start + self.per_page, self.count))
        return Page(self._rows.filter(pk__in=ids), number, self)

    def _ids(self, start: int, end: int) -> list[Any]:
        known, ids = self._known
        if known == start and len(ids) >= end - start:
            return ids[: end - start]
        ids = list(self._rows.values_list("pk", flat=True)[start:end])
        self._known = start, ids
        return ids

    @property
    def _rows(self) -> QuerySet[Any]:
        return cast("QuerySet[Any]", self.object_list)

    @property
    def has_more(self) -> bool:
        """Say whether there are more rows than were counted."""
        return self._found > self._counted

    @property
    def counted(self) -> int:
        """Return how many rows there are at least."""
        return min(self.count, self._counted)
