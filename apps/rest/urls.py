"""Addresses of the REST API."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path

from apps.rest import comparison_urls
from apps.rest.documentation import ApiDocs, ApiSchema, ApiSchema30
from apps.rest.notice_urls import notice_patterns
from apps.rest.resources import (
    attachments,
    budgets,
    conductors,
    conversations,
    credentials,
    feedback,
    invitations,
    keys,
    me,
    members,
    pools,
    run_forks,
    run_records,
    run_tags,
    runs,
    team,
    usage,
    workers,
)
from apps.rest.resources.governance import (
    approvals,
    ledger,
    ledger_exports,
    policy,
    policy_trials,
    retention,
    review_settings,
    reviews,
    suspension,
)
from apps.rest.resources.presets.operations import PATHS as PRESET_PATHS
from apps.rest.resources.run_lists import run_files, saved_views
from apps.rest.sharing_urls import sharing_urlpatterns
from apps.rest.views import NoSuchAddress
from apps.web.deferred_views import DeferredOperations

app_name = "rest"


def _deferred(name: str) -> DeferredOperations:
    """Return operations that are imported when asked for."""
    return DeferredOperations(f"apps.rest.resources.{name}")


urlpatterns: list[URLPattern] = [
    path("schema/", ApiSchema.as_view(), name="schema"),
    path("schema/3.0/", ApiSchema30.as_view(), name="schema_30"),
    path("docs/", ApiDocs.as_view(), name="docs"),
    path("me/", me.Me.as_view(), name="me"),
    path("me/membership/", me.MyMembership.as_view(), name="my_membership"),
    path("team/", team.OneTeam.as_view(), name="team"),
    path("team/suspension/", suspension.SuspensionView.as_view(), name="suspension"),
    path(
        "site/suspension/",
        suspension.SiteSuspensionView.as_view(),
        name="site_suspension",
    ),
    path("members/", members.Members.as_view(), name="members"),
    path("members/<uuid:user_id>/", members.OneMember.as_view(), name="member"),
    path("invitations/", invitations.Invitations.as_view(), name="invitations"),
    path(
        "invitations/<uuid:invitation_id>/",
        invitations.OneInvitation.as_view(),
        name="invitation",
    ),
    path(
        "invitations/<uuid:invitation_id>/resend/",
        invitations.InvitationResend.as_view(),
        name="invitation_resend",
    ),
    path("keys/", keys.Keys.as_view(), name="keys"),
    path("keys/<uuid:key_id>/", keys.OneKey.as_view(), name="key"),
    path("keys/<uuid:key_id>/rotate/", keys.KeyRotate.as_view(), name="key_rotate"),
    path("keys/<uuid:key_id>/revoke/", keys.KeyRevoke.as_view(), name="key_revoke"),
    path("credentials/", credentials.Credentials.as_view(), name="credentials"),
    path(
        "credentials/<uuid:credential_id>/",
        credentials.OneCredential.as_view(),
        name="credential",
    ),
    path("providers/", pools.Providers.as_view(), name="providers"),
    path("workers/", workers.Workers.as_view(), name="workers"),
    path("workers/models/", workers.ProviderModels.as_view(), name="models"),
    path("workers/<uuid:worker_id>/", workers.OneWorker.as_view(), name="worker"),
    path(
        "workers/<uuid:worker_id>/test/",
        workers.WorkerTest.as_view(),
        name="worker_test",
    ),
    path("conductors/", conductors.Conductors.as_view(), name="conductors"),
    path(
        "conductors/<uuid:conductor_id>/",
        conductors.OneConductor.as_view(),
        name="conductor",
    ),
    path(
        "conductors/<uuid:conductor_id>/test/",
        conductors.ConductorTest.as_view(),
        name="conductor_test",
    ),
    path("pools/", pools.Pools.as_view(), name="pools"),
    path("pools/<uuid:pool_id>/", pools.OnePool.as_view(), name="pool"),
    path(
        "pools/<uuid:pool_id>/versions/",
        pools.PoolVersions.as_view(),
        name="pool_versions",
    ),
    path(
        "pools/<uuid:pool_id>/versions/<int:version>/",
        pools.OnePoolVersion.as_view(),
        name="pool_version",
    ),
    path(
        "pools/<uuid:pool_id>/changes/",
        pools.PoolChanges.as_view(),
        name="pool_changes",
    ),
    path("budgets/", budgets.Budgets.as_view(), name="budgets"),
    path("budgets/<uuid:budget_id>/", budgets.OneBudget.as_view(), name="budget"),
    path("policy/", policy.PolicyView.as_view(), name="policy"),
    path("policy/site/", policy.SitePolicyView.as_view(), name="site_policy"),
    path("policy/trials/", policy_trials.PolicyTrials.as_view(), name="policy_trials"),
    path(
        "policy/trials/<uuid:trial_id>/",
        policy_trials.OnePolicyTrial.as_view(),
        name="policy_trial",
    ),
    path(
        "policy/trials/<uuid:trial_id>/cancel/",
        policy_trials.PolicyTrialCancel.as_view(),
        name="policy_trial_cancel",
    ),
    path(
        "policy/trials/<uuid:trial_id>/runs/",
        policy_trials.PolicyTrialRuns.as_view(),
        name="policy_trial_runs",
    ),
    path("policy/versions/", policy.PolicyVersions.as_view(), name="policy_versions"),
    path(
        "policy/versions/<int:version>/",
        policy.OnePolicyVersion.as_view(),
        name="policy_version",
    ),
    path("approvals/", approvals.Approvals.as_view(), name="approvals"),
    path(
        "runs/<uuid:run_id>/approval/",
        approvals.RunApproval.as_view(),
        name="run_approval",
    ),
    path(
        "runs/<uuid:run_id>/approval/approve/",
        approvals.RunApprove.as_view(),
        name="run_approve",
    ),
    path(
        "runs/<uuid:run_id>/approval/refuse/",
        approvals.RunRefuse.as_view(),
        name="run_refuse",
    ),
    path("feedback/", feedback.CompletionFeedback.as_view(), name="feedback"),
    path("ledger/", ledger.Ledger.as_view(), name="ledger"),
    path(
        "ledger/exports/", ledger_exports.LedgerExports.as_view(), name="ledger_exports"
    ),
    path(
        "ledger/exports/<uuid:export_id>/",
        ledger_exports.LedgerExportView.as_view(),
        name="ledger_export",
    ),
    path(
        "ledger/exports/<uuid:export_id>/file/",
        ledger_exports.LedgerExportFile.as_view(),
        name="ledger_export_file",
    ),
    path("ledger/status/", ledger.LedgerStatus.as_view(), name="ledger_status"),
    path("reviews/", reviews.Reviews.as_view(), name="reviews"),
    path(
        "reviews/figures/", reviews.ReviewFiguresView.as_view(), name="review_figures"
    ),
    path(
        "reviews/settings/",
        review_settings.ReviewSettingsView.as_view(),
        name="review_settings",
    ),
    path("reviews/<uuid:review_id>/", reviews.OneReview.as_view(), name="review"),
    path(
        "reviews/<uuid:review_id>/reservation/",
        reviews.ReviewReserve.as_view(),
        name="review_reservation",
    ),
    path(
        "reviews/<uuid:review_id>/judge/",
        reviews.ReviewJudge.as_view(),
        name="review_judge",
    ),
    path(
        "reviews/<uuid:review_id>/requeue/",
        reviews.ReviewRequeue.as_view(),
        name="review_requeue",
    ),
    path(
        "reviews/<uuid:review_id>/comments/",
        reviews.ReviewComments.as_view(),
        name="review_comments",
    ),
    path("suites/", _deferred("evaluation.evaluations.Suites"), name="suites"),
    path(
        "suites/reviewed/",
        _deferred("evaluation.reviewed_suites.ReviewedSuites"),
        name="suites_reviewed",
    ),
    path(
        "suites/<uuid:suite_id>/", _deferred("evaluation.suites.OneSuite"), name="suite"
    ),
    path(
        "suites/<uuid:suite_id>/tasks/",
        _deferred("evaluation.suites.SuiteTasks"),
        name="suite_tasks",
    ),
    path(
        "evaluations/",
        _deferred("evaluation.evaluations.Evaluations"),
        name="evaluations",
    ),
    path(
        "evaluations/estimate/",
        _deferred("evaluation.evaluations.EvaluationEstimateView"),
        name="evaluation_estimate",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/",
        _deferred("evaluation.evaluations.OneEvaluation"),
        name="evaluation",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/cancel/",
        _deferred("evaluation.evaluations.EvaluationCancel"),
        name="evaluation_cancel",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/report/",
        _deferred("evaluation.evaluation_reports.EvaluationReport"),
        name="evaluation_report",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/results/",
        _deferred("evaluation.evaluation_reports.EvaluationResults"),
        name="evaluation_results",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/inspect/<int:place>/",
        _deferred("evaluation.evaluation_reports.EvaluationInspect"),
        name="evaluation_inspect",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/comparison/",
        _deferred("evaluation.evaluation_reports.EvaluationComparison"),
        name="evaluation_comparison",
    ),
    path(
        "learning/settings/",
        _deferred("evaluation.learning.LearningSettingsView"),
        name="learning_settings",
    ),
    path(
        "learning/data/",
        _deferred("evaluation.learning.LearningData"),
        name="learning_data",
    ),
    path(
        "learning/export/",
        _deferred("evaluation.learning.LearningExportView"),
        name="learning_export",
    ),
    path(
        "learning/promises/",
        _deferred("evaluation.promises.Promises"),
        name="learning_promises",
    ),
    path(
        "learning/promises/<uuid:promise_id>/dismiss/",
        _deferred("evaluation.promises.PromiseDismissal"),
        name="learning_promise_dismiss",
    ),
    path(
        "learning/subtasks/",
        _deferred("evaluation.subtasks.LearningSubtasks"),
        name="learning_subtasks",
    ),
    path(
        "learning/trainings/",
        _deferred("evaluation.trainings.Trainings"),
        name="trainings",
    ),
    path(
        "learning/trainings/<uuid:training_id>/",
        _deferred("evaluation.trainings.OneTraining"),
        name="training",
    ),
    path(
        "learning/trainings/<uuid:training_id>/cancel/",
        _deferred("evaluation.trainings.TrainingCancel"),
        name="training_cancel",
    ),
    path(
        "learning/pools/<uuid:pool_id>/versions/",
        _deferred("evaluation.trainings.PlannerVersions"),
        name="planner_versions",
    ),
    path(
        "learning/pools/<uuid:pool_id>/versions/<int:number>/",
        _deferred("evaluation.trainings.PlannerVersionView"),
        name="planner_version",
    ),
    path(
        "learning/pools/<uuid:pool_id>/planner/",
        _deferred("evaluation.trainings.PlannerUse"),
        name="planner_use",
    ),
    path(
        "learning/conductors/trainings/",
        _deferred("evaluation.conductor_trainings.ConductorTrainings"),
        name="conductor_trainings",
    ),
    path(
        "learning/conductors/trainings/<uuid:conductor_training_id>/",
        _deferred("evaluation.conductor_trainings.OneConductorTraining"),
        name="conductor_training",
    ),
    path(
        "learning/conductors/trainings/<uuid:conductor_training_id>/cancel/",
        _deferred("evaluation.conductor_trainings.ConductorTrainingCancel"),
        name="conductor_training_cancel",
    ),
    path(
        "learning/conductors/",
        _deferred("evaluation.conductor_trainings.ConductorVersions"),
        name="conductor_versions",
    ),
    path(
        "learning/conductors/<int:number>/",
        _deferred("evaluation.conductor_trainings.OneConductorVersion"),
        name="conductor_version",
    ),
    path(
        "learning/conductors/<int:number>/publish/",
        _deferred("evaluation.conductor_trainings.ConductorPublish"),
        name="conductor_publish",
    ),
    path(
        "learning/conductors/<int:number>/use/",
        _deferred("evaluation.conductor_trainings.ConductorUse"),
        name="conductor_use",
    ),
    path("ab-tests/", _deferred("evaluation.ab_tests.ABTests"), name="ab_tests"),
    path(
        "ab-tests/<uuid:ab_test_id>/",
        _deferred("evaluation.ab_tests.OneABTest"),
        name="ab_test",
    ),
    path(
        "ab-tests/<uuid:ab_test_id>/stop/",
        _deferred("evaluation.ab_tests.ABTestStop"),
        name="ab_test_stop",
    ),
    path(
        "ab-tests/<uuid:ab_test_id>/promotion/",
        _deferred("evaluation.ab_tests.ABTestPromotion"),
        name="ab_test_promotion",
    ),
    path(
        "shadow-tests/",
        _deferred("evaluation.shadow_tests.ShadowTests"),
        name="shadow_tests",
    ),
    path(
        "shadow-tests/<uuid:test_id>/",
        _deferred("evaluation.shadow_tests.OneShadowTest"),
        name="shadow_test",
    ),
    path(
        "shadow-tests/<uuid:test_id>/runs/",
        _deferred("evaluation.shadow_tests.ShadowTestRuns"),
        name="shadow_test_runs",
    ),
    path(
        "shadow-tests/<uuid:test_id>/stop/",
        _deferred("evaluation.shadow_tests.ShadowTestStop"),
        name="shadow_test_stop",
    ),
    path(
        "shadow-tests/<uuid:test_id>/promotion/",
        _deferred("evaluation.shadow_tests.ShadowTestPromotion"),
        name="shadow_test_promotion",
    ),
    *notice_patterns,
    path("retention/", retention.RetentionView.as_view(), name="retention"),
    path(
        "retention/conversations/",
        retention.IdleConversations.as_view(),
        name="retention_conversations",
    ),
    path("holds/", retention.Holds.as_view(), name="holds"),
    path("holds/<uuid:hold_id>/", retention.OneHold.as_view(), name="hold"),
    path(
        "holds/<uuid:hold_id>/release/",
        retention.HoldRelease.as_view(),
        name="hold_release",
    ),
    path(
        "insights/queries/",
        _deferred("insights.InsightQueries"),
        name="insights_queries",
    ),
    path(
        "insights/failures/",
        _deferred("insights.InsightFailures"),
        name="insights_failures",
    ),
    path("insights/plans/", _deferred("insights.InsightPlans"), name="insights_plans"),
    path("usage/", usage.UsageView.as_view(), name="usage"),
    path("attachments/", attachments.Attachments.as_view(), name="attachments"),
    path(
        "attachments/<uuid:attachment_id>/",
        attachments.OneAttachment.as_view(),
        name="attachment",
    ),
    path(
        "runs/<uuid:run_id>/attachments/<uuid:attachment_id>/",
        attachments.RunAttachment.as_view(),
        name="run_attachment",
    ),
    *PRESET_PATHS,
    path("conversations/", conversations.Conversations.as_view(), name="conversations"),
    path(
        "conversations/<uuid:conversation_id>/",
        conversations.OneConversation.as_view(),
        name="conversation",
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/",
        conversations.ConversationTurns.as_view(),
        name="turns",
    ),
    path(
        "conversations/<uuid:conversation_id>/turns/<uuid:turn_id>/repeat/",
        conversations.TurnRepeat.as_view(),
        name="turn_repeat",
    ),
    *comparison_urls.urlpatterns,
    path("runs/", runs.Runs.as_view(), name="runs"),
    path("runs/estimate/", runs.RunEstimate.as_view(), name="run_estimate"),
    path("runs/<uuid:run_id>/", runs.OneRun.as_view(), name="run"),
    path(
        "runs/<uuid:run_id>/entries/",
        run_records.RunEntries.as_view(),
        name="run_entries",
    ),
    path("runs/<uuid:run_id>/tags/", run_tags.RunTags.as_view(), name="run_tags"),
    path("views/", saved_views.SavedViews.as_view(), name="saved_views"),
    path(
        "views/<uuid:view_id>/", saved_views.OneSavedView.as_view(), name="saved_view"
    ),
    path("runs/export/", run_files.RunFile.as_view(), name="run_list_export"),
    path(
        "runs/<uuid:run_id>/export/", run_records.RunExport.as_view(), name="run_export"
    ),
    path("runs/<uuid:run_id>/cancel/", runs.RunCancel.as_view(), name="run_cancel"),
    path(
        "runs/<uuid:run_id>/feedback/",
        feedback.RunFeedbackView.as_view(),
        name="run_feedback",
    ),
    path("runs/<uuid:run_id>/rerun/", runs.RunRerun.as_view(), name="run_rerun"),
    path("runs/<uuid:run_id>/fork/", run_forks.RunFork.as_view(), name="run_fork"),
    *sharing_urlpatterns,
    re_path("", NoSuchAddress.as_view(), name="nothing"),
]
