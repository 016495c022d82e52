"""Orders of runs that repeat a recorded one: its request, or its plan as well."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.accounts.principal import Principal
from apps.budgets.rate_limits import Admission
from apps.core.errors import InvalidInput, NotFound
from apps.engine import events as ev
from apps.engine.errors import PlanRejected
from apps.engine.plan import Plan, PlannedStep, validate
from apps.engine.ports import ReusedAnswer
from apps.planners.fixed import GivenPlanPlanner
from apps.pools.selectors import pool_snapshot
from apps.runs.admission import ordered_by
from apps.runs.models import Run
from apps.runs.planning.model_resolver import is_direct, parse_model
from apps.runs.records.history import run_events
from apps.runs.records.round_view import RoundView, StepView
from apps.runs.records.run_params import order_of
from apps.runs.records.run_view import fold
from apps.runs.types import RunOrder


@dataclass(frozen=True, slots=True)
class StepEdit:
    """What changes in one step of a recorded plan. None: that stays."""

    step: int
    """Its index, from 0."""
    round: int | None = None
    """None: the last one with a plan."""
    subtask: str | None = None
    worker: str | None = None
    answer: str | None = None
    """In place of the step's own: the step is not run then."""


def order_again(
    run: Run, principal: Principal, admission: Admission, source: str
) -> RunOrder:
    """Return the order of a recorded run, in the name of a principal.

    Raises: NotFound if the run's first entry is not there, InvalidInput if its prompt
    has been erased.
    """
    first = next((entry.event for entry in run_events(run)), None)
    if not isinstance(first, ev.RunCreated):
        raise NotFound(f"run {str(run.id)!r} has no record of what was asked")
    if not first.prompt:
        raise InvalidInput("the prompt of this run has been erased", param="prompt")
    return replace(
        order_of(run, first),
        **ordered_by(principal, admission),
        source=str(source),
        ignored="",
        mirrors=None,
        arm=None,
        pool_version=None,
        explores=False,
    )


def with_model(order: RunOrder, model: str) -> RunOrder:
    """Return the same order for another model.

    Everything that planned in the place of the first model's planner is left out, and
    so is the list of workers that the request was confined to.
    """
    return replace(
        order,
        model=model,
        restrictions=replace(order.restrictions, workers=()),
        planner=None,
        conductor="",
        max_rounds=None,
        reused=(),
        derived_from=None,
    )


def forked(order: RunOrder, run: Run, edit: StepEdit | None) -> RunOrder:
    """Return the order that repeats a run's plan, with one step changed.

    Raises: InvalidInput.
    """
    if order.continues:
        raise InvalidInput("a run that returns the results of tools has no plan")
    round_ = _round(run, None if edit is None else edit.round)
    if round_.plans_rest:
        raise InvalidInput(
            f"the last step of round {round_.index} planned the rest; repeat the plan "
            "that it made, which is the next round",
            param="round",
        )
    steps = [_planned(step) for step in round_.steps]
    reused: tuple[ReusedAnswer, ...] = ()
    if edit is not None:
        if not 0 <= edit.step < len(steps):
            raise InvalidInput(f"the plan has no step {edit.step}", param="step")
        steps[edit.step] = _edited(steps[edit.step], edit)
        reused = _reused(run.id, round_.steps, edit)
    _check(order, Plan(tuple(steps)))
    planner = GivenPlanPlanner(tuple(steps))
    return replace(order, planner=planner, reused=reused, derived_from=run.id)


def affected_steps(steps: Sequence[StepView], changed: int) -> set[int]:
    """Return the indices of a changed step and of those that depend on it."""
    found = {changed}
    for step in steps:
        if found.intersection(step.access):
            found.add(step.index)
    return found


def _round(run: Run, number: int | None) -> RoundView:
    """Return a round that has a plan."""
    view = fold(run_events(run))
    planned = [each for each in view.rounds if each.steps]
    for round_ in reversed(planned):
        if number in (None, round_.index):
            return round_
    raise InvalidInput(
        "the run has no plan" if number is None else f"round {number} has no plan",
        param="round",
    )


def _planned(step: StepView) -> PlannedStep:
    if not step.subtask:
        raise InvalidInput("the plan of this run has been erased")
    return PlannedStep(step.subtask, step.planned_worker, step.access)


def _edited(step: PlannedStep, edit: StepEdit) -> PlannedStep:
    if edit.answer is not None and (edit.subtask or edit.worker):
        raise InvalidInput(
            "a step gets either an answer or another subtask and worker",
            param="answer",
        )
    if edit.answer is not None and not edit.answer.strip():
        raise InvalidInput("answer: expected a text", param="answer")
    return replace(
        step,
        subtask=step.subtask if edit.subtask is None else edit.subtask,
        worker=edit.worker or step.worker,
    )


def _reused(
    run_id: uuid.UUID, steps: Sequence[StepView], edit: StepEdit
) -> tuple[ReusedAnswer, ...]:
    """Return the answers that the edit leaves as they are, and the edited one."""
    changed = affected_steps(steps, edit.step)
    kept = [
        ReusedAnswer(step.index, step.worker, step.text, str(run_id))
        for step in steps
        if step.index not in changed and step.state == "completed" and step.text
    ]
    if edit.answer is not None:
        worker = steps[edit.step].worker
        kept.append(
            ReusedAnswer(edit.step, worker, edit.answer, str(run_id), is_edited=True)
        )
    return tuple(kept)


def _check(order: RunOrder, plan: Plan) -> None:
    """Raise InvalidInput if the pool cannot run a plan as it is now."""
    name = parse_model(order.model)
    snapshot = pool_snapshot(order.team_id, name.pool)
    workers = [worker.name for worker in snapshot.chat_workers]
    most = len(plan.steps)
    if is_direct(order.model):
        workers = [name.worker]
    elif name.tier in snapshot.tiers:
        most = snapshot.tiers[name.tier].max_steps
    try:
        validate(plan, workers=workers, max_steps=most)
    except PlanRejected as exc:
        raise InvalidInput(exc.message, param="plan") from exc
