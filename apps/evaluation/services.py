"""Changes to suites and evaluations, each recorded in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.accounts.principal import Principal
from apps.accounts.rights import DIRECT, MANAGE_EVALUATIONS, RUN
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidInput
from apps.core.input_parts import values_read
from apps.evaluation.costs import highest_total, pool_of_system
from apps.evaluation.drawing import tasks_drawn
from apps.evaluation.likely_costs import likely_total
from apps.evaluation.measured import with_measured
from apps.evaluation.models import (
    NAME_LENGTH,
    Evaluation,
    EvaluationOutcome,
    ResultState,
    StoredTask,
    Suite,
    SuiteVersion,
)
from apps.evaluation.runnable import require_runnable
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.storage import tasks_digest, tasks_store
from apps.evaluation.suites.tasks import SuiteTask
from apps.evaluation.transfer.evaluation_files import (
    evaluation_export as evaluation_export,
)
from apps.evaluation.transfer.evaluation_files import (
    evaluation_import as evaluation_import,
)
from apps.pools.selectors import pool_snapshot
from apps.pools.services import profiles_mark
from apps.sandbox.availability import sandbox_problem

SIMULATED_IDS = "simulated-"
"""Ids of the tasks of the simulated benchmark begin so."""
MAX_OPEN = 10
"""Evaluations of a team that have not ended."""


@dataclass(frozen=True, slots=True)
class EvaluationEstimate:
    """What an evaluation would do."""

    tasks: int
    """That each system gets."""
    runs: int
    highest_micros: int | None
    """What all runs may cost at most, retries apart; None: a price is missing."""
    likely_micros: int | None
    """What they will probably cost, by earlier results; None: there are none."""


@transaction.atomic
def suite_import(
    *,
    team: Team,
    name: str,
    tasks: Sequence[SuiteTask],
    actor: Actor,
    is_simulated: bool = False,
) -> SuiteVersion:
    """Store tasks as the newest version of a suite; equal ones make no new version.

    A suite is simulated if that is said of its newest tasks, or if their ids say it.
    Raises: InvalidInput.
    """
    if not name.strip() or len(name) > NAME_LENGTH or not name.isprintable():
        raise InvalidInput(
            f"name: expected one line of up to {NAME_LENGTH} characters", param="name"
        )
    if not tasks:
        raise InvalidInput("tasks: a suite needs at least one", param="tasks")
    is_simulated = is_simulated or all(
        task.id.startswith(SIMULATED_IDS) for task in tasks
    )
    suites = Suite.objects.for_team(team.id).select_for_update()
    suite, _ = suites.get_or_create(
        team=team, name=name.strip(), defaults={"is_simulated": is_simulated}
    )
    versions = SuiteVersion.objects.for_team(team.id).filter(suite=suite)
    newest, digest = versions.order_by("-number").first(), tasks_digest(tasks)
    if newest is None or newest.digest != digest:
        number = newest.number + 1 if newest else 1
        version = _version_made(suite, number, digest, tasks, actor)
    elif suite.is_simulated == is_simulated:
        return newest
    else:
        version = newest
    if suite.is_simulated != is_simulated:
        suite.is_simulated = is_simulated
        suite.save(update_fields=["is_simulated"])
        _profiles_mark(suite)
    facts = {
        "name": suite.name,
        "version": version.number,
        "tasks": len(tasks),
        "digest": digest,
        "is_simulated": is_simulated,
    }
    _append(team.id, EntryDraft("suite.imported", "suite", suite.id, actor, facts))
    return version


def _profiles_mark(suite: Suite) -> None:
    """Correct the mark of profiles that evaluations of a suite have made."""
    rows = evaluation_list(suite.team_id).filter(version__suite=suite)
    # Profiles of a pool without real models stay simulated.
    ids = rows.filter(has_simulated_pool=False).values_list("id", flat=True)
    profiles_mark(
        team_id=suite.team_id, evaluation_ids=[*ids], is_simulated=suite.is_simulated
    )


def _version_made(
    suite: Suite, number: int, digest: str, tasks: Sequence[SuiteTask], actor: Actor
) -> SuiteVersion:
    version = SuiteVersion.objects.create(
        team_id=suite.team_id,
        suite=suite,
        number=number,
        digest=digest,
        task_count=len(tasks),
        created_by=actor.display[:200],
    )
    tasks_store(version, tasks)
    return version


def suite_delete(*, suite: Suite, actor: Actor) -> None:
    """Delete a suite with its tasks and the results on them; its runs stay.

    Raises: Conflict while an evaluation of it has not ended.
    """
    evaluations = evaluation_list(suite.team_id).filter(version__suite=suite)
    with transaction.atomic():
        if evaluations.exclude(state=JobState.DONE).exists():
            raise Conflict("an evaluation of this suite has not ended; cancel it first")
        before = {"name": suite.name, "evaluations": evaluations.count()}
        draft = EntryDraft(
            "suite.deleted", "suite", suite.id, actor, {"before": before}
        )
        _append(suite.team_id, draft)
        suite.delete()


def evaluation_start(
    *,
    version: SuiteVersion,
    values: Mapping[str, Any],
    principal: Principal | None = None,
    actor: Actor,
) -> Evaluation:
    """Order an evaluation; a process of the site drives it.

    `principal` None: the operator starts it, by a command. Raises: InvalidFields,
    InvalidInput, NotFound; NotAllowed; Conflict if too many have not ended.
    """
    if principal is not None:
        for right in (MANAGE_EVALUATIONS, RUN):
            principal.require(right)
    settings, tasks = _checked(version, values)
    if principal is not None and any(system.is_direct for system in settings.systems):
        principal.require(DIRECT)
    unfinished = evaluation_list(version.team_id).exclude(state=JobState.DONE)
    if unfinished.count() >= MAX_OPEN:
        raise Conflict(f"{MAX_OPEN} evaluations have not ended; cancel one first")
    evaluation = Evaluation(
        team_id=version.team_id,
        version=version,
        user=principal.user if principal else None,
        settings=settings.values(),
        has_simulated_pool=_is_simulated(version.team_id, settings),
        state=JobState.WAITING,
        requested_by=actor_facts(actor),
        beat_at=timezone.now(),
    )
    facts = {
        "suite": version.suite.name,
        "suite_version": version.number,
        "suite_digest": version.digest,
        "tasks": tasks,
        "settings": evaluation.settings,
    }
    with transaction.atomic():
        evaluation.save(force_insert=True)
        _record(evaluation, "evaluation.started", actor, facts)
    return evaluation


def _is_simulated(team_id: UUID, settings: EvaluationSettings) -> bool:
    """Say whether a system uses a version of the pool that has no real model."""
    return any(
        pool_of_system(system, team_id, settings.pool).is_simulated
        for system in settings.systems
    )


def evaluation_estimate(
    *, version: SuiteVersion, values: Mapping[str, Any]
) -> EvaluationEstimate:
    """Return what an evaluation would do and cost, without starting it.

    Raises: InvalidFields, InvalidInput, NotFound.
    """
    settings, tasks = _checked(version, values)
    snapshot = pool_snapshot(version.team_id, settings.pool)
    return EvaluationEstimate(
        tasks,
        tasks * len(settings.systems),
        highest_total(version, settings, snapshot),
        likely_total(version, settings, tasks),
    )


def _checked(
    version: SuiteVersion, values: Mapping[str, Any]
) -> tuple[EvaluationSettings, int]:
    """Return settings that can be run, and how many tasks each system gets."""
    settings = with_measured(values_read(EvaluationSettings, values), version)
    require_runnable(
        settings.systems,
        pool_snapshot(version.team_id, settings.pool),
        grader=settings.grader,
        needs_prices=settings.max_cost_micros is not None,
        param="systems",
    )
    tasks = len(tasks_drawn(version, settings))
    if not tasks:
        raise InvalidInput("the suite has no such tasks", param="families")
    rows = StoredTask.objects.for_team(version.team_id).filter(version=version)
    if settings.grader is None and rows.filter(needs_grader=True).exists():
        raise InvalidInput(
            "tasks of this suite have a rubric: name a worker that judges answers",
            param="grader",
        )
    require_sandbox(version)
    return settings, tasks


def require_sandbox(version: SuiteVersion) -> None:
    """Raise InvalidInput if code is to be run and there can be no sandbox here."""
    rows = StoredTask.objects.for_team(version.team_id).filter(version=version)
    if rows.filter(needs_sandbox=True).exists() and (why := sandbox_problem()):
        raise InvalidInput(
            "this suite runs code of answers, and this machine cannot do so "
            f"safely: {why}",
            param="suite",
        )


def evaluation_cancel(*, evaluation: Evaluation, actor: Actor) -> bool:
    """Begin no further run, and stop those in progress; False: it has ended."""
    rows = evaluation_list(evaluation.team_id).filter(id=evaluation.id)
    with transaction.atomic():
        changed = rows.exclude(state=JobState.DONE).filter(is_cancelled=False)
        if not changed.update(is_cancelled=True):
            return False
        _record(evaluation, "evaluation.cancelled", actor, {})
    return True


def evaluation_record(evaluation: Evaluation) -> None:
    """Record how an evaluation ended. Call it in the transaction that ends it."""
    right = results_of(evaluation).filter(state=ResultState.RIGHT).count()
    facts = {
        "outcome": str(evaluation.outcome),
        "error": evaluation.error,
        "results": evaluation.total,
        "graded": evaluation.graded,
        "right": right,
        "cost_micros": evaluation.cost_micros,
    }
    actor = Actor(**evaluation.requested_by)
    is_whole = evaluation.outcome == EvaluationOutcome.COMPLETED
    outcome = "success" if is_whole else "failure"
    _record(evaluation, "evaluation.ended", actor, facts, outcome)


def _record(
    evaluation: Evaluation,
    action: str,
    actor: Actor,
    facts: dict[str, Any],
    outcome: str = "success",
) -> None:
    draft = EntryDraft(
        action, "evaluation", evaluation.id, actor, facts, outcome=outcome
    )
    _append(evaluation.team_id, draft)


def _append(team_id: UUID, draft: EntryDraft) -> None:
    entries_append(batch=Batch(team_id, (draft,)))
