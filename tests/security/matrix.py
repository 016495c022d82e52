"""Who may do what at every address, written down apart from the code that decides it.

An address that is not here fails the tests: whoever adds one says here who may use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.accounts.models import Permission as P


@dataclass(frozen=True)
class Access:
    """What an address asks of a member. None: there is no such method."""

    read: P | None = None
    write: P | None = None
    is_open: bool = False
    """True: it answers everybody, about nobody's team."""


OPEN = Access(is_open=True)
RUNS = Access(P.READ_RUNS)
RUN = Access(write=P.RUN)
TEAM = Access(P.READ_TEAM)


def managed(permission: P, read: P | None = None) -> Access:
    """Return the access to a thing that one permission reads and changes."""
    return Access(read or permission, permission)


SUPERUSERS_ONLY = ("site_operations", "site_policy", "site_suspensions")
"""Pages below `admin/` that are not for everybody who may open the admin."""

MATRIX = {
    # --- open ---
    "account": OPEN,
    "rest:schema": OPEN,
    "rest:docs": OPEN,
    "rest:nothing": OPEN,
    "rest:me": OPEN,
    "console:team_create": OPEN,
    "console:invitation": OPEN,
    # --- playground ---
    "playground:index": RUNS,
    "playground/": RUNS,
    "playground:run_create": RUN,
    "playground:estimate": RUN,
    "playground:team_select": Access(write=P.READ_RUNS),
    "playground:run_list": RUNS,
    "playground:run_detail": RUNS,
    "playground:run_body": RUNS,
    "playground:run_cancel": RUN,
    "playground:run_compare": RUN,
    "playground:run_rerun": RUN,
    "playground:run_verify": Access(write=P.READ_RUNS),
    "playground:run_export": RUNS,
    "playground:run_feedback": Access(write=P.READ_RUNS),
    "playground:run_review": Access(write=P.READ_RUNS),
    "playground:review_list": Access(P.REVIEW_RUNS),
    "playground:review": Access(P.REVIEW_RUNS),
    "playground:review_reservation": Access(write=P.REVIEW_RUNS),
    "playground:review_verdict": Access(write=P.REVIEW_RUNS),
    "playground:review_again": Access(write=P.REVIEW_RUNS),
    "playground:review_remark": Access(write=P.REVIEW_RUNS),
    "playground:approval_list": RUNS,
    "playground:run_approval": RUNS,
    "playground:approval_preview": Access(write=P.APPROVE_PLANS),
    "playground:approval_decide": Access(write=P.APPROVE_PLANS),
    "playground:run_bundle": Access(write=P.EXPORT_RUNS),
    "playground:compare": RUNS,
    "playground:compare_body": RUNS,
    "playground:run_text": RUNS,
    "playground:plan_context": RUNS,
    "playground:step_context": RUNS,
    # --- console: people ---
    "console:team": TEAM,
    "console:team_rename": Access(write=P.MANAGE_TEAM),
    "console:runs_suspend": managed(P.STOP_RUNS),
    "console:runs_allow": Access(write=P.STOP_RUNS),
    "console:team_rates": Access(write=P.MANAGE_BUDGETS),
    "console:team_delete": managed(P.MANAGE_TEAM),
    "console:team_leave": managed(P.READ_TEAM),
    "console:member_list": TEAM,
    "console:invitation_create": managed(P.MANAGE_MEMBERS),
    "console:member_edit": managed(P.MANAGE_MEMBERS),
    "console:member_remove": managed(P.MANAGE_MEMBERS),
    "console:invitation_resend": managed(P.MANAGE_MEMBERS),
    "console:invitation_revoke": managed(P.MANAGE_MEMBERS),
    "console:key_list": TEAM,
    "console:key_create": managed(P.MANAGE_KEYS),
    "console:key_edit": managed(P.MANAGE_KEYS),
    "console:key_rotate": managed(P.MANAGE_KEYS),
    "console:key_revoke": managed(P.MANAGE_KEYS),
    "console:budget_list": TEAM,
    "console:budget_create": managed(P.MANAGE_BUDGETS),
    "console:budget_edit": managed(P.MANAGE_BUDGETS),
    "console:budget_delete": managed(P.MANAGE_BUDGETS),
    "console:usage": TEAM,
    "console:policy": TEAM,
    "console:policy_rule_new": managed(P.MANAGE_POLICY),
    "console:policy_rule_edit": managed(P.MANAGE_POLICY),
    "console:policy_rule_move": Access(write=P.MANAGE_POLICY),
    "console:policy_rule_delete": Access(write=P.MANAGE_POLICY),
    "console:policy_examples": Access(write=P.MANAGE_POLICY),
    "console:policy_history": TEAM,
    "console:policy_restore": Access(write=P.MANAGE_POLICY),
    "console:ledger": Access(P.READ_AUDIT),
    "console:ledger_entry": Access(P.READ_AUDIT),
    "console:ledger_status": Access(P.READ_AUDIT),
    "console:ledger_check": Access(write=P.READ_AUDIT),
    "console:review_settings": managed(P.MANAGE_POLICY, P.READ_TEAM),
    "console:retention": TEAM,
    "console:retention_edit": managed(P.MANAGE_TEAM),
    "console:hold_new": managed(P.MANAGE_HOLDS),
    "console:hold_release": managed(P.MANAGE_HOLDS),
    # --- console: pools ---
    "console:pool_list": TEAM,
    "console:pool_new": managed(P.MANAGE_POOLS),
    "console:pool_start": Access(write=P.MANAGE_POOLS),
    "console:pool": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "console:pool_history": TEAM,
    "console:pool_delete": managed(P.MANAGE_POOLS),
    "console:worker_list": TEAM,
    "console:worker_new": managed(P.MANAGE_POOLS),
    "console:worker": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "console:worker_test": Access(write=P.MANAGE_POOLS),
    "console:worker_list_price": Access(write=P.MANAGE_POOLS),
    "console:worker_delete": managed(P.MANAGE_POOLS),
    "console:conductor_list": TEAM,
    "console:conductor_new": managed(P.MANAGE_POOLS),
    "console:conductor": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "console:conductor_test": Access(write=P.MANAGE_POOLS),
    "console:conductor_server": TEAM,
    "console:conductor_delete": managed(P.MANAGE_POOLS),
    "console:credential_list": TEAM,
    "console:credential_new": managed(P.MANAGE_POOLS),
    "console:credential": managed(P.MANAGE_POOLS),
    "console:credential_delete": managed(P.MANAGE_POOLS),
    # --- REST ---
    "rest:my_membership": Access(write=P.READ_TEAM),
    "rest:team": managed(P.MANAGE_TEAM, P.READ_TEAM),
    "rest:suspension": managed(P.STOP_RUNS, P.READ_TEAM),
    "rest:members": TEAM,
    "rest:member": managed(P.MANAGE_MEMBERS, P.READ_TEAM),
    "rest:invitations": managed(P.MANAGE_MEMBERS),
    "rest:invitation": managed(P.MANAGE_MEMBERS),
    "rest:invitation_resend": Access(write=P.MANAGE_MEMBERS),
    "rest:keys": managed(P.MANAGE_KEYS),
    "rest:key": managed(P.MANAGE_KEYS),
    "rest:key_rotate": Access(write=P.MANAGE_KEYS),
    "rest:key_revoke": Access(write=P.MANAGE_KEYS),
    "rest:credentials": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "rest:credential": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "rest:presets": TEAM,
    "rest:workers": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "rest:models": Access(write=P.MANAGE_POOLS),
    "rest:worker": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "rest:worker_test": Access(write=P.MANAGE_POOLS),
    "rest:conductors": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "rest:conductor": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "rest:conductor_test": Access(write=P.MANAGE_POOLS),
    "rest:pools": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "rest:pool": managed(P.MANAGE_POOLS, P.READ_TEAM),
    "rest:pool_versions": TEAM,
    "rest:pool_version": TEAM,
    "rest:pool_changes": TEAM,
    "rest:budgets": managed(P.MANAGE_BUDGETS, P.READ_TEAM),
    "rest:budget": managed(P.MANAGE_BUDGETS, P.READ_TEAM),
    "rest:usage": TEAM,
    "rest:policy": managed(P.MANAGE_POLICY, P.READ_TEAM),
    "rest:site_policy": TEAM,
    "rest:policy_trial": Access(write=P.MANAGE_POLICY),
    "rest:policy_versions": TEAM,
    "rest:policy_version": TEAM,
    "rest:ledger": Access(P.READ_AUDIT),
    "rest:ledger_status": managed(P.READ_AUDIT),
    "rest:retention": managed(P.MANAGE_TEAM, P.READ_TEAM),
    "rest:holds": managed(P.MANAGE_HOLDS, P.READ_TEAM),
    "rest:hold": TEAM,
    "rest:hold_release": Access(write=P.MANAGE_HOLDS),
    "rest:runs": managed(P.RUN, P.READ_RUNS),
    "rest:run_estimate": Access(write=P.RUN),
    "rest:run": RUNS,
    "rest:run_entries": RUNS,
    "rest:run_feedback": managed(P.READ_RUNS, P.READ_RUNS),
    "rest:reviews": Access(P.REVIEW_RUNS, P.READ_RUNS),
    "rest:review": Access(P.REVIEW_RUNS),
    "rest:review_figures": Access(P.REVIEW_RUNS),
    "rest:review_settings": managed(P.MANAGE_POLICY, P.READ_TEAM),
    "rest:review_reservation": Access(write=P.REVIEW_RUNS),
    "rest:review_judge": Access(write=P.REVIEW_RUNS),
    "rest:review_requeue": Access(write=P.REVIEW_RUNS),
    "rest:review_comments": Access(write=P.REVIEW_RUNS),
    "rest:feedback": Access(write=P.READ_RUNS),
    "rest:approvals": RUNS,
    "rest:run_approval": RUNS,
    "rest:run_approve": Access(write=P.APPROVE_PLANS),
    "rest:run_refuse": Access(write=P.APPROVE_PLANS),
    "rest:run_export": Access(P.EXPORT_RUNS),
    "rest:run_cancel": RUN,
    "rest:run_rerun": RUN,
}
