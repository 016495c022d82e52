"""Orders of the runs that a shadow test begins: the candidate's, and the grader's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from secrets import token_hex

from apps.accounts.principal import Principal
from apps.audit.types import Actor
from apps.core.data_classes import DataClassName, data_class_read, is_at_least
from apps.engine import events as ev
from apps.evaluation.costs import highest_cost, model_of, prompt_context
from apps.evaluation.shadow.agreement import JUDGING_PARAMS, judging_prompt
from apps.evaluation.shadow.models import MirroredRun
from apps.evaluation.shadow.settings import ShadowSettings
from apps.evaluation.systems.base import Arrangement
from apps.evaluation.systems.single_worker import WorkerSystem
from apps.pools.types import PoolSnapshot
from apps.runs.admission import ordered_by, run_admit
from apps.runs.models import Source
from apps.runs.planning.model_resolver import direct_model
from apps.runs.selectors import access_run, order_of, run_events, run_view
from apps.runs.types import MirroredCall, RunOrder

MARK_BYTES = 8
TOOL_RESULTS = "it returns the results of tools, which only its own worker can read"
ERASED = "the prompt of the original run has been erased"


class CannotMirror(Exception):
    """The request cannot be sent to another system; the text says why."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run that is about to begin."""

    order: RunOrder
    """As the original run's, with what the candidate changes."""
    cost_micros: int | None
    """What it may cost at most; None: a price is missing."""


def original_order(mirrored: MirroredRun) -> RunOrder:
    """Return the order of the original run. Raises: CannotMirror."""
    run = access_run(team_id=mirrored.team_id, run_id=mirrored.original_run_id)
    first = next((entry.event for entry in run_events(run)), None)
    if not isinstance(first, ev.RunCreated) or not first.prompt:
        raise CannotMirror(ERASED)
    order = order_of(run, first)
    if order.continues:
        raise CannotMirror(TOOL_RESULTS)
    original = MirroredCall(run.id, run.source, run.user_id, run.api_key_id)
    return replace(order, mirrors=original, arm=None, source=Source.SHADOW.value)


def candidate_run(
    mirrored: MirroredRun, settings: ShadowSettings, snapshot: PoolSnapshot
) -> PlannedRun:
    """Return the run that sends a recorded request to the candidate.

    The snapshot is of the version of the pool that the candidate uses. Raises:
    CannotMirror.
    """
    original = original_order(mirrored)
    candidate = settings.candidate
    context = prompt_context(original.prompt, str(mirrored.original_run_id), snapshot)
    arranged = candidate.arrange(context)
    cost = highest_cost(
        candidate,
        arranged,
        original.prompt,
        snapshot,
        original.params,
        original.messages,
    )
    return PlannedRun(_arranged(original, arranged, snapshot, cost), cost)


def judging_run(
    mirrored: MirroredRun, settings: ShadowSettings, snapshot: PoolSnapshot
) -> PlannedRun:
    """Return the run that compares both answers. Raises: CannotMirror."""
    assert settings.grader is not None  # else nothing is judged
    original = original_order(mirrored)
    answers = [
        run_view(access_run(team_id=mirrored.team_id, run_id=run_id)).answer or ""
        for run_id in (mirrored.original_run_id, mirrored.run_id)
    ]
    prompt = judging_prompt(
        original.prompt, *answers, run_id=mirrored.run_id, mark=token_hex(MARK_BYTES)
    )
    grader = WorkerSystem(kind="worker", worker=settings.grader)
    arranged = Arrangement(direct_model(settings.grader), params=JUDGING_PARAMS)
    cost = highest_cost(grader, arranged, prompt, snapshot)
    asked = replace(original, prompt=prompt, messages=(), params=JUDGING_PARAMS)
    return PlannedRun(_arranged(asked, arranged, snapshot, cost), cost)


def mirror_order(
    planned: PlannedRun, principal: Principal | None, requested: Actor
) -> RunOrder:
    """Return the order in the name of who started the test; None: the operator did.

    The limits of the original run's key do not apply, but its data class does. Raises:
    NotAllowed, RateLimited.
    """
    order = planned.order
    if principal is None:
        return replace(
            order,
            actor=requested,
            user_id=None,
            api_key_id=None,
            allowed_tiers=frozenset(),
            allowed_workers=frozenset(),
        )
    admission = run_admit(principal, order.model, order.prompt)
    admission.require()
    ordered = replace(order, **ordered_by(principal, admission))
    return replace(
        ordered,
        key_data_class=_higher(order.key_data_class, ordered.key_data_class),
    )


def _arranged(
    original: RunOrder, arranged: Arrangement, snapshot: PoolSnapshot, cost: int | None
) -> RunOrder:
    wanted = arranged.restrictions
    return replace(
        original,
        model=model_of(arranged, snapshot),
        planner=arranged.planner,
        conductor=arranged.conductor,
        max_rounds=arranged.max_rounds,
        pool_version=arranged.pool_version,
        is_streamed=False,
        is_watched=False,
        delivery=None,
        echo={},
        restrictions=replace(
            original.restrictions,
            workers=wanted.workers,
            max_steps=wanted.max_steps,
            max_rounds=wanted.max_rounds,
            max_cost_micros=cost,
            approval="never",  # nobody watches single runs
        ),
    )


def _higher(one: str, other: str) -> str:
    """Return the higher of two data classes; empty: nothing is said."""
    if not one or not other:
        return one or other
    first, second = _read(one), _read(other)
    return first if is_at_least(first, second) else second


def _read(name: str) -> DataClassName:
    return data_class_read(name, param="data_class")
