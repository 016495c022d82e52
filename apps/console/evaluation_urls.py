"""Addresses of the pages about evaluations and learning, imported when asked for."""

from __future__ import annotations

from django.urls import path

from apps.web.deferred_views import Page, deferred_page


def _page(name: str) -> Page:
    return deferred_page(f"apps.console.views.evaluation.{name}")


urlpatterns = [
    path("learning/", _page("learning.learning_page"), name="learning"),
    path(
        "learning/export/",
        _page("learning.learning_export_file"),
        name="learning_export",
    ),
    path(
        "learning/promises/<uuid:promise_id>/dismiss/",
        _page("learning.promise_dismissal"),
        name="promise_dismiss",
    ),
    path(
        "learning/subtasks/",
        _page("subtasks.subtasks_page"),
        name="learning_subtasks",
    ),
    path(
        "evaluations/",
        _page("evaluations.evaluation_list_page"),
        name="evaluation_list",
    ),
    path(
        "evaluations/quick/",
        _page("evaluations.evaluation_quick"),
        name="evaluation_quick",
    ),
    path(
        "evaluations/new/", _page("evaluations.evaluation_new"), name="evaluation_new"
    ),
    path(
        "evaluations/calibration/<uuid:pool_id>/",
        _page("evaluations.calibration_new"),
        name="calibration_new",
    ),
    path("evaluations/suites/new/", _page("evaluations.suite_new"), name="suite_new"),
    path(
        "evaluations/suites/<uuid:suite_id>/", _page("suites.suite_page"), name="suite"
    ),
    path(
        "evaluations/suites/<uuid:suite_id>/tasks.jsonl",
        _page("suites.suite_file"),
        name="suite_file",
    ),
    path(
        "evaluations/suites/<uuid:suite_id>/delete/",
        _page("evaluations.suite_delete_page"),
        name="suite_delete",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/",
        _page("evaluation_reports.evaluation_page"),
        name="evaluation",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/comparison/",
        _page("evaluation_reports.evaluation_comparison"),
        name="evaluation_comparison",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/results/",
        _page("evaluation_reports.evaluation_results"),
        name="evaluation_results",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/inspect/<int:place>.json",
        _page("evaluation_reports.evaluation_inspect"),
        name="evaluation_inspect",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/cancel/",
        _page("evaluation_reports.evaluation_cancel_action"),
        name="evaluation_cancel",
    ),
    *(
        path(
            f"evaluations/<uuid:evaluation_id>/report.{form}",
            _page("evaluation_reports.evaluation_file"),
            {"form": form},
            name=f"evaluation_{form}",
        )
        for form in ("json", "md", "csv")
    ),
    path(
        "learning/pools/<uuid:pool_id>/train/",
        _page("trainings.training_new"),
        name="training_new",
    ),
    path(
        "learning/trainings/<uuid:training_id>/",
        _page("trainings.training_page"),
        name="training",
    ),
    path(
        "learning/trainings/<uuid:training_id>/cancel/",
        _page("trainings.training_cancel_action"),
        name="training_cancel",
    ),
    path(
        "learning/pools/<uuid:pool_id>/versions/<int:number>/",
        _page("trainings.planner_version_page"),
        name="planner_version",
    ),
    path(
        "learning/pools/<uuid:pool_id>/retire/",
        _page("trainings.planner_retire_action"),
        name="planner_retire",
    ),
    path(
        "learning/pools/<uuid:pool_id>/train-conductor/",
        _page("conductor_trainings.conductor_training_new"),
        name="conductor_training_new",
    ),
    path(
        "learning/conductors/trainings/<uuid:conductor_training_id>/",
        _page("conductor_trainings.conductor_training_page"),
        name="conductor_training",
    ),
    path(
        "learning/conductors/trainings/<uuid:conductor_training_id>/cancel/",
        _page("conductor_trainings.conductor_training_cancel_action"),
        name="conductor_training_cancel",
    ),
    path(
        "learning/conductors/<int:number>/",
        _page("conductor_trainings.conductor_version_page"),
        name="conductor_version",
    ),
    path(
        "learning/conductors/<int:number>/publish/",
        _page("conductor_trainings.conductor_publish_action"),
        name="conductor_publish",
    ),
    path(
        "learning/conductors/<int:number>/use/",
        _page("conductor_trainings.conductor_use_action"),
        name="conductor_use",
    ),
    path(
        "learning/conductors/<int:number>/delete/",
        _page("conductor_trainings.conductor_version_delete_action"),
        name="conductor_version_delete",
    ),
]
