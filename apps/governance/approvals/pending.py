"""Reads of plans that wait for people."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.models import Permission, User
from apps.accounts.selectors import roles_with
from apps.core.errors import ConductorError, NotFound
from apps.engine import events as ev
from apps.engine.plan import Plan
from apps.engine.replay import plan_on_record
from apps.governance.approvals.edited_plans import plan_of_stored
from apps.pools.selectors import pool_snapshot
from apps.runs.models import ApprovalState, PlanApproval, PlanVote, Run
from apps.runs.planning.model_resolver import parse_model
from apps.runs.planning.restrictions import resolve_restricted
from apps.runs.records.run_view import RunView, fold
from apps.runs.selectors import order_of, run_events
from apps.runs.types import RunOrder


@dataclass(frozen=True, slots=True)
class PendingPlan:
    """A plan that waits for people, with all they need to decide."""

    approval: PlanApproval
    run: Run
    view: RunView
    request: ev.ApprovalRequested
    plan: Plan
    """As it stands now."""
    original: Plan
    """As it was when people were asked."""
    workers: tuple[str, ...]
    """Names of the workers that the run may use."""
    max_steps: int
    votes: tuple[str, ...]
    """Names of those who have approved the plan as it stands now."""
    voter_ids: frozenset[uuid.UUID]
    """Their ids."""

    @property
    def is_edited(self) -> bool:
        """Say whether a person has changed the plan."""
        return self.plan.digest != self.original.digest


def approvals_waiting(team_id: uuid.UUID) -> QuerySet[PlanApproval]:
    """Return the plans of a team that wait for people, with their runs; oldest first.

    One whose time is over is left out: nobody can decide about it any more.
    """
    rows = PlanApproval.objects.for_team(team_id).select_related("run")
    waiting = rows.filter(
        settled_at__isnull=True,
        state=ApprovalState.WAITING,
        expires_at__gt=timezone.now(),
    )
    return waiting.order_by("requested_at", "id")


def approval_in_teams(
    team_ids: Collection[uuid.UUID], run_id: uuid.UUID
) -> PlanApproval | None:
    """Return the newest approval of a run of one of these teams; None if none is."""
    rows = PlanApproval.objects.across_teams().filter(team_id__in=team_ids)
    return rows.filter(run_id=run_id).order_by("-id").first()


def approvers_of(approval: PlanApproval) -> list[User]:
    """Return who may decide about a plan: never the person who asked."""
    roles = roles_with(Permission.APPROVE_PLANS)
    people = User.objects.filter(
        memberships__team=approval.team_id, memberships__role__in=roles, is_active=True
    )
    found = people.order_by("email")
    return [each for each in found if each.id != approval.requester_id]


def runs_waiting(
    team_id: uuid.UUID, run_ids: Collection[uuid.UUID]
) -> frozenset[uuid.UUID]:
    """Return which of these runs have a plan that waits for people."""
    if not run_ids:
        return frozenset()
    rows = PlanApproval.objects.for_team(team_id)
    open_rows = rows.filter(run_id__in=run_ids, settled_at__isnull=True)
    return frozenset(open_rows.values_list("run_id", flat=True))


def approvals_settled(team_id: uuid.UUID) -> QuerySet[PlanApproval]:
    """Return plans of a team that people have decided about, newest first."""
    rows = PlanApproval.objects.for_team(team_id).select_related("run")
    return rows.filter(settled_at__isnull=False).order_by("-id")


def pending_plan(team_id: uuid.UUID, run_id: uuid.UUID) -> PendingPlan:
    """Return the plan of a run that waits for people. Raises: NotFound."""
    rows = PlanApproval.objects.for_team(team_id).select_related("run")
    approval = rows.filter(run_id=run_id, settled_at__isnull=True).first()
    if approval is None:
        raise NotFound("no plan of this run waits for an approval")
    recorded = run_events(approval.run)
    view = fold(recorded)
    if not view.approvals:
        raise NotFound("no plan of this run waits for an approval")
    request = view.approvals[-1].request
    original = plan_on_record(request)
    votes = PlanVote.objects.for_team(team_id).filter(
        approval=approval, plan_digest=approval.plan_digest
    )
    return PendingPlan(
        approval,
        approval.run,
        view,
        request,
        plan_of_stored(approval.edited_plan) or original,
        original,
        _allowed_workers(_order(approval.run, recorded[0].event), view, original),
        _max_steps(recorded[0].event, view),
        tuple(votes.order_by("id").values_list("name", flat=True)),
        frozenset(votes.values_list("user_id", flat=True)),
    )


def _order(run: Run, created: ev.Event) -> RunOrder:
    assert isinstance(created, ev.RunCreated)
    return order_of(run, created)


def _allowed_workers(order: RunOrder, view: RunView, plan: Plan) -> tuple[str, ...]:
    """Return the workers that the run may use and no policy has refused to it."""
    refused = {n for each in view.policy_decisions for n in each.refused_workers}
    try:
        name = parse_model(order.served_model)
        planner, version = order.served_conductor, order.served_pool_version
        snapshot = pool_snapshot(order.team_id, name.pool, planner, version)
        resolved = resolve_restricted(name, order, snapshot)
        names = [worker.name for worker in resolved.pool.workers]
    except ConductorError:  # the pool is gone; the run goes on with what it has
        names = list(dict.fromkeys(step.worker for step in plan.steps))
    return tuple(name for name in names if name not in refused)


def _max_steps(created: ev.Event, view: RunView) -> int:
    assert isinstance(created, ev.RunCreated)
    caps = [each.limits.get("max_steps") for each in view.policy_decisions]
    given = [created.limits["max_steps"], *caps]
    return min(most for most in given if most is not None)
