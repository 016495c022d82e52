"""Runs of plans that were made before: their orders, highest costs and grades.

What drives evaluations, and what lets a conductor in training try its plans, begin runs
and grade answers in the same way.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from uuid import UUID

from apps.accounts.principal import Principal
from apps.audit.types import Actor
from apps.engine import events as ev
from apps.engine.plan import Plan
from apps.evaluation.code_grading import code_grades
from apps.evaluation.costs import arranged_cost, model_of
from apps.evaluation.suites.tasks import SuiteTask
from apps.evaluation.systems.base import Arrangement, RoundShape
from apps.evaluation.verifiers.grade import Grade
from apps.evaluation.verifiers.unit_tests import UnitTestsVerifier
from apps.planners.fixed import GivenPlanPlanner
from apps.pools.types import PoolSnapshot
from apps.runs.admission import ordered_by, run_admit
from apps.runs.models import Source
from apps.runs.records.run_view import RunView
from apps.runs.selectors import access_run, run_view
from apps.runs.types import RunOrder
from apps.sandbox.types import SandboxUnavailable


@dataclass(frozen=True, slots=True)
class Requested:
    """Whose runs they are."""

    team_id: UUID
    actor: Actor
    principal: Principal | None
    """None: the operator asks, by a command."""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What became of a plan's run, which has ended."""

    is_usable: bool
    """False: the engine or a policy refused the plan."""
    grade: Grade | None
    """None: a worker failed, or the run did, so nothing is known of the plan."""
    cause: str
    """Why there is no grade, or why the answer is wrong."""
    cost_micros: int


def evaluation_order(
    requested: Requested,
    arranged: Arrangement,
    prompt: str,
    model: str,
    max_cost_micros: int | None,
) -> RunOrder:
    """Return the order of a run that nobody watches. Raises: NotAllowed, RateLimited.

    `max_cost_micros` is what it is held to; None: no limit of its own.
    """
    # Nobody watches single runs, so none may wait for people.
    restrictions = replace(arranged.restrictions, approval="never")
    if max_cost_micros is not None:
        restrictions = replace(restrictions, max_cost_micros=max_cost_micros)
    order = RunOrder(
        team_id=requested.team_id,
        actor=requested.actor,
        prompt=prompt,
        params=arranged.params,
        model=model,
        source=Source.EVALUATION,
        is_watched=False,
        restrictions=restrictions,
        planner=arranged.planner,
        conductor=arranged.conductor,
        max_rounds=arranged.max_rounds,
        pool_version=arranged.pool_version,
    )
    if requested.principal is None:
        return order
    admission = run_admit(requested.principal, model, prompt)
    admission.require()
    return replace(order, **ordered_by(requested.principal, admission))


def plan_order(
    requested: Requested,
    plan: Plan,
    tier: str,
    task: SuiteTask,
    snapshot: PoolSnapshot,
    max_cost_micros: int | None,
) -> RunOrder:
    """Return the order of a run of a plan in a tier. Raises: as `evaluation_order`."""
    arranged = _arranged(plan, tier)
    order = evaluation_order(
        requested,
        arranged,
        task.prompt,
        model_of(arranged, snapshot),
        max_cost_micros,
    )
    return replace(order, family=task.family)


def plan_highest_cost(
    plan: Plan, tier: str, prompt: str, snapshot: PoolSnapshot
) -> int | None:
    """Return what a plan's run may cost without retries; None: a price is missing."""
    return arranged_cost(_arranged(plan, tier), prompt, snapshot)


def plan_result(
    team_id: UUID, run_id: UUID, task: SuiteTask, key: Hashable
) -> PlanResult | None:
    """Return what became of a plan's run, which has ended; None: it is being graded.

    Code is graded in a thread, for whoever asks again with the same `key`.
    """
    run = access_run(team_id=team_id, run_id=run_id)
    view = run_view(run)
    if any(round_.is_fallback for round_ in view.rounds):
        return PlanResult(False, None, "the plan was refused", run.cost_micros)
    if why := _failure(view):
        return PlanResult(True, None, why, run.cost_micros)
    answer = view.answer or ""
    if isinstance(task.verifier, UnitTestsVerifier):
        try:
            grades = code_grades.take(key, task.verifier, [answer])
        except SandboxUnavailable as exc:
            return PlanResult(True, None, f"sandbox: {exc}", run.cost_micros)
        if grades is None:
            return None
        grade = grades[0]
    else:
        grade = task.verifier.grade(answer)
    return PlanResult(True, grade, grade.why, run.cost_micros)


def _failure(view: RunView) -> str:
    """Say which worker failed, so that the answer is not the plan's; empty: none."""
    for step in view.newest_plan:
        if step.state == "failed" or step.was_replaced:
            return f"worker {step.planned_worker} failed"
    if not isinstance(view.end, ev.RunCompleted):
        return view.error.code if view.error else view.state
    return ""


def _arranged(plan: Plan, tier: str) -> Arrangement:
    workers = tuple(step.worker for step in plan.steps)
    return Arrangement(
        tier,
        GivenPlanPlanner(plan.steps),
        rounds=(RoundShape(len(plan.steps), workers),),
    )
