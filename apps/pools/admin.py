"""The site operator's view of pools and workers. Credentials are shown nowhere."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.core.read_only_admin import ReadOnlyAdmin
from apps.pools.models import Pool, Worker


@admin.register(Pool)
class PoolAdmin(ReadOnlyAdmin):
    """Lists the pools of all teams."""

    list_display = ("name", "team", "is_default", "conductor", "fallback", "version")
    list_select_related = ("team", "conductor", "fallback")
    list_filter = ("is_default",)
    search_fields = ("name", "team__name")
    exclude = ("workers",)


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """Lists the workers of all teams."""

    list_display = ("name", "team", "model", "protocol", "base_url", "is_enabled")
    list_select_related = ("team",)
    list_filter = ("is_enabled", "protocol")
    search_fields = ("name", "model", "base_url", "team__name")
    exclude = ("credential",)

    def get_fields(self, request: HttpRequest, obj: Worker | None = None) -> list[Any]:
        """Return the fields, those first that say which worker it is."""
        first = ["name", "team", "kind", "description", "model", "protocol", "base_url"]
        fields = super().get_fields(request, obj)
        return [*first, *(name for name in fields if name not in first)]
