"""Services of retention, legal holds, policies, approvals, feedback and reviews."""

from apps.governance.retention_job import (
    attachments_expire,
    conversations_expire,
    retention_erase,
)
from apps.governance.reviews.feeding import reviews_feed
from apps.governance.services.approvals import plan_approve, plan_refuse
from apps.governance.services.feedback import feedback_give, feedback_withdraw
from apps.governance.services.policies import policy_replace, site_policy_replace
from apps.governance.services.policy_trials import (
    MAX_TRIALS,
    MAX_TRIED_RUNS,
    TRIED_RUNS,
    policy_trial_cancel,
    policy_trial_delete,
    policy_trial_start,
)
from apps.governance.services.retention import (
    GRACE,
    hold_place,
    hold_release,
    holds_lock,
    idle_rule_set,
    retention_set,
    team_delete_check,
)
from apps.governance.services.review_settings import review_settings_replace
from apps.governance.services.reviews import (
    ANSWER_LENGTH,
    TEXT_LENGTH,
    review_comment,
    review_judge,
    review_release,
    review_request,
    review_requeue,
    review_reserve,
    reviews_request,
)

__all__ = [
    "ANSWER_LENGTH",
    "GRACE",
    "MAX_TRIALS",
    "MAX_TRIED_RUNS",
    "TEXT_LENGTH",
    "TRIED_RUNS",
    "attachments_expire",
    "conversations_expire",
    "feedback_give",
    "feedback_withdraw",
    "hold_place",
    "hold_release",
    "holds_lock",
    "idle_rule_set",
    "plan_approve",
    "plan_refuse",
    "policy_replace",
    "policy_trial_cancel",
    "policy_trial_delete",
    "policy_trial_start",
    "retention_erase",
    "retention_set",
    "review_comment",
    "review_judge",
    "review_release",
    "review_request",
    "review_requeue",
    "review_reserve",
    "review_settings_replace",
    "reviews_feed",
    "reviews_request",
    "site_policy_replace",
    "team_delete_check",
]
