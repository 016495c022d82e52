"""Which runs of a team are learned from: found by their rows alone, without a text.

Evaluations: training tasks that have a grade; held-out tasks are what planners are
measured on. Requests of people and keys: only with the team's consent, and only if they
were reviewed, verified or rated. A run whose texts have been erased is in neither.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple
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
from apps.training.learning_data.weights import (
    VERIFIED_BOUND,
    Actors,
    RequestWeights,
)
from apps.training.models import TrainingSettings

RUNS_AT_ONCE = 500
"""Of a page."""
SPLIT = "training"
NOBODY = UUID(int=0)
"""Comes before the id of any run."""
Page = list[GradedRun]
Requests = list[tuple[GradedRun, Actors]]
SOURCES = (
    (OutcomeSource.REVIEW, GradeSource.REVIEWER),
    (OutcomeSource.VERIFIER, GradeSource.CLIENT),
    (OutcomeSource.FEEDBACK, GradeSource.FEEDBACK),
)
"""Of several judgements of a run the first one of these counts."""


def graded_runs(team_id: UUID, pool: str) -> Iterator[Page]:
    """Yield the graded runs of a pool page by page, always in the same order."""
    trusted = 0
    for page in _evaluated(team_id, pool):
        trusted += len(page)
        yield page
    yield from graded_requests(team_id, pool, trusted)


def graded_requests(
    team_id: UUID, pool: str, trusted: float, since: UUID = NOBODY
) -> Iterator[Page]:
    """Yield the graded requests of a pool page by page; none without consent.

    `trusted` is the weight of the runs beside them that nobody has to be kept from
    outvoting. With `since`, only runs with ids from it on are there.
    """
    settings = TrainingSettings.objects.for_team(team_id).first()
    if settings is None or not settings.learns_from_requests:
        return
    found = partial(_requested, team_id, pool, since)
    weight_of = _request_weights(found, trusted, settings.trusts_verified_outcomes)
    for requests in found():
        yield [replace(run, weight=weight_of(run, actors)) for run, actors in requests]


def has_consent(team_id: UUID) -> bool:
    """Return whether a team lets planners learn from requests of people and keys."""
    rows = TrainingSettings.objects.for_team(team_id)
    return rows.filter(learns_from_requests=True).exists()


def _request_weights(
    requested: Callable[[], Iterator[Requests]], trusted: float, trusts_verifiers: bool
) -> Callable[[GradedRun, Actors], float]:
    """Return what gives a request its weight; `trusted` is that of other runs.

    The bound of verified runs is a share of all runs, and so is that of the others:
    these are weighed without the verified ones first, which can only be too little.
    """

    def is_apart(run: GradedRun) -> bool:
        return trusts_verifiers and run.source is GradeSource.CLIENT

    apart, others = Counter[Actors](), Counter[Actors]()
    for page in requested():
        for run, actors in page:
            (apart if is_apart(run) else others)[actors] += 1
    at_least = trusted + RequestWeights(others, trusted).total
    verified = RequestWeights(apart, at_least, VERIFIED_BOUND)
    usual = RequestWeights(others, trusted + verified.total)
    return lambda run, actors: (verified if is_apart(run) else usual).of(actors)


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


def _requested(team_id: UUID, pool: str, since: UUID) -> Iterator[Requests]:
    """Yield runs that were judged, with those who decide what they teach."""
    rows = RunOutcome.objects.for_team(team_id).filter(
        run__pool_name=pool, run_id__gte=since
    )
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
        judges = _judges(team_id, some)
        yield [_of_request(each, judges) for each in judged.values()]


class _Judges(NamedTuple):
    """The people and keys that judged one run."""

    raters: set[str]
    verifiers: set[str]


def _judges(team_id: UUID, run_ids: Sequence[UUID]) -> dict[UUID, _Judges]:
    rows = RunFeedback.objects.for_team(team_id).filter(run_id__in=run_ids)
    judges: dict[UUID, _Judges] = defaultdict(lambda: _Judges(set(), set()))
    for row in rows:
        actor = f"{row.actor_type}:{row.actor_id}"
        if row.rating:
            judges[row.run_id].raters.add(actor)
        if row.outcome_thousandths is not None:
            judges[row.run_id].verifiers.add(actor)
    return judges


def _of_request(
    judged: dict[str, RunOutcome], judges: dict[UUID, _Judges]
) -> tuple[GradedRun, Actors]:
    """Return a run with its actors.

    Whoever reviews has that right from the team, so a verdict is bounded by who asked.
    """
    row, source = next(
        (judged[outcome], source) for outcome, source in SOURCES if outcome in judged
    )
    run = row.run
    actors = {f"{run.actor_type}:{run.actor_id}"}
    if source is GradeSource.CLIENT:
        actors |= judges[run.id].verifiers
    elif source is GradeSource.FEEDBACK:
        actors |= judges[run.id].raters
    graded = GradedRun(
        run.id,
        source,
        row.family,
        row.right / row.total,
        is_explored=run.planner == EXPLORED,
    )
    return graded, frozenset(actors)
