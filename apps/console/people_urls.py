"""Addresses of the pages about people, keys, budgets and usage."""

from __future__ import annotations

from django.urls import path

from apps.console.sharing import views as sharing_views
from apps.console.views import (
    budgets,
    invitations,
    keys,
    ledger,
    ledger_exports,
    members,
    policy,
    policy_patterns,
    policy_trials,
    retention,
    reviews,
    suspension,
    team,
    usage,
    webhooks,
)

TRIAL = "policy/trials/<uuid:trial_id>/"
urlpatterns = [
    path("teams/new/", team.team_create_page, name="team_create"),
    path("team/settings/", team.team_page, name="team"),
    path("team/rename/", team.team_rename, name="team_rename"),
    path("team/rates/", team.team_rates, name="team_rates"),
    path("team/delete/", team.team_delete_page, name="team_delete"),
    path("team/stop/", suspension.runs_suspend_page, name="runs_suspend"),
    path("team/allow/", suspension.runs_allow_view, name="runs_allow"),
    path("team/leave/", members.team_leave, name="team_leave"),
    path("members/", members.member_list_page, name="member_list"),
    path(
        "members/invite/",
        invitations.invitation_create_page,
        name="invitation_create",
    ),
    path("members/<uuid:user_id>/", members.member_edit, name="member_edit"),
    path(
        "members/<uuid:user_id>/remove/",
        members.member_remove_page,
        name="member_remove",
    ),
    path(
        "members/invitations/<uuid:invitation_id>/resend/",
        invitations.invitation_resend_page,
        name="invitation_resend",
    ),
    path(
        "members/invitations/<uuid:invitation_id>/revoke/",
        invitations.invitation_revoke_page,
        name="invitation_revoke",
    ),
    path("invitations/<str:token>/", invitations.invitation_page, name="invitation"),
    path("keys/", keys.key_list_page, name="key_list"),
    path("keys/new/", keys.key_create, name="key_create"),
    path("keys/<uuid:key_id>/", keys.key_edit, name="key_edit"),
    path("keys/<uuid:key_id>/rotate/", keys.key_rotate, name="key_rotate"),
    path("keys/<uuid:key_id>/revoke/", keys.key_revoke, name="key_revoke"),
    path("budgets/", budgets.budget_list_page, name="budget_list"),
    path("budgets/new/", budgets.budget_create_page, name="budget_create"),
    path("budgets/<uuid:budget_id>/", budgets.budget_edit, name="budget_edit"),
    path(
        "budgets/<uuid:budget_id>/delete/",
        budgets.budget_delete_page,
        name="budget_delete",
    ),
    path("policy/", policy.policy_page, name="policy"),
    path("policy/rules/new/", policy.policy_rule_new, name="policy_rule_new"),
    path("policy/rules/<int:place>/", policy.policy_rule_edit, name="policy_rule_edit"),
    path(
        "policy/rules/<int:place>/move/",
        policy.policy_rule_move,
        name="policy_rule_move",
    ),
    path(
        "policy/rules/<int:place>/delete/",
        policy.policy_rule_delete,
        name="policy_rule_delete",
    ),
    path(
        "policy/new-pattern/",
        policy_patterns.policy_pattern_new,
        name="policy_pattern_new",
    ),
    path(
        "policy/patterns/<slug:name>/",
        policy_patterns.policy_pattern_edit,
        name="policy_pattern_edit",
    ),
    path(
        "policy/patterns/<slug:name>/delete/",
        policy_patterns.policy_pattern_delete,
        name="policy_pattern_delete",
    ),
    path("policy/examples/", policy.policy_examples, name="policy_examples"),
    path("policy/trials/", policy_trials.policy_trials, name="policy_trials"),
    path(TRIAL, policy_trials.policy_trial, name="policy_trial"),
    path(
        f"{TRIAL}cancel/",
        policy_trials.policy_trial_cancel_action,
        name="policy_trial_cancel",
    ),
    path(f"{TRIAL}again/", policy_trials.policy_trial_again, name="policy_trial_again"),
    path(
        f"{TRIAL}delete/",
        policy_trials.policy_trial_delete_action,
        name="policy_trial_delete",
    ),
    path("policy/history/", policy.policy_history, name="policy_history"),
    path(
        "policy/history/<int:version>/restore/",
        policy.policy_restore,
        name="policy_restore",
    ),
    path("webhooks/", webhooks.webhook_list_page, name="webhook_list"),
    path("webhooks/new/", webhooks.webhook_new, name="webhook_new"),
    path("webhooks/<uuid:webhook_id>/", webhooks.webhook_page, name="webhook"),
    path(
        "webhooks/<uuid:webhook_id>/edit/", webhooks.webhook_edit, name="webhook_edit"
    ),
    path(
        "webhooks/<uuid:webhook_id>/switch/",
        webhooks.webhook_switch,
        name="webhook_switch",
    ),
    path(
        "webhooks/<uuid:webhook_id>/secret/",
        webhooks.webhook_rotate,
        name="webhook_rotate",
    ),
    path(
        "webhooks/<uuid:webhook_id>/test/",
        webhooks.webhook_test_view,
        name="webhook_test",
    ),
    path(
        "webhooks/<uuid:webhook_id>/delete/",
        webhooks.webhook_remove,
        name="webhook_delete",
    ),
    path(
        "webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/resend/",
        webhooks.webhook_resend,
        name="webhook_resend",
    ),
    path("ledger/", ledger.ledger_page, name="ledger"),
    path("ledger/status/", ledger.ledger_status, name="ledger_status"),
    path("ledger/check/", ledger.ledger_check, name="ledger_check"),
    path("ledger/exports/", ledger_exports.ledger_exports, name="ledger_exports"),
    path(
        "ledger/exports/<uuid:export_id>/file/",
        ledger_exports.ledger_export_file,
        name="ledger_export_file",
    ),
    path(
        "ledger/exports/<uuid:export_id>/delete/",
        ledger_exports.ledger_export_delete,
        name="ledger_export_delete",
    ),
    path("ledger/<int:seq>/", ledger.ledger_entry, name="ledger_entry"),
    path("review/settings/", reviews.review_settings_page, name="review_settings"),
    path("retention/", retention.retention_page, name="retention"),
    path("retention/edit/", retention.retention_edit, name="retention_edit"),
    path("retention/conversations/", retention.idle_rule_edit, name="idle_rule_edit"),
    path("holds/new/", retention.hold_new, name="hold_new"),
    path(
        "holds/<uuid:hold_id>/release/",
        retention.hold_release_page,
        name="hold_release",
    ),
    path("share-links/", sharing_views.share_links_page, name="share_links"),
    path("share-links/settings/", sharing_views.sharing_edit, name="sharing_edit"),
    path("share-links/revoke/", sharing_views.share_links_end, name="share_links_end"),
    path(
        "share-links/<uuid:link_id>/revoke/",
        sharing_views.share_link_revoke_page,
        name="share_link_revoke",
    ),
    path("usage/", usage.usage_page, name="usage"),
    *(
        path(
            f"usage/export.{form}",
            usage.usage_file,
            {"form": form},
            name=f"usage_{form}",
        )
        for form in ("csv", "jsonl")
    ),
]
