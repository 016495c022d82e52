"""Addresses of the pages about shadow tests."""

from __future__ import annotations

from django.urls import path

from apps.console.views import shadow_tests

ONE = "evaluations/shadow/<uuid:test_id>/"
urlpatterns = [
    path("evaluations/shadow/new/", shadow_tests.shadow_new, name="shadow_new"),
    path(ONE, shadow_tests.shadow_page, name="shadow_test"),
    path(f"{ONE}stop/", shadow_tests.shadow_stop_action, name="shadow_stop"),
    path(f"{ONE}promote/", shadow_tests.shadow_promote_page, name="shadow_promote"),
    path(f"{ONE}take-back/", shadow_tests.shadow_demote_page, name="shadow_demote"),
]
