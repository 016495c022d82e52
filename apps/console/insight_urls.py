"""Addresses of the pages of insights."""

from __future__ import annotations

from django.urls import path

from apps.console.views import insights

urlpatterns = [
    path("insights/", insights.insights_page, name="insights"),
    path("insights/failures/", insights.insights_failures, name="insights_failures"),
    path("insights/plans/", insights.insights_plans, name="insights_plans"),
    *(
        path(
            f"insights/{part}.csv",
            insights.insights_file,
            {"part": part},
            name=f"insights_{part}_csv",
        )
        for part in ("queries", "failures", "plans")
    ),
]
