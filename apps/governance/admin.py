"""The site operator's view of retention and legal holds."""

from __future__ import annotations

from django.contrib import admin

from apps.core.read_only_admin import ReadOnlyAdmin
from apps.governance.models import LegalHold, Retention


@admin.register(Retention)
class RetentionAdmin(ReadOnlyAdmin):
    """Lists retention periods of teams, and how far content is erased."""

    list_display = ("team_id", "days", "begins_at", "erased_through")


@admin.register(LegalHold)
class LegalHoldAdmin(ReadOnlyAdmin):
    """Lists the legal holds of all teams."""

    list_display = ("reason", "team_id", "run_id", "placed_at", "released_at")
    list_filter = ("placed_at", "released_at")
    search_fields = ("reason",)
