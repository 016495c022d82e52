"""Reads of the shadow tests of a given team."""

from __future__ import annotations

from uuid import UUID

from apps.core.errors import NotFound
from apps.core.scoping import TeamQuerySet
from apps.evaluation.shadow.models import MirroredRun, MirrorState, ShadowTest

FEWEST_PAIRS = 30
"""Pairs with both answers that a promotion takes: fewer show next to nothing."""


def shadow_list(team_id: UUID) -> TeamQuerySet[ShadowTest]:
    """Return the shadow tests of a team, newest first."""
    return ShadowTest.objects.for_team(team_id).order_by("-id")


def access_shadow(*, team_id: UUID, test_id: UUID) -> ShadowTest:
    """Return a shadow test of the team. Raises: NotFound."""
    found = shadow_list(team_id).filter(id=test_id).first()
    if found is None:
        raise NotFound(f"this team has no shadow test {str(test_id)!r}")
    return found


def mirrored_of(test: ShadowTest) -> TeamQuerySet[MirroredRun]:
    """Return the runs that a test has mirrored or is to mirror, newest first."""
    rows = MirroredRun.objects.for_team(test.team_id)
    return rows.filter(test=test).order_by("-id")


def pairs_missing(test: ShadowTest) -> int:
    """Return how many pairs with both answers a promotion still takes; 0: none."""
    pairs = mirrored_of(test).filter(
        state=MirrorState.DONE, original_error="", error=""
    )
    return max(0, FEWEST_PAIRS - pairs.count())
