"""Reads of the A/B tests of a given team."""

from __future__ import annotations

from uuid import UUID

from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.evaluation.ab.models import ABTest
from apps.evaluation.ab.settings import ABSettings
from apps.runs.models import Run


def ab_list(team_id: UUID) -> TeamQuerySet[ABTest]:
    """Return the A/B tests of a team, newest first."""
    return ABTest.objects.for_team(team_id).order_by("-id")


def access_ab_test(*, team_id: UUID, test_id: UUID) -> ABTest:
    """Return an A/B test of the team. Raises: NotFound."""
    found = ab_list(team_id).filter(id=test_id).first()
    if found is None:
        raise NotFound(f"this team has no A/B test {str(test_id)!r}")
    return found


def runs_of(test: ABTest) -> TeamQuerySet[Run]:
    """Return the runs of both arms, newest first."""
    return Run.objects.for_team(test.team_id).filter(ab_test_id=test.id).order_by("-id")


def is_full(test: ABTest) -> bool:
    """Say whether a test has as many runs as it was to."""
    most = ABSettings.model_validate(test.settings).max_runs
    return runs_of(test).count() >= most
