"""Which runs of a team are learned from: found by their rows alone, without a text.

Evaluations: training tasks that have a grade; held-out tasks are what planners are
measured on. Requests of people and keys: only with the team's consent, and only if they
were rated or reviewed. A run whose texts have been erased is in neither.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from apps.evaluation.models import (
    Evaluation,
    EvaluationResult,
    ResultState,
    RunOutcome,
)
from apps.governance.models import RunFeedback
from apps.planners.light.exploring import EXPLORED
from apps.pools.models import OutcomeSource
from apps.runs.models import Run
from apps.training.learning_data.records import GradedRun, GradeSource
from apps.training.learning_data.weights import Actors, RequestWeights
from apps.training.models import TrainingSettings

RUNS_AT_ONCE = 500
"""Of a page."""
SPLIT = "training"
NOBODY = UUID(int=0)
"""Comes before the id of any run."""
Page = list[GradedRun]


def graded_runs(team_id: UUID, pool: str) -> Iterator[Page]:
    """Yield the graded runs of a pool page by page, always in the same order."""
    trusted = 0
    for page in _evaluated(team_id, pool):
        trusted += len(page)
        yield page
    if not has_consent(team_id):
        return
    groups = Counter(actors for page in _requested(team_id, pool) for _, actors in page)
    weights = RequestWeights(groups, trusted)
    for requests in _requested(team_id, pool):
        yield [replace(run, weight=weights.of(actors)) for run, actors in requests]


def has_consent(team_id: UUID) -> bool:
    """Say whether a team lets planners learn from the requests of people and keys."""
    rows = TrainingSettings.objects.for_team(team_id)
    return rows.filter(learns_from_requests=True).exists()


def _evaluated(team_id: UUID, pool: str) -> Iterator[Page]:
    evaluations = Evaluation.objects.for_team(team_id).filter(settings__pool=pool)
    for evaluation_id in list(evaluations.order_by("id").values_list("id", flat=True)):
        results = EvaluationResult.objects.for_team(team_id).filter(
            evaluation_id=evaluation_id,
            state__in=(ResultState.RIGHT, ResultState.WRONG),
            task__split=SPLIT,
        )
        results = results.select_related("task").order_by("place")
        place = -1
        while found := list(results.filter(place__gt=place)[:RUNS_AT_ONCE]):
            place = found[-1].place
            readable = _readable(team_id, [each.run_id for each in found])
            yield [_of_result(each) for each in found if each.run_id in readable]


def _of_result(result: EvaluationResult) -> GradedRun:
    grade = float(result.state == ResultState.RIGHT)
    family = result.task.family
    return GradedRun(result.run_id, GradeSource.VERIFIER, family, grade)


def _readable(team_id: UUID, run_ids: Collection[UUID]) -> set[UUID]:
    """Return the runs whose texts are there: a title goes when they are erased."""
    rows = Run.objects.for_team(team_id).filter(id__in=run_ids).exclude(title="")
    return set(rows.values_list("id", flat=True))


def _requested(team_id: UUID, pool: str) -> Iterator[list[tuple[GradedRun, Actors]]]:
    """Yield runs that were rated or reviewed, with those who decide what they teach."""
    rows = RunOutcome.objects.for_team(team_id).filter(run__pool_name=pool)
    rows = rows.exclude(run__title="").select_related("run")
    last = NOBODY
    while True:
        ids = rows.filter(run_id__gt=last).order_by("run_id").values_list("run_id")
        some = [run_id for (run_id,) in ids.distinct()[:RUNS_AT_ONCE]]
        if not some:
            return
        last = some[-1]
        judged: dict[UUID, dict[str, RunOutcome]] = defaultdict(dict)
        for row in rows.filter(run_id__in=some).order_by("run_id"):
            judged[row.run_id][row.source] = row
        raters = _raters(team_id, some)
        yield [_of_request(each, raters) for each in judged.values()]


def _raters(team_id: UUID, run_ids: Sequence[UUID]) -> dict[UUID, set[str]]:
    rows = RunFeedback.objects.for_team(team_id).filter(run_id__in=run_ids)
    found: dict[UUID, set[str]] = defaultdict(set)
    for run_id, *actor in rows.values_list("run_id", "actor_type", "actor_id"):
        found[run_id].add(":".join(actor))
    return found


def _of_request(
    judged: dict[str, RunOutcome], raters: dict[UUID, set[str]]
) -> tuple[GradedRun, Actors]:
    """Return a run with its actors: a verdict counts before ratings.

    Whoever reviews has that right from the team, so a verdict is bounded by who asked.
    """
    verdict = judged.get(OutcomeSource.REVIEW)
    row = verdict or judged[OutcomeSource.FEEDBACK]
    source = GradeSource.REVIEWER if verdict else GradeSource.FEEDBACK
    run = row.run
    actors = {f"{run.actor_type}:{run.actor_id}"}
    if verdict is None:
        actors |= raters.get(run.id, set())
    graded = GradedRun(
        run.id,
        source,
        row.family,
        row.right / row.total,
        is_explored=run.planner == EXPLORED,
    )
    return graded, frozenset(actors)
