"""How a team's runs and workers fared in the last minutes or hours, for alerts.

Reads the runs that began in a window, by the index of ids, and of these at most the
newest `MOST_RUNS`: a site with millions of runs pays for the window alone.
"""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from apps.core.ids import first_id
from apps.core.scoping import TeamQuerySet
from apps.engine.errors import CallFault
from apps.runs.missing_plan import MISSING_PLAN
from apps.runs.models import NOT_BY_CALLERS, Run, RunState, Step
from apps.runs.records.end_facts import INTERRUPTED, STEP
from apps.runs.usage.report import ID_SLACK

MOST_RUNS = 20_000
NOT_OF_WORKERS = frozenset(
    {
        CallFault.CONTENT_FILTERED,
        CallFault.CONTEXT_LENGTH,
        CallFault.PREFILL_REFUSED,
        CallFault.DIVERGED,
        CallFault.CANCELLED,
        INTERRUPTED,
    }
)
"""Faults that say something of the request, or of this site, and not of the worker."""


@dataclass(frozen=True, slots=True)
class RunOutcomes:
    """Runs of people and API clients that began in a window and have ended."""

    ended: int
    """Completed or failed; what people cancelled is left out."""
    failed: int
    unplanned: int
    """Answered without a plan that their tier should have made."""


@dataclass(frozen=True, slots=True)
class CallOutcomes:
    """Calls to a worker in the runs of a window."""

    calls: int
    failed: int
    """Those that failed by the worker's fault, rescued ones and those that its circuit
    breaker kept back included."""


def run_outcomes(team_id: uuid.UUID, since: datetime) -> RunOutcomes:
    """Return how a team's runs since a moment ended."""
    ended = _begun(team_id, since).filter(
        state__in=(RunState.COMPLETED, RunState.FAILED)
    )
    asked = ended.exclude(source__in=NOT_BY_CALLERS).order_by("-id")
    rows = Run.objects.for_team(team_id).filter(id__in=asked.values("id")[:MOST_RUNS])
    found = rows.aggregate(
        ended=Count("id"),
        failed=Count("id", filter=Q(state=RunState.FAILED)),
        unplanned=Count("id", filter=MISSING_PLAN),
    )
    return RunOutcomes(found["ended"], found["failed"], found["unplanned"])


def call_outcomes(team_id: uuid.UUID, since: datetime) -> dict[str, CallOutcomes]:
    """Return how calls to workers in a team's runs since a moment ended, by name."""
    ended = _begun(team_id, since).exclude(state=RunState.RUNNING).order_by("-id")
    ids = ended.values("id")[:MOST_RUNS]
    answered: Counter[str] = Counter()
    steps = Step.objects.for_team(team_id).filter(run__in=ids, state="completed")
    counted = steps.order_by().values("worker").annotate(number=Count("id"))
    for name, number in counted.values_list("worker", "number"):
        answered[name] += number
    failed: Counter[str] = Counter()
    noted = ended.exclude(findings=[]).values_list("findings", flat=True)[:MOST_RUNS]
    for findings in noted:
        for each in findings or ():
            if each["stage"] == STEP and each["fault"] not in NOT_OF_WORKERS:
                failed[each["worker"]] += 1
    return {
        name: CallOutcomes(answered[name] + failed[name], failed[name])
        for name in sorted(answered.keys() | failed.keys())
    }


def _begun(team_id: uuid.UUID, since: datetime) -> TeamQuerySet[Run]:
    runs = Run.objects.for_team(team_id).filter(id__gte=first_id(since - ID_SLACK))
    return runs.filter(created_at__gte=since)
