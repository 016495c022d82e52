"""What people decide about plans that wait: approve, change, refuse. On record.

An approval is bound to the digest of the plan that its approver saw. Whoever changes a
plan approves it with that; approvals that others gave to the plan before do not count
for the new one. The run acts on a decision once, in the commit that accepts the plan.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.principal import Principal
from apps.accounts.rights import APPROVE_PLANS
from apps.core.errors import Conflict, NotAllowed
from apps.core.validation import clean_fields, clean_lines
from apps.engine.gate import ApprovalOutcome
from apps.engine.plan import Plan
from apps.governance.approvals.edited_plans import (
    plan_of_stored,
    plan_read,
    plan_stored,
)
from apps.governance.approvals.pending import PendingPlan
from apps.governance.approvals.recorded import (
    GRANTED,
    NOT_RECORDED,
    is_approval_recorded,
)
from apps.governance.models import REASON_LENGTH
from apps.governance.run_entries import run_entry_append
from apps.runs.models import ApprovalState, PlanApproval, PlanVote

logger = logging.getLogger(__name__)
CHANGED = "the plan has been changed meanwhile; look at it again"
DECIDED = "somebody has decided about this plan already"
EXPIRED = "the time to approve this plan is over"
OWN_RUN = "you started this run, so somebody else must decide about its plan"


@transaction.atomic
def plan_approve(
    *,
    pending: PendingPlan,
    plan_digest: str,
    principal: Principal,
    plan: Mapping[str, Any] | None = None,
) -> PlanApproval:
    """Approve a plan, or with `plan` another one in its place.

    `plan_digest` is of the plan that the approver saw. Raises: NotAllowed to the member
    who started the run; Conflict if the plan is another one by now, or is decided;
    InvalidFields for a plan that breaks a rule.
    """
    approval = _locked(pending, plan_digest, principal)
    edited = None if plan is None else _edited(pending, plan, approval)
    actor = principal.actor
    if edited is not None:
        _replace_plan(pending, approval, edited, principal)
    assert principal.user is not None
    votes = PlanVote.objects.for_team(approval.team_id)
    _, is_new = votes.get_or_create(
        approval=approval,
        user_id=principal.user.id,
        plan_digest=approval.plan_digest,
        defaults={"team_id": approval.team_id, "name": actor.display[:200]},
    )
    if not is_new:
        raise Conflict("you have approved this plan already")
    names = list(
        votes.filter(approval=approval, plan_digest=approval.plan_digest)
        .order_by("id")
        .values_list("name", flat=True)
    )
    if len(names) >= approval.approvals_needed:
        approval.state = ApprovalState.APPROVED
        approval.decided_by = "\n".join(names)
    approval.save()
    facts = {
        "round": approval.round,
        "plan_digest": approval.plan_digest,
        "approvals": len(names),
        "approvals_needed": approval.approvals_needed,
    }
    _record(approval, GRANTED, principal, facts, {})
    return approval


@transaction.atomic
def plan_refuse(
    *, pending: PendingPlan, plan_digest: str, principal: Principal, reason: Any
) -> PlanApproval:
    """Refuse a plan; the run ends. Raises: as `plan_approve`; InvalidFields."""
    cleaned = clean_fields({"reason": reason}, {"reason": _clean_reason})["reason"]
    approval = _locked(pending, plan_digest, principal)
    approval.state = ApprovalState.REFUSED
    approval.decided_by = principal.actor.display[:200]
    approval.reason = cleaned
    approval.save()
    facts = {"round": approval.round, "plan_digest": approval.plan_digest}
    _record(approval, "approval.refused", principal, facts, {"reason": cleaned})
    return approval


def approvals_take(
    run_ids: Collection[uuid.UUID],
) -> dict[uuid.UUID, ApprovalOutcome]:
    """Return what has been decided about the plans of these runs; end late ones.

    An approval that the ledger does not have is a refusal.
    """
    rows = PlanApproval.objects.across_teams().filter(
        run_id__in=run_ids, settled_at__isnull=True
    )
    late = rows.filter(state=ApprovalState.WAITING, expires_at__lte=timezone.now())
    late.update(state=ApprovalState.EXPIRED)
    decided = rows.exclude(state=ApprovalState.WAITING)
    return {row.run_id: _outcome(row) for row in decided}


def _outcome(row: PlanApproval) -> ApprovalOutcome:
    names = tuple(row.decided_by.splitlines())
    match row.state:
        case ApprovalState.APPROVED:
            plan = plan_of_stored(row.edited_plan)
            if not is_approval_recorded(row, plan):
                logger.error("approvals: run %s: %s", row.run_id, NOT_RECORDED)
                return ApprovalOutcome("refused", reason=NOT_RECORDED)
            return ApprovalOutcome("approved", names, plan)
        case ApprovalState.EXPIRED:
            return ApprovalOutcome("expired")
        case _:
            return ApprovalOutcome("refused", names, reason=row.reason)


def _locked(
    pending: PendingPlan, plan_digest: str, principal: Principal
) -> PlanApproval:
    """Return the row of a waiting plan, which this principal may decide about."""
    principal.require(APPROVE_PLANS)
    rows = PlanApproval.objects.for_team(principal.team_id).select_for_update()
    row = rows.filter(pk=pending.approval.pk).first()
    if row is None or row.state == ApprovalState.WITHDRAWN:
        raise Conflict("the run has ended")
    if row.requester_id is not None and row.requester_id == principal.user_id:
        raise NotAllowed(OWN_RUN)
    if row.state == ApprovalState.WAITING and row.expires_at <= timezone.now():
        raise Conflict(EXPIRED)
    if row.state != ApprovalState.WAITING or row.settled_at is not None:
        raise Conflict(EXPIRED if row.state == ApprovalState.EXPIRED else DECIDED)
    if row.plan_digest != plan_digest:
        raise Conflict(CHANGED)
    return row


def _edited(
    pending: PendingPlan, values: Mapping[str, Any], approval: PlanApproval
) -> Plan | None:
    """Return the plan that replaces the present one; None if it is the same."""
    plan = plan_read(
        values,
        workers=pending.workers,
        max_steps=pending.max_steps,
        plans_rest=pending.original.plans_rest,
    )
    return None if plan.digest == approval.plan_digest else plan


def _replace_plan(
    pending: PendingPlan, approval: PlanApproval, plan: Plan, principal: Principal
) -> None:
    previous = approval.plan_digest
    approval.plan_digest = plan.digest
    is_original = plan.digest == pending.original.digest
    approval.edited_plan = "" if is_original else plan_stored(plan)
    approval.save()
    facts = {
        "round": approval.round,
        "previous_digest": previous,
        "plan_digest": plan.digest,
        "workers": [step.worker for step in plan.steps],
        "access": [list(step.access) for step in plan.steps],
    }
    texts = {"plan": plan_stored(plan)}
    _record(approval, "approval.plan_edited", principal, facts, texts)


def _clean_reason(value: Any) -> str:
    reason = clean_lines(value, "reason", REASON_LENGTH)
    if not reason:
        raise ValueError("say why; the person who started the run will read it")
    return reason


def _record(
    approval: PlanApproval,
    action: str,
    principal: Principal,
    facts: Mapping[str, Any],
    texts: Mapping[str, str],
) -> None:
    place = approval.team_id, approval.run_id
    run_entry_append(*place, action, principal.actor, facts, texts)
