"""The base of the operator's pages that only show: what changes goes through services.

A change without its ledger entry must not exist, so the admin makes none.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from apps.core.scoping import TeamQuerySet


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]
    """Shows rows of every team; changes nothing."""

    list_per_page = 50
    show_full_result_count = False
    """Tables of runs and entries are long: counting them is what takes the time."""
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of every team: the operator may see them."""
        rows: QuerySet[Any] = self.model._default_manager.all()
        if isinstance(rows, TeamQuerySet):
            rows = rows.across_teams()
        ordering = self.get_ordering(request)
        return rows.order_by(*ordering) if ordering else rows

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: services add rows."""
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: models.Model | None = None
    ) -> bool:
        """Refuse: services change rows."""
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: models.Model | None = None
    ) -> bool:
        """Refuse: services delete rows."""
        return False
