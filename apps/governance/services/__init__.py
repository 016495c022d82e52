"""Services of retention, legal holds, policies, approvals and feedback."""

from apps.governance.retention_job import retention_erase
from apps.governance.services.approvals import plan_approve, plan_refuse
from apps.governance.services.feedback import feedback_give, feedback_withdraw
from apps.governance.services.policies import policy_replace
from apps.governance.services.retention import (
    GRACE,
    hold_place,
    hold_release,
    holds_lock,
    retention_set,
    team_delete_check,
)

__all__ = [
    "GRACE",
    "feedback_give",
    "feedback_withdraw",
    "hold_place",
    "hold_release",
    "holds_lock",
    "plan_approve",
    "plan_refuse",
    "policy_replace",
    "retention_erase",
    "retention_set",
    "team_delete_check",
]
