"""Which runs of a tier a shadow test mirrors, by the filters of its settings.

Some are decided when a run begins, others when it has ended.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from django.db.models import QuerySet

from apps.audit.selectors import entries_by_subject
from apps.core.ids import is_sampled
from apps.engine.events import PolicyDecided
from apps.evaluation.shadow.models import ShadowTest
from apps.evaluation.shadow.settings import ShadowSettings
from apps.governance.models import RunFeedback
from apps.planners.light.exploring import EXPLORED
from apps.runs.models import NOT_BY_CALLERS, Run
from apps.runs.selectors import event_of, runs_sought


class RunSelection:
    """The runs that one test is to mirror."""

    def __init__(self, test: ShadowTest, settings: ShadowSettings) -> None:
        self._test = test
        self._settings = settings
        self._classes: dict[UUID, frozenset[str]] = {}
        """Data classes of runs that have ended; they never change."""

    def begun(self) -> QuerySet[Run]:
        """Return the runs that the filters known at their beginning let through."""
        settings = self._settings
        runs = Run.objects.for_team(self._test.team_id).filter(
            pool_name=settings.pool, model__in=settings.models
        )
        sought = replace(settings.filters.when_begun, sources=settings.sources)
        # In arm b of an A/B test the tier itself does not answer.
        runs = runs.exclude(source__in=NOT_BY_CALLERS).exclude(ab_arm="b")
        return runs.filter(runs_sought(sought))

    def wanted(self, runs: Sequence[Run]) -> list[Run]:
        """Return those of its share; of those that have ended, those that match."""
        percent, seed = self._settings.percent, self._test.id.bytes
        drawn = [run for run in runs if is_sampled(seed + run.id.bytes, percent)]
        matching = self.matching([run.id for run in drawn if run.is_over])
        return [run for run in drawn if not run.is_over or run.id in matching]

    def matching(self, run_ids: Collection[UUID]) -> set[UUID]:
        """Return those of some runs that have ended and match all filters."""
        filters, team_id = self._settings.filters, self._test.team_id
        if not run_ids:
            return set()
        runs = Run.objects.for_team(team_id).filter(id__in=run_ids)
        runs = runs.filter(runs_sought(filters.when_ended))
        runs = runs.exclude(planner=EXPLORED)  # not what the tier does at its best
        if filters.state is not None:
            runs = runs.filter(state=filters.state)
        found = set(runs.values_list("id", flat=True))
        if filters.feedback is not None:
            ratings = RunFeedback.objects.for_team(team_id).filter(
                run_id__in=found, rating=filters.feedback
            )
            found &= set(ratings.values_list("run_id", flat=True))
        if filters.data_classes:
            found = self._of_classes(found, frozenset(filters.data_classes))
        return found

    def _of_classes(self, run_ids: set[UUID], wanted: frozenset[str]) -> set[UUID]:
        unread = [run_id for run_id in run_ids if run_id not in self._classes]
        entries = entries_by_subject(self._test.team_id, unread, texts=())
        for run_id in unread:
            events = (
                event_of(entry)
                for entry in entries.get(run_id, ())
                if entry.action == PolicyDecided.action
            )
            self._classes[run_id] = frozenset(
                event.data_class for event in events if isinstance(event, PolicyDecided)
            )
        return {run_id for run_id in run_ids if self._classes[run_id] & wanted}
