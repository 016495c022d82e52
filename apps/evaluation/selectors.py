"""Reads of suites and evaluations of a given team."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.audit.models import JobState
from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.evaluation.models import (
    GRADED,
    IN_PROGRESS,
    Evaluation,
    EvaluationResult,
    Suite,
    SuiteVersion,
)


@dataclass(frozen=True, slots=True)
class EvaluationProgress:
    """How far an evaluation is."""

    total: int
    graded: int
    started: int
    cost_micros: int
    """Of the graded ones."""
    left_s: int | None = None
    """How long the rest takes at the pace so far. None: not known, or it has ended."""


def suite_list(team_id: UUID) -> TeamQuerySet[Suite]:
    """Return the suites of a team, by name."""
    return Suite.objects.for_team(team_id).order_by("name")


def access_suite(*, team_id: UUID, name: str) -> Suite:
    """Return a suite of the team by its name. Raises: NotFound."""
    found = suite_list(team_id).filter(name=name).first()
    if found is None:
        raise NotFound(f"this team has no suite {name[:100]!r}", param="suite")
    return found


def access_suite_by_id(*, team_id: UUID, suite_id: UUID) -> Suite:
    """Return a suite of the team. Raises: NotFound."""
    found = suite_list(team_id).filter(id=suite_id).first()
    if found is None:
        raise NotFound(f"this team has no suite {str(suite_id)!r}", param="suite_id")
    return found


def suite_versions(suite: Suite) -> TeamQuerySet[SuiteVersion]:
    """Return the versions of a suite, newest first."""
    versions = SuiteVersion.objects.for_team(suite.team_id).filter(suite=suite)
    return versions.select_related("suite").order_by("-number")


def newest_version(suite: Suite) -> SuiteVersion:
    """Return the newest version of a suite. Raises: NotFound if it has none."""
    return access_version(suite, None)


def access_version(suite: Suite, number: int | None) -> SuiteVersion:
    """Return a version of a suite; None: the newest. Raises: NotFound."""
    versions = suite_versions(suite)
    if number is not None:
        versions = versions.filter(number=number)
    found = versions.first()
    if found is None:
        what = "tasks" if number is None else f"version {number}"
        raise NotFound(f"the suite {suite.name!r} has no {what}", param="suite_version")
    return found


def evaluation_list(team_id: UUID) -> TeamQuerySet[Evaluation]:
    """Return the evaluations of a team, newest first."""
    rows = Evaluation.objects.for_team(team_id)
    return rows.select_related("version__suite").order_by("-id")


def access_evaluation(*, team_id: UUID, evaluation_id: UUID) -> Evaluation:
    """Return an evaluation of the team. Raises: NotFound."""
    found = evaluation_list(team_id).filter(id=evaluation_id).first()
    if found is None:
        raise NotFound(f"this team has no evaluation {str(evaluation_id)!r}")
    return found


def results_of(evaluation: Evaluation) -> TeamQuerySet[EvaluationResult]:
    """Return the results of an evaluation, in no order."""
    rows = EvaluationResult.objects.for_team(evaluation.team_id)
    return rows.filter(evaluation=evaluation)


def evaluation_progress(evaluation: Evaluation) -> EvaluationProgress:
    """Return how far an evaluation is, up to a second ago."""
    started = results_of(evaluation).filter(state__in=IN_PROGRESS)
    return EvaluationProgress(
        evaluation.total,
        evaluation.graded,
        started.count(),
        evaluation.cost_micros,
        _left_s(evaluation),
    )


def _left_s(evaluation: Evaluation) -> int | None:
    begin, done = evaluation.started_at, evaluation.graded
    if evaluation.state == JobState.DONE or begin is None or not done:
        return None
    pace = (timezone.now() - begin) / done
    return round((pace * (evaluation.total - done)).total_seconds())


def evaluation_counts(evaluation: Evaluation) -> dict[str, int]:
    """Count the results of an evaluation: what its row keeps of them."""
    rows = results_of(evaluation)
    return rows.aggregate(
        total=Count("id"),
        graded=Count("id", filter=Q(state__in=GRADED)),
        cost_micros=Coalesce(
            Sum(
                F("cost_micros") + F("grading_cost_micros"),
                filter=Q(state__in=GRADED),
            ),
            0,
        ),
    )
