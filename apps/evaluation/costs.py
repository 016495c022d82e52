"""What runs of an evaluation may cost at most: for its cost limit, and beforehand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from uuid import UUID

from apps.engine.ports import CallParams, Messages, PoolWorker
from apps.engine.usage import Price
from apps.evaluation.drawing import tasks_drawn
from apps.evaluation.earlier import earlier_evaluation
from apps.evaluation.models import StoredTask, SuiteVersion
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.storage import task_read
from apps.evaluation.suites.tasks import NO_FAMILY, SuiteTask
from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    RoundShape,
    TaskContext,
    carrier_tier,
)
from apps.evaluation.systems.kinds import System
from apps.evaluation.systems.single_worker import WorkerSystem
from apps.pools.selectors import light_planner, pool_snapshot, worker_description
from apps.pools.types import PoolSnapshot
from apps.runs.planning.cost_estimates import price_range
from apps.runs.planning.model_resolver import (
    ResolvedModel,
    direct_model,
    parse_model,
    planned_by,
    resolve,
    with_rounds,
)
from apps.runs.planning.restrictions import restrict_limits

LONG_ANSWER = "x" * 16_384
"""Stands for an answer that is not known yet."""
DEFAULT_PARAMS = CallParams()
SAMPLE = 50
"""Tasks that an estimate looks at."""


def pool_of_system(system: BaseSystem, team_id: UUID, pool: str) -> PoolSnapshot:
    """Return the version of a pool that a system uses. Raises: as `pool_snapshot`."""
    return pool_snapshot(team_id, pool, version=system.version_of_pool)


def task_context(
    task: SuiteTask, snapshot: PoolSnapshot, settings: EvaluationSettings, place: int
) -> TaskContext:
    """Return what a system may know of a task, in the version of the pool it uses.

    `place` is that of the task among all tasks.
    """
    context = prompt_context(
        task.prompt, task.id, snapshot, family=task.family, seed=settings.seed
    )
    return replace(context, place=place)


def prompt_context(
    prompt: str,
    key: str,
    snapshot: PoolSnapshot,
    *,
    family: str = NO_FAMILY,
    seed: int = 0,
) -> TaskContext:
    """Return what a system may know of a prompt, which `key` identifies."""
    carrier = carrier_tier(snapshot.tiers)
    return TaskContext(
        key,
        family,
        prompt,
        _workers(snapshot),
        snapshot.fallback,
        carrier,
        snapshot.tiers[carrier].max_steps,
        seed,
        partial(earlier_evaluation, snapshot.team_id),
        light_planner=partial(light_planner, snapshot.team_id, snapshot.id),
    )


def model_of(arranged: Arrangement, snapshot: PoolSnapshot) -> str:
    """Return the name of the model that an arranged run asks for."""
    return f"{snapshot.name}/{arranged.model}"


def highest_cost(
    system: System,
    arranged: Arrangement,
    prompt: str,
    snapshot: PoolSnapshot,
    params: CallParams = DEFAULT_PARAMS,
    messages: Messages = (),
) -> int | None:
    """Return what a run may cost without retries; None: a price is missing."""
    return arranged_cost(
        arranged, prompt, snapshot, params, messages, workers=system.named_workers
    )


def arranged_cost(
    arranged: Arrangement,
    prompt: str,
    snapshot: PoolSnapshot,
    params: CallParams = DEFAULT_PARAMS,
    messages: Messages = (),
    workers: tuple[str, ...] = (),
) -> int | None:
    """Return the same of an arrangement.

    `workers`: those that may do its steps, if it has no rounds of its own. Empty: all.
    """
    resolved = _resolved(arranged, snapshot)
    # A tier's own planner decides; of a direct call there is one step anyway.
    shapes = arranged.rounds or (RoundShape(resolved.limits.max_steps, workers),)
    total = 0
    for shape in shapes:
        found = price_range(prompt, params, _shaped(resolved, shape), messages)
        if found is None:
            return None
        total += found.high
    return total


def _resolved(arranged: Arrangement, snapshot: PoolSnapshot) -> ResolvedModel:
    """Return what an arranged run comes to, as the executor finds it."""
    if arranged.conductor or arranged.pool_version:
        snapshot = pool_snapshot(
            snapshot.team_id,
            snapshot.name,
            arranged.conductor,
            arranged.pool_version,
        )
    model = model_of(arranged, snapshot)
    resolved = resolve(parse_model(model), model, snapshot)
    limits = restrict_limits(resolved.limits, arranged.restrictions)
    resolved = replace(resolved, limits=limits)
    if arranged.max_rounds is not None:
        resolved = with_rounds(resolved, arranged.max_rounds)
    if arranged.planner is None:
        return resolved
    # Each of its rounds has a shape, and so a price of its own.
    return with_rounds(planned_by(resolved, arranged.planner), 1)


def _shaped(resolved: ResolvedModel, shape: RoundShape) -> ResolvedModel:
    """Return a run of rounds of this shape alone."""
    pool, limits = resolved.pool, replace(resolved.limits, max_steps=shape.steps)
    if shape.workers:
        names = {*shape.workers, pool.fallback}
        kept = tuple(worker for worker in pool.workers if worker.name in names)
        pool = replace(pool, workers=kept)
    return replace(resolved, pool=pool, limits=limits)


def highest_grading_cost(
    settings: EvaluationSettings, task: SuiteTask, snapshot: PoolSnapshot
) -> int | None:
    """Return what judging an answer may cost; 0: no model judges. None: no price."""
    if settings.grader is None or not task.needs_grader:
        return 0
    grader = WorkerSystem(kind="worker", worker=settings.grader)
    arranged = Arrangement(direct_model(settings.grader))
    read = f"{task.verifier.model_dump_json()}{task.prompt}{LONG_ANSWER}"
    return highest_cost(grader, arranged, read, snapshot)


def highest_total(
    version: SuiteVersion, settings: EvaluationSettings, snapshot: PoolSnapshot
) -> int | None:
    """Return what an evaluation may cost at most, from some of its tasks.

    In micro-dollars. None: a price is missing.
    """
    ids = tasks_drawn(version, settings)
    drawn = list(enumerate(ids))[:: max(1, len(ids) // SAMPLE)]
    places = {task_id: place for place, task_id in drawn}
    rows = StoredTask.objects.for_team(version.team_id).filter(id__in=places)
    total = 0
    for row in rows:
        task, place = task_read(row), places[row.pk]
        for system in settings.systems:
            its_pool = pool_of_system(system, snapshot.team_id, snapshot.name)
            arranged = system.arrange(task_context(task, its_pool, settings, place))
            cost = highest_cost(system, arranged, task.prompt, snapshot)
            grading = highest_grading_cost(settings, task, snapshot)
            if cost is None or grading is None:
                return None
            total += cost + grading
    return total * len(ids) // len(places) if places else 0


def _workers(snapshot: PoolSnapshot) -> tuple[PoolWorker, ...]:
    return tuple(
        PoolWorker(
            worker.name,
            None
            if worker.price is None
            else Price(worker.price.input_micros, worker.price.output_micros),
            worker_description(worker, snapshot.conductor),
            fingerprint=worker.fingerprint,
        )
        for worker in snapshot.chat_workers
    )
