"""The site operator's view of budgets."""

from __future__ import annotations

from django.contrib import admin

from apps.budgets.models import Budget
from apps.core.read_only_admin import ReadOnlyAdmin


@admin.register(Budget)
class BudgetAdmin(ReadOnlyAdmin):
    """Lists the budgets of all teams."""

    list_display = ("team", "kind", "user", "api_key", "period", "limit_micros")
    list_select_related = ("team", "user", "api_key")
    list_filter = ("kind", "period")
    search_fields = ("team__name",)
