"""Finds the light planners in use that have something to learn, now and then."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from apps.core.errors import ConductorError
from apps.evaluation.models import OutcomeProgress
from apps.pools.models import PlannerCounts, PlannerVersion, Pool
from apps.training.models import ObservedRun, TrainingSettings

logger = logging.getLogger(__name__)


def planners_adapt(now: datetime | None = None) -> Iterator[int]:
    """Adapt each planner in use that something is new for.

    Yields how many graded runs count since its fit. One query says what is new.
    """
    for team_id, version_id, source in _planners_with_news():
        # Brings NumPy with it, which a process without light planners does not need.
        from apps.training.adaptation.adapting import planner_adapt

        versions = PlannerVersion.objects.for_team(team_id).select_related("pool")
        version = versions.filter(id=version_id).first()
        if version is None:
            continue
        try:
            yield planner_adapt(version, source, now or timezone.now())
        except ConductorError:  # the next look may do better; others get their turn
            logger.exception("planner %s cannot follow what was judged", version_id)


def erased_runs_forget() -> Iterator[int]:
    """Forget what was observed of runs whose texts have been erased since.

    Their planners are adapted anew at the next look. Yields how many those are.
    """
    with transaction.atomic():
        rows = ObservedRun.objects.across_teams().filter(run__title="")
        versions = set(rows.values_list("version_id", flat=True))
        rows.delete()
        counts = PlannerCounts.objects.across_teams().filter(version_id__in=versions)
        counts.update(source="")
    yield len(versions)


def _planners_with_news() -> Iterator[tuple[UUID, UUID, str]]:
    """Yield team and id of planners in use that may have something to learn, and what.

    That is how far judgements of the team's runs have been read, and when it last
    chose what is learned from.
    """
    team = OuterRef("team_id")
    progress = OutcomeProgress.objects.across_teams().filter(team_id=team)
    settings = TrainingSettings.objects.across_teams().filter(team_id=team)
    counts = PlannerCounts.objects.across_teams().filter(
        version_id=OuterRef("planner_version_id")
    )
    pools = Pool.objects.across_teams().exclude(planner_version=None)
    rows = pools.order_by("id").values_list(
        "team_id",
        "planner_version_id",
        Subquery(progress.values("seq")),
        Subquery(settings.values("updated_at")),
        Subquery(counts.values("source")),
    )
    for team_id, version_id, judged, decided, known in list(rows):
        if version_id is not None and known != (source := f"{judged} {decided}"):
            yield team_id, version_id, source
