"""The workers of results: those of the steps of their runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from apps.runs.models import Step


def result_workers(team_id: UUID, run_ids: Sequence[UUID]) -> Mapping[UUID, list[str]]:
    """Return the workers of the steps of runs; a run without steps has none."""
    steps = Step.objects.for_team(team_id).filter(run_id__in=run_ids)
    workers: dict[UUID, list[str]] = defaultdict(list)
    ordered = steps.exclude(state="skipped").order_by("round", "index")
    for run_id, worker in ordered.values_list("run_id", "worker"):
        workers[run_id].append(worker)
    return workers
