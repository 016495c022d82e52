"""Plans that wait until people have approved them."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import APPROVE_PLANS, READ_APPROVALS
from apps.core.data_classes import DATA_CLASSES
from apps.governance.approvals.edited_plans import plan_values
from apps.governance.approvals.pending import (
    PendingPlan,
    approvals_waiting,
    pending_plan,
)
from apps.governance.models import REASON_LENGTH
from apps.governance.services import plan_approve, plan_refuse
from apps.rest.fields import DollarsOut, Input, Output, TextField, Time
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.models import PlanApproval

TAG = "Approvals"
DIGEST = "5b1c8f0e6a2d4937b0c1d2e3f4a5968778695a4b3c2d1e0f5b1c8f0e6a2d4937"
RUN_ID = "0199c0de-0000-7000-8000-000000000001"
STEPS: list[dict[str, Any]] = [
    {"worker": "falcon", "subtask": "List the clauses.", "access": []},
    {"worker": "heron", "subtask": "Judge them.", "access": [0]},
]
WAITING: dict[str, Any] = {
    "run_id": RUN_ID,
    "title": "Compare these two contracts.",
    "requested_by": "Bob",
    "requested_at": "2026-11-23T10:00:00.000000Z",
    "expires_at": "2026-11-24T10:00:00.000000Z",
    "approvals_needed": 1,
    "plan_digest": DIGEST,
}
PENDING: dict[str, Any] = {
    **WAITING,
    "round": 0,
    "reason": "Rule 'Contracts' says: hold the plan until somebody else has approved "
    "it, for 24 hours at most (team policy, version 3)",
    "rules": ["team: Contracts"],
    "estimated_cost_usd": "0.004200",
    "data_class": "confidential",
    "approved_by": [],
    "is_edited": False,
    "steps": STEPS,
    "original_steps": STEPS,
    "plans_rest": False,
    "workers": ["falcon", "heron"],
    "max_steps": 5,
}
DIGEST_HELP = "The plan's digest. A decision is bound to it."


class PlanStepInput(Input):
    """A step of a plan."""

    worker = TextField(max_length=100)
    subtask = TextField(help_text="What the worker is asked.")
    access = serializers.ListField(
        child=serializers.IntegerField(),
        required=False,
        help_text="The earlier steps it may read, counted from 0.",
    )


class ApproveInput(Input):
    """An approval."""

    plan_digest = TextField(max_length=64, help_text=DIGEST_HELP)
    steps = PlanStepInput(
        many=True,
        required=False,
        help_text="Another plan in its place; the last step answers. It must keep the "
        "rules that hold for the conductor.",
    )


class RefuseInput(Input):
    """A refusal."""

    plan_digest = TextField(max_length=64, help_text=DIGEST_HELP)
    reason = TextField(
        max_length=REASON_LENGTH,
        help_text="Shown to the person who started the run, and to the API client.",
    )


class PlanStepOutput(Output):
    """A step of a plan."""

    worker = serializers.CharField()
    subtask = serializers.CharField()
    access = serializers.ListField(child=serializers.IntegerField())


class WaitingOutput(Output):
    """A plan that waits."""

    run_id = serializers.UUIDField()
    title = serializers.CharField(source="run.title")
    requested_by = serializers.CharField(source="run.actor_name")
    requested_at = Time()
    expires_at = Time(help_text="Then the run ends as `approval_expired`.")
    approvals_needed = serializers.IntegerField()
    plan_digest = serializers.CharField(help_text=DIGEST_HELP)


class PendingOutput(Output):
    """A plan that waits, with all that is needed to decide."""

    run_id = serializers.UUIDField()
    title = serializers.CharField()
    requested_by = serializers.CharField()
    requested_at = Time()
    expires_at = Time()
    approvals_needed = serializers.IntegerField()
    plan_digest = serializers.CharField(help_text=DIGEST_HELP)
    round = serializers.IntegerField()
    reason = serializers.CharField(help_text="The rules that hold it back, in words.")
    rules = serializers.ListField(child=serializers.CharField())
    estimated_cost_usd = DollarsOut(
        allow_null=True, help_text="Null: the price of a worker is unknown."
    )
    data_class = serializers.ChoiceField(
        choices=DATA_CLASSES,
        allow_null=True,
        help_text="Of the prompt. Null: no rule depends on it.",
    )
    approved_by = serializers.ListField(
        child=serializers.CharField(),
        help_text="Who has approved the plan as it stands now.",
    )
    is_edited = serializers.BooleanField()
    steps = PlanStepOutput(many=True, help_text="The plan as it stands now.")
    original_steps = PlanStepOutput(many=True)
    plans_rest = serializers.BooleanField(
        help_text="True: the worker of the last step does not answer, it plans the "
        "rest. That stays so if the plan is edited."
    )
    workers = serializers.ListField(
        child=serializers.CharField(), help_text="Workers that a plan may use."
    )
    max_steps = serializers.IntegerField()


class Approvals(RestView):
    """The plans of the team that wait."""

    tag = TAG
    rights = {"GET": READ_APPROVALS}

    @operation(
        "approval_list",
        "List plans that wait for an approval",
        page_of=WaitingOutput,
        example=WAITING,
    )
    def get(self, request: Request) -> Response:
        """Return the plans that wait, the oldest first."""
        return self.listed(approvals_waiting(self.principal.team_id), WaitingOutput)


class RunApproval(RestView):
    """The plan of one run that waits."""

    tag = TAG
    rights = {"GET": READ_APPROVALS}

    @operation(
        "approval_get",
        "Read a plan that waits for an approval",
        answer=PendingOutput,
        example=PENDING,
    )
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """Return the plan of a run that waits, as it stands now."""
        pending = pending_plan(self.principal.team_id, run_id)
        return Response(PendingOutput(_told(pending)).data)


class RunApprove(RestView):
    """Approving a plan."""

    tag = TAG
    rights = {"POST": APPROVE_PLANS}

    @operation(
        "plan_approve",
        "Approve a plan",
        body=ApproveInput,
        answer=WaitingOutput,
        errors=(409,),
        sent={"plan_digest": DIGEST},
        example=WAITING,
    )
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Approve the plan of a run, or with `steps` another one in its place.

        Needs a signed-in member who may approve plans and did not start the run.
        """
        pending = pending_plan(self.principal.team_id, run_id)
        values = self.read(ApproveInput)
        steps = values.get("steps")
        approval = plan_approve(
            pending=pending,
            plan_digest=values["plan_digest"],
            principal=self.principal,
            plan=None if steps is None else {"steps": steps},
        )
        return Response(WaitingOutput(approval).data)


class RunRefuse(RestView):
    """Refusing a plan."""

    tag = TAG
    rights = {"POST": APPROVE_PLANS}

    @operation(
        "plan_refuse",
        "Refuse a plan",
        body=RefuseInput,
        answer=WaitingOutput,
        errors=(409,),
        sent={"plan_digest": DIGEST, "reason": "Not with these data."},
        example=WAITING,
    )
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Refuse the plan of a run. The run ends as `approval_refused`."""
        pending = pending_plan(self.principal.team_id, run_id)
        values = self.read(RefuseInput)
        approval = plan_refuse(pending=pending, principal=self.principal, **values)
        return Response(WaitingOutput(approval).data)


def _told(pending: PendingPlan) -> dict[str, Any]:
    approval: PlanApproval = pending.approval
    request = pending.request
    return {
        "run_id": approval.run_id,
        "title": pending.run.title,
        "requested_by": pending.run.actor_name,
        "requested_at": approval.requested_at,
        "expires_at": approval.expires_at,
        "approvals_needed": approval.approvals_needed,
        "plan_digest": approval.plan_digest,
        "round": approval.round,
        "reason": request.reason,
        "rules": request.rules,
        "estimated_cost_usd": request.estimated_cost_micros,
        "data_class": request.data_class or None,
        "approved_by": pending.votes,
        "is_edited": pending.is_edited,
        "steps": plan_values(pending.plan)["steps"],
        "original_steps": plan_values(pending.original)["steps"],
        "plans_rest": pending.plan.plans_rest,
        "workers": pending.workers,
        "max_steps": pending.max_steps,
    }
