"""The site operator's view of runs: what happened, not what was asked or answered."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from unfold.paginator import InfinitePaginator

from apps.core.read_only_admin import ReadOnlyAdmin
from apps.runs.models import Run


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Lists the runs of all teams, without a word of their prompts."""

    list_display = ("created_at", "team", "state", "model", "actor_name", "id")
    list_select_related = ("team",)
    list_filter = ("state", "source")
    ordering = ("-id",)
    paginator = InfinitePaginator
    exclude = ("title", "plan", "error_message")

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Search by id and team alone: titles are the team's."""
        return ("id", "team__name")
