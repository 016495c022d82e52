"""Addresses of the pages about shadow tests, imported when asked for."""

from __future__ import annotations

from django.urls import path

from apps.web.deferred_views import Page, deferred_page

ONE = "evaluations/shadow/<uuid:test_id>/"


def _page(name: str) -> Page:
    return deferred_page(f"apps.console.views.evaluation.shadow_tests.{name}")


urlpatterns = [
    path("evaluations/shadow/new/", _page("shadow_new"), name="shadow_new"),
    path(ONE, _page("shadow_page"), name="shadow_test"),
    path(f"{ONE}stop/", _page("shadow_stop_action"), name="shadow_stop"),
    path(f"{ONE}promote/", _page("shadow_promote_page"), name="shadow_promote"),
    path(f"{ONE}take-back/", _page("shadow_demote_page"), name="shadow_demote"),
]
