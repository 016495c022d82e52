"""Evaluations with made-up results: for reports, without a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.evaluation.models import (
    Evaluation,
    EvaluationOutcome,
    EvaluationResult,
    SuiteVersion,
)
from apps.runs.models import Run, RunState, Source, Step
from tests.evaluation.samples import suite
from tests.factories import ACTOR

SYSTEMS = (
    {"kind": "tier", "tier": "ultra"},
    {"kind": "worker", "worker": "sim-delta"},
    {"kind": "worker", "worker": "sim-birch"},
)
WORKERS = (("sim-delta", "sim-birch"), ("sim-delta",), ("sim-birch",))
"""Of each system: who does the steps."""
R, W, F = "right", "wrong", "failed"
STATES = (
    # sums                facts
    (R, R, R, R, W, R, F, R, W, W),
    (R, W, R, W, W, W, W, R, W, W),
    (W, W, R, W, W, W, W, W, R, W),
)
"""Of each system: what became of the ten tasks."""


def made_up_evaluation(
    team: Team,
    version: SuiteVersion | None = None,
    states: Sequence[Sequence[str]] = STATES,
    **values: Any,
) -> Evaluation:
    """Add an evaluation that has ended: a tier and two workers on ten tasks."""
    now = timezone.now()
    version = version or suite(team)
    evaluation = Evaluation.objects.create(
        team=team,
        version=version,
        settings={"pool": "default", "systems": list(SYSTEMS)},
        state=JobState.DONE,
        outcome=EvaluationOutcome.COMPLETED,
        requested_by=actor_facts(ACTOR),
        beat_at=now,
        started_at=now,
        finished_at=now,
        total=30,
        graded=30,
        **values,
    )
    tasks = list(version.tasks.order_by("index"))
    for place in range(len(tasks) * len(SYSTEMS)):
        _result(evaluation, place, tasks[place // 3], states[place % 3][place // 3])
    return evaluation


def _result(evaluation: Evaluation, place: int, task: Any, state: str) -> None:
    system, is_tier = place % 3, place % 3 == 0
    result = EvaluationResult.objects.create(
        team=evaluation.team,
        evaluation=evaluation,
        place=place,
        system=system,
        task=task,
        state=state,
        cause="worker_failed" if state == F else "",
        is_unplanned=state == F,
        rejected_plans=2 if state == F else 0,
        plan_faults={"unparseable": 1, "bad_access": 1} if state == F else {},
        steps=len(WORKERS[system]),
        tokens=300 if is_tier else 100,
        cost_micros=3_000 if is_tier else 1_000,
        latency_ms=100 * (1 + place // 3),
    )
    Run.objects.create(
        id=result.run_id,
        team=evaluation.team,
        state=RunState.FAILED if state == F else RunState.COMPLETED,
        source=Source.EVALUATION,
        model="conductor-ultra",
        pool_name="default",
        pool_version=1,
        title=task.key,
        actor_type="service",
        actor_id="tests",
        actor_name="tests",
        created_at=evaluation.created_at,
        finished_at=evaluation.finished_at,
    )
    for index, worker in enumerate(WORKERS[system]):
        Step.objects.create(
            run_id=result.run_id,
            team=evaluation.team,
            round=0,
            index=index,
            worker=worker,
            state="completed",
            attempts=1,
            prompt_tokens=50,
            completion_tokens=50,
            cost_micros=1_000,
            latency_ms=100,
        )
