"""Addresses of the pages about suites and evaluations."""

from __future__ import annotations

from django.urls import path

from apps.console.views import evaluation_reports as reports
from apps.console.views import evaluations, suites

urlpatterns = [
    path("evaluations/", evaluations.evaluation_list_page, name="evaluation_list"),
    path("evaluations/new/", evaluations.evaluation_new, name="evaluation_new"),
    path(
        "evaluations/calibration/<uuid:pool_id>/",
        evaluations.calibration_new,
        name="calibration_new",
    ),
    path("evaluations/suites/new/", evaluations.suite_new, name="suite_new"),
    path("evaluations/suites/<uuid:suite_id>/", suites.suite_page, name="suite"),
    path(
        "evaluations/suites/<uuid:suite_id>/tasks.jsonl",
        suites.suite_file,
        name="suite_file",
    ),
    path(
        "evaluations/suites/<uuid:suite_id>/delete/",
        evaluations.suite_delete_page,
        name="suite_delete",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/",
        reports.evaluation_page,
        name="evaluation",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/comparison/",
        reports.evaluation_comparison,
        name="evaluation_comparison",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/results/",
        reports.evaluation_results,
        name="evaluation_results",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/inspect/<int:place>.json",
        reports.evaluation_inspect,
        name="evaluation_inspect",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/cancel/",
        reports.evaluation_cancel_action,
        name="evaluation_cancel",
    ),
    *(
        path(
            f"evaluations/<uuid:evaluation_id>/report.{form}",
            reports.evaluation_file,
            {"form": form},
            name=f"evaluation_{form}",
        )
        for form in reports.FORMATS
    ),
]
