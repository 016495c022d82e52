"""Addresses of the pages about A/B tests."""

from __future__ import annotations

from django.urls import path

from apps.console.views import ab_tests

ONE = "evaluations/ab/<uuid:ab_test_id>/"
urlpatterns = [
    path("evaluations/ab/new/", ab_tests.ab_new, name="ab_new"),
    path(ONE, ab_tests.ab_page, name="ab_test"),
    path(f"{ONE}stop/", ab_tests.ab_stop_action, name="ab_stop"),
    path(f"{ONE}promote/", ab_tests.ab_promote_page, name="ab_promote"),
    path(f"{ONE}take-back/", ab_tests.ab_demote_page, name="ab_demote"),
]
