"""Pages of plans that wait: the list, one plan with its editor, the decision."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import orjson
from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Permission
from apps.accounts.rights import APPROVE_PLANS
from apps.accounts.selectors import role_allows
from apps.core import plan_layout
from apps.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from apps.core.input_parts import values_read
from apps.engine.plan import Plan, PlannedStep
from apps.governance.approvals.edited_plans import EditedPlan, plan_read, plan_values
from apps.governance.approvals.links import ALTERED, OTHER_PERSON, link_fault
from apps.governance.approvals.pending import (
    PendingPlan,
    approval_in_teams,
    approvals_settled,
    approvals_waiting,
    pending_plan,
)
from apps.governance.services import plan_approve, plan_refuse
from apps.runs.models import PlanApproval
from apps.runs.selectors import access_run
from apps.web.team_access import TeamRequest, choose_team, page, refusal_show, team_view

SETTLED_SHOWN = 20
PRESENT_PLAN = gettext_noop("Below is the plan as it stands now.")
UNREADABLE = "the plan could not be read; reload the page and try again"


@dataclass(frozen=True, slots=True)
class PlanDrawing:
    """A plan with its drawing."""

    steps: tuple[tuple[PlannedStep, plan_layout.Node], ...]
    layout: plan_layout.Layout


@require_GET
@team_view
def approval_list(request: TeamRequest) -> HttpResponseBase:
    """List the plans that wait, and those decided lately."""
    context = {
        "section": "approvals",
        "waiting": approvals_waiting(request.team.id),
        "settled": approvals_settled(request.team.id)[:SETTLED_SHOWN],
        "may_approve": _may_approve(request),
    }
    return page(request, "playground/approval_list.html", context)


@require_GET
@team_view
def approval_page(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Show a plan that waits, for a decision."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    try:
        pending = pending_plan(request.team.id, run.id)
    except NotFound:
        told = gettext("No plan of this run waits for an approval any more.")
        messages.info(request, told)
        return redirect("playground:run_detail", run.id)
    return _approval_page(request, pending)


@require_GET
@team_view
def approval_link(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Follow the link of a mail to the plan, or say what is wrong with the link.

    A link that Conductor made for the reader also makes the pages show its team.
    """
    teams = [team.id for team in request.teams]
    approval = approval_in_teams(teams, run_id)
    if approval is None:
        raise NotFound("no plan of this run waits for you")
    fault = link_fault(request.GET.get("link", ""), approval, request.user.id)
    if fault not in (ALTERED, OTHER_PERSON):
        choose_team(request, approval.team_id)
    if fault and approval.settled_at is None:
        messages.warning(request, f"{gettext(fault)} {gettext(PRESENT_PLAN)}")
    return redirect("playground:run_approval", run_id)


@require_POST
@team_view
def approval_preview(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Draw a plan that is being edited, or say what is wrong with it."""
    request.principal.require(APPROVE_PLANS)
    pending = pending_plan(request.team.id, run_id)
    context: dict[str, Any] = {"drawing": None, "fault": ""}
    try:
        plan = _draft(request, pending)
    except InvalidInput as error:
        context["fault"] = error.message.removeprefix("plan: ")
    else:
        context["drawing"] = _drawn(plan)
        context["is_edited"] = plan.digest != pending.original.digest
    response = page(request, "playground/_plan_drawing.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@team_view
def approval_decide(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Approve the plan, as it is or as it was edited, or refuse it."""
    request.principal.require(APPROVE_PLANS)
    run = access_run(team_id=request.team.id, run_id=run_id)
    try:
        pending = pending_plan(request.team.id, run.id)
        done = _decide(request, pending)
    except InvalidInput as error:
        refusal_show(request, error)
        return _approval_page(request, pending, status=400)
    except (Conflict, NotAllowed, NotFound) as error:
        refusal_show(request, error)
        return redirect("playground:run_approval", run.id)
    messages.success(request, done)
    return redirect("playground:run_detail", run.id)


def _decide(request: TeamRequest, pending: PendingPlan) -> str:
    """Make the decision; return what was done."""
    digest = request.POST.get("plan_digest", "")
    if request.POST.get("verdict") == "refuse":
        plan_refuse(
            pending=pending,
            plan_digest=digest,
            principal=request.principal,
            reason=request.POST.get("reason", ""),
        )
        return gettext("The plan is refused. The run ends.")
    approval = plan_approve(
        pending=pending,
        plan_digest=digest,
        principal=request.principal,
        plan=_sent_plan(request) if request.POST.get("plan") else None,
    )
    return _approved(approval)


def _approved(approval: PlanApproval) -> str:
    if approval.state == "waiting":
        return gettext(
            "You have approved the plan. It needs the approval of one more person."
        )
    return gettext("The plan is approved. The run goes on.")


def _approval_page(
    request: TeamRequest, pending: PendingPlan, status: int = 200
) -> HttpResponseBase:
    """Show the plan as it stands; what was sent and not taken stays in the editor."""
    plan = plan_values(pending.plan)
    is_own = pending.approval.requester_id == request.user.id
    context = {
        "section": "approvals",
        "pending": pending,
        "drawing": _drawn(pending.plan),
        "original": _drawn(pending.original) if pending.is_edited else None,
        "editor": {
            **plan,
            "draft": _sent_steps(request) or plan["steps"],
            "workers": pending.workers,
            "max_steps": pending.max_steps,
        },
        "reason": request.POST.get("reason", ""),
        "is_own": is_own,
        "may_decide": _may_approve(request) and not is_own,
        "has_voted": request.principal.user_id in pending.voter_ids,
    }
    return page(request, "playground/approval.html", context, status=status)


def _draft(request: TeamRequest, pending: PendingPlan) -> Plan:
    """Return the plan that was sent. Raises: InvalidInput."""
    return plan_read(
        _sent_plan(request),
        workers=pending.workers,
        max_steps=pending.max_steps,
        plans_rest=pending.original.plans_rest,
    )


def _sent_steps(request: TeamRequest) -> list[dict[str, Any]] | None:
    """Return the steps that were sent, whatever their fault; None if none were."""
    try:
        values = values_read(EditedPlan, _sent_plan(request))
    except InvalidInput:
        return None
    return [step.model_dump(mode="json") for step in values.steps]


def _sent_plan(request: TeamRequest) -> dict[str, Any]:
    """Return the plan in the body of a request. Raises: InvalidInput."""
    try:
        values = orjson.loads(request.POST.get("plan", ""))
    except orjson.JSONDecodeError as exc:
        raise InvalidInput(UNREADABLE, param="plan") from exc
    if not isinstance(values, dict):
        raise InvalidInput(UNREADABLE, param="plan")
    return values


def _drawn(plan: Plan) -> PlanDrawing:
    layout = plan_layout.lay_out([step.access for step in plan.steps])
    return PlanDrawing(tuple(zip(plan.steps, layout.nodes, strict=True)), layout)


def _may_approve(request: TeamRequest) -> bool:
    return role_allows(request.membership.role, Permission.APPROVE_PLANS)
