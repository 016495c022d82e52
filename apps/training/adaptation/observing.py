"""Collects the graded requests since a version's fit, with what it knows them by.

A text is read once, to find the kind of its prompt; grades are read each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from apps.core.ids import first_id
from apps.core.scoping import TeamQuerySet
from apps.planners.light.explanation import Explanation
from apps.planners.light.logged_runs import LoggedRun, LoggedStep, StepRole
from apps.planners.light.model import LightModel
from apps.pools.models import PlannerVersion
from apps.pools.selectors import fitted_model
from apps.training.adaptation.models import ObservedRun
from apps.training.learning_data.graded_runs import graded_requests
from apps.training.learning_data.reading import records_of
from apps.training.learning_data.records import GradedRun, LearningRecord
from apps.training.learning_data.served_models import ServedModels

MAX_OBSERVED = 2_000
"""Runs since a fit that count, the newest ones: the weight of older ones is gone."""


class Observed(NamedTuple):
    """A run with its present grade."""

    row: ObservedRun
    graded: GradedRun

    @property
    def run(self) -> LoggedRun:
        """Return it as planners learn from it, without its prompt."""
        *earlier, last = [
            LoggedStep(worker, StepRole(role), tuple(access), grade, fingerprint=model)
            for worker, role, access, grade, model in self.row.steps
        ]
        steps = (*earlier, replace(last, grade=self.graded.grade))
        return LoggedRun("", steps, self.graded.weight, self.graded.family)


def observed_runs(version: PlannerVersion) -> list[Observed]:
    """Return the graded requests since a version's fit, in order.

    Raises: HistoryUnreadable; what `fitted_model` raises.
    """
    team_id = version.team_id
    graded = _since(version)
    rows = ObservedRun.objects.for_team(team_id).filter(version=version)
    rows.exclude(run_id__in=graded).delete()
    known = set(rows.values_list("run_id", flat=True))
    fresh = [run for run_id, run in graded.items() if run_id not in known]
    if fresh:
        read = _rows(version, fitted_model(version), fresh)
        ObservedRun.objects.bulk_create(read, ignore_conflicts=True)
    observed = [Observed(row, graded[row.run_id]) for row in rows.order_by("run_id")]
    _keep_grades(rows, observed)
    return observed


def _keep_grades(rows: TeamQuerySet[ObservedRun], observed: Sequence[Observed]) -> None:
    changed = [each.row for each in observed if each.row.grade != each.graded.grade]
    for each in observed:
        each.row.grade = each.graded.grade
    rows.bulk_update(changed, ["grade"])


def _since(version: PlannerVersion) -> dict[UUID, GradedRun]:
    """Return the newest graded requests that are younger than a version, by id.

    They are weighed against the runs that the version was fitted on.
    """
    pages = graded_requests(
        version.team_id,
        version.pool.name,
        float(version.fit.get("runs", 0)),
        first_id(version.created_at),
    )
    found = {run.run_id: run for page in pages for run in page}
    return {run_id: found[run_id] for run_id in sorted(found)[-MAX_OBSERVED:]}


def _rows(
    version: PlannerVersion, model: LightModel, graded: Sequence[GradedRun]
) -> Iterator[ObservedRun]:
    for record in records_of(version.team_id, graded, ServedModels(version.team_id)):
        explained = _explained(record, version.number)
        yield ObservedRun(
            team_id=version.team_id,
            version=version,
            run_id=record.graded.run_id,
            kind=_kind(record, model, explained),
            steps=[
                [step.worker, step.role, step.access, step.grade, step.fingerprint]
                for step in record.run.steps
            ],
            grade=record.graded.grade,
            promised=None if explained is None else explained["chosen"]["success"],
            answered_at=record.created_at,
        )


def _explained(record: LearningRecord, number: int) -> Explanation | None:
    """Return the explanation of a plan of this version; None: another one made it."""
    if not record.explanation:
        return None
    explanation: Explanation = json.loads(record.explanation)
    return explanation if explanation.get("version") == number else None


def _kind(
    record: LearningRecord, model: LightModel, explained: Explanation | None
) -> int | None:
    if explained is not None:
        return int(explained["kind"]) if explained["is_familiar"] else None
    kind, likeness = model.placed(record.run.prompt)
    return kind if model.is_familiar(record.run.prompt, likeness) else None
