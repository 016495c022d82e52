"""Addresses of the user's pages. Those of reviews and comparisons are imported
when asked for."""

from django.urls import path

from apps.playground import (
    approval_views,
    conversation_views,
    feedback_view,
    fork_views,
    part_views,
    run_report,
    views,
)
from apps.playground.composing import attachment_views, presets
from apps.playground.run_lists import selected
from apps.playground.run_lists import views as list_views
from apps.playground.sharing import shared_page
from apps.playground.sharing import views as sharing_views
from apps.web.deferred_views import Page, deferred_page


def _review(name: str) -> Page:
    return deferred_page(f"apps.playground.review_views.{name}")


def _comparing(name: str) -> Page:
    return deferred_page(f"apps.playground.comparing.views.{name}")


app_name = "playground"
urlpatterns = [
    path("", conversation_views.index, name="index"),
    path("playground/", conversation_views.index),
    path("playground/runs/", conversation_views.run_create, name="run_create"),
    path(
        "playground/attachments/",
        attachment_views.attachment_create,
        name="attachment_create",
    ),
    path(
        "playground/attachments/<uuid:attachment_id>/delete/",
        attachment_views.attachment_remove,
        name="attachment_remove",
    ),
    path(
        "runs/<uuid:run_id>/attachments/<uuid:attachment_id>/",
        attachment_views.run_attachment,
        name="run_attachment",
    ),
    path("playground/estimate/", conversation_views.estimate, name="estimate"),
    path("playground/formatted/", part_views.format_growing, name="format_growing"),
    path(
        "conversations/<uuid:conversation_id>/",
        conversation_views.conversation_page,
        name="conversation",
    ),
    path(
        "conversations/<uuid:conversation_id>/edit/",
        conversation_views.conversation_edit,
        name="conversation_edit",
    ),
    path(
        "conversations/<uuid:conversation_id>/delete/",
        conversation_views.conversation_remove,
        name="conversation_delete",
    ),
    path(
        "conversations/<uuid:conversation_id>/shown/",
        conversation_views.variant_show,
        name="variant_show",
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/again/",
        conversation_views.turn_again,
        name="turn_again",
    ),
    path(
        "conversations/<uuid:conversation_id>/share/",
        sharing_views.conversation_share,
        name="conversation_share",
    ),
    path("runs/<uuid:run_id>/share/", sharing_views.run_share, name="run_share"),
    path("shared/<str:share_token>/", shared_page.shared_page, name="shared"),
    # A redirect would lack the headers of the page, and its limit.
    path("shared/<str:share_token>", shared_page.shared_page, name="shared_bare"),
    path("team/", views.team_select, name="team_select"),
    path("runs/", list_views.run_list_page, name="run_list"),
    path("runs/<uuid:run_id>/tags/", list_views.run_tags, name="run_tags"),
    path("runs/selected/", selected.runs_selected, name="runs_selected"),
    path("runs/columns/", list_views.run_list_columns, name="run_list_columns"),
    path("presets/choices/", presets.preset_choices, name="preset_choices"),
    path(
        "presets/<uuid:preset_id>/fields/",
        presets.preset_fields,
        name="preset_fields",
    ),
    path("runs/views/", list_views.saved_view_keep, name="saved_view_keep"),
    path(
        "runs/views/<uuid:view_id>/delete/",
        list_views.saved_view_remove,
        name="saved_view_remove",
    ),
    path("runs/export/", list_views.run_list_file, name="run_list_file"),
    path("runs/<uuid:run_id>/", views.run_detail, name="run_detail"),
    path("runs/<uuid:run_id>/body/", views.run_body, name="run_body"),
    path("runs/<uuid:run_id>/cancel/", views.run_cancel_view, name="run_cancel"),
    path("approvals/", approval_views.approval_list, name="approval_list"),
    path(
        "runs/<uuid:run_id>/approval/",
        approval_views.approval_page,
        name="run_approval",
    ),
    path(
        "runs/<uuid:run_id>/approval/link/",
        approval_views.approval_link,
        name="approval_link",
    ),
    path(
        "runs/<uuid:run_id>/approval/preview/",
        approval_views.approval_preview,
        name="approval_preview",
    ),
    path(
        "runs/<uuid:run_id>/approval/decide/",
        approval_views.approval_decide,
        name="approval_decide",
    ),
    path("review/", _review("review_list"), name="review_list"),
    path("review/tasks/", _review("review_tasks"), name="review_tasks"),
    path("review/<uuid:review_id>/", _review("review_page"), name="review"),
    path(
        "review/<uuid:review_id>/reservation/",
        _review("review_reservation"),
        name="review_reservation",
    ),
    path(
        "review/<uuid:review_id>/verdict/",
        _review("review_verdict"),
        name="review_verdict",
    ),
    path(
        "review/<uuid:review_id>/again/",
        _review("review_again"),
        name="review_again",
    ),
    path(
        "review/<uuid:review_id>/comments/",
        _review("review_remark"),
        name="review_remark",
    ),
    path("runs/<uuid:run_id>/review/", _review("run_review"), name="run_review"),
    path(
        "runs/<uuid:run_id>/feedback/",
        feedback_view.run_feedback,
        name="run_feedback",
    ),
    path("runs/<uuid:run_id>/rerun/", views.run_rerun_view, name="run_rerun"),
    path("runs/<uuid:run_id>/replay/", fork_views.run_replay, name="run_replay"),
    path(
        "runs/<uuid:run_id>/steps/<int:round>/<int:step>/fork/",
        fork_views.step_fork,
        name="step_fork",
    ),
    path("runs/<uuid:run_id>/verify/", views.run_verify, name="run_verify"),
    path("runs/<uuid:run_id>/report/", run_report.run_report, name="run_report"),
    path("runs/<uuid:run_id>/bundle/", views.run_bundle, name="run_bundle"),
    path("runs/<uuid:run_id>/export.jsonl", views.run_export, name="run_export"),
    path("compare/<uuid:left>/<uuid:right>/", _comparing("pair_page"), name="compare"),
    path(
        "compare/<uuid:left>/<uuid:right>/keep/",
        _comparing("pair_keep"),
        name="compare_keep",
    ),
    path("comparisons/", _comparing("comparison_index"), name="comparison_list"),
    path("comparisons/new/", _comparing("comparison_new"), name="comparison_new"),
    path("comparisons/start/", _comparing("comparison_start"), name="comparison_start"),
    path(
        "comparisons/<uuid:comparison_id>/",
        _comparing("comparison_page"),
        name="comparison",
    ),
    path(
        "comparisons/<uuid:comparison_id>/body/",
        _comparing("comparison_body"),
        name="comparison_body",
    ),
    path(
        "comparisons/<uuid:comparison_id>/vote/",
        _comparing("comparison_vote"),
        name="comparison_vote",
    ),
    path(
        "comparisons/<uuid:comparison_id>/judge/",
        _comparing("comparison_judge"),
        name="comparison_judge",
    ),
    path(
        "comparisons/<uuid:comparison_id>/stop/",
        _comparing("comparison_stop"),
        name="comparison_stop",
    ),
    path(
        "comparisons/<uuid:comparison_id>/answers/<slug:letter>/feedback/",
        _comparing("answer_feedback"),
        name="answer_feedback",
    ),
    path("runs/<uuid:run_id>/texts/<slug:part>/", part_views.run_text, name="run_text"),
    path(
        "runs/<uuid:run_id>/plans/<int:round>/",
        part_views.plan_context,
        name="plan_context",
    ),
    path(
        "runs/<uuid:run_id>/steps/<int:round>/<int:step>/",
        part_views.step_context,
        name="step_context",
    ),
]
