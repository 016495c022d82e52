"""Addresses of the pages of insights, imported when asked for."""

from __future__ import annotations

from django.urls import path

from apps.web.deferred_views import Page, deferred_page


def _page(name: str) -> Page:
    return deferred_page(f"apps.console.views.insights.{name}")


urlpatterns = [
    path("insights/", _page("insights_page"), name="insights"),
    path("insights/failures/", _page("insights_failures"), name="insights_failures"),
    path("insights/plans/", _page("insights_plans"), name="insights_plans"),
    *(
        path(
            f"insights/{part}.csv",
            _page("insights_file"),
            {"part": part},
            name=f"insights_{part}_csv",
        )
        for part in ("queries", "failures", "plans")
    ),
]
