"""Addresses of the pages about A/B tests, imported when asked for."""

from __future__ import annotations

from django.urls import path

from apps.web.deferred_views import Page, deferred_page

ONE = "evaluations/ab/<uuid:ab_test_id>/"


def _page(name: str) -> Page:
    return deferred_page(f"apps.console.views.evaluation.ab_tests.{name}")


urlpatterns = [
    path("evaluations/ab/new/", _page("ab_new"), name="ab_new"),
    path(ONE, _page("ab_page"), name="ab_test"),
    path(f"{ONE}stop/", _page("ab_stop_action"), name="ab_stop"),
    path(f"{ONE}promote/", _page("ab_promote_page"), name="ab_promote"),
    path(f"{ONE}take-back/", _page("ab_demote_page"), name="ab_demote"),
]
