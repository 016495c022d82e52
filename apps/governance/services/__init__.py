"""Services of retention, legal holds and policies."""

from apps.governance.retention_job import retention_erase
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
    "hold_place",
    "hold_release",
    "holds_lock",
    "policy_replace",
    "retention_erase",
    "retention_set",
    "team_delete_check",
]
