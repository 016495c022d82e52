"""The list of a team's runs, for however many there are.

Every filter either goes by an index or looks at a bounded number of rows, so that no
list takes longer than a moment: text is searched among the newest runs only. Runs of
one day, tier, planner, family or worker are those that insights count.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext_noop as _

from apps.core.ids import first_id
from apps.runs.missing_plan import MISSING_PLAN
from apps.runs.models import STATES_CALLED, Run, RunLabel, RunState, Step
from apps.runs.querysets import HasFinding
from apps.runs.types import ENDED, FaultName, RunFilters
from apps.runs.usage.report import ID_SLACK

RUN = "run"
"""The stage of what whole runs fail with, which is in no list of findings."""
SEARCHED = 50_000
"""Runs that a search looks at: the newest of those that the other filters leave."""


SORTED = 10_000
"""Runs that a list sorted by a figure is made of: the newest that its filters leave."""


class RunFlag(models.TextChoices):
    """What is remarkable about a run."""

    FAULTS = "faults", _("With faults")
    """Calls failed, or work was repeated; the run may have its answer all the same."""
    UNPLANNED = "unplanned", _("Answered without a plan")
    """Its tier should have planned."""
    UNKNOWN_COST = "unknown_cost", _("Cost not known")
    """A part of it: a model has no price."""


class RunSort(models.TextChoices):
    """By which figure a list is sorted, the highest first."""

    COST = "cost", _("Cost")
    TOKENS = "tokens", _("Tokens")
    TIME = "time", _("Time")


_FIGURES = {
    RunSort.COST: F("cost_micros"),
    RunSort.TOKENS: F("prompt_tokens") + F("completion_tokens"),
    RunSort.TIME: F("latency_ms"),
}
_FLAGS = {
    RunFlag.FAULTS: Q(findings__isnull=False) & ~Q(findings=[]),
    RunFlag.UNPLANNED: MISSING_PLAN,
    RunFlag.UNKNOWN_COST: Q(has_unknown_cost=True),
}


def runs_sorted(runs: QuerySet[Run], by: RunSort, *, ascending: bool) -> QuerySet[Run]:
    """Return the newest SORTED of some runs by a figure; unknown ones are last.

    `runs`: newest first.
    """
    beyond = runs.values_list("id", flat=True)[SORTED : SORTED + 1]
    newest = runs.filter(*(Q(id__gt=each) for each in beyond))
    newest = newest.annotate(figure=_FIGURES[by])
    order = F("figure").asc if ascending else F("figure").desc
    return newest.order_by(order(nulls_last=True), "-id")


def run_list(*, team_id: uuid.UUID, filters: RunFilters) -> QuerySet[Run]:
    """Return a team's runs, newest first.

    What has no index, see `runs_sought`, is looked for in the newest SEARCHED runs that
    the other filters leave; a worker in its newest SEARCHED steps, a label in its
    newest SEARCHED runs.
    """
    runs = Run.objects.for_team(team_id).filter(_indexed(filters)).order_by("-id")
    # Ids tell when, to the millisecond, but for a clock that was put right.
    ids: dict[str, uuid.UUID] = {}
    if filters.since:
        ids["gte"] = first_id(filters.since - ID_SLACK)
    if filters.until:
        ids["lt"] = first_id(filters.until + ID_SLACK)
    runs = runs.filter(**{f"id__{bound}": id for bound, id in ids.items()})
    if filters.worker:
        steps = Step.objects.for_team(team_id).filter(
            worker=filters.worker,
            state__in=STATES_CALLED,
            **{f"run_id__{bound}": id for bound, id in ids.items()},
        )
        newest = steps.order_by("-run_id").values("run_id")[:SEARCHED]
        runs = runs.filter(id__in=newest)
    for label in filters.labels:
        rows = RunLabel.objects.for_team(team_id).filter(**label._asdict())
        labelled = rows.order_by("-run_id").values("run_id")[:SEARCHED]
        runs = runs.filter(id__in=labelled)
    sought = runs_sought(filters)
    if sought:
        # As a value of its own: the database plans badly for one it does not know.
        beyond = runs.values_list("id", flat=True)[SEARCHED : SEARCHED + 1]
        runs = runs.filter(sought, *(Q(id__gt=each) for each in beyond))
    if filters.since:
        runs = runs.filter(created_at__gte=filters.since)
    if filters.until:
        runs = runs.filter(created_at__lt=filters.until)
    return runs


def _indexed(filters: RunFilters) -> Q:
    """Return the condition of the filters that have an index of their own."""
    found = Q()
    if filters.state == ENDED:
        found &= ~Q(state=RunState.RUNNING)
    elif filters.state:
        found &= Q(state=filters.state)
    if filters.tier:
        found &= Q(tier=filters.tier)
    if filters.planner is not None:
        found &= Q(planner=filters.planner)
    if filters.family is not None:
        found &= Q(family=filters.family)
    if filters.preset_id is not None:
        found &= Q(preset_id=filters.preset_id)
    if filters.run_ids is not None:
        found &= Q(id__in=filters.run_ids)
    return found


def runs_sought(filters: RunFilters) -> Q:
    """Return the condition of the filters without an index; empty: there is none."""
    return _sought_at_begin(filters) & _sought_at_end(filters)


def _sought_at_begin(filters: RunFilters) -> Q:
    """Return the condition of what the beginning of a run decides."""
    sought = Q()
    if filters.model:
        sought &= Q(model=filters.model)
    if filters.actor:
        sought &= Q(actor_name__icontains=filters.actor)
    if filters.sources:
        sought &= Q(source__in=filters.sources)
    if filters.query:
        sought &= Q(title__icontains=filters.query)
    if filters.api_key_id:
        sought &= Q(api_key=filters.api_key_id)
    if filters.user_id:
        sought &= Q(user=filters.user_id)
    if filters.has_key is not None:
        sought &= Q(api_key__isnull=not filters.has_key)
    if filters.has_member is not None:
        sought &= Q(user__isnull=not filters.has_member)
    return sought


def _sought_at_end(filters: RunFilters) -> Q:
    """Return the condition of what follows from the course of a run."""
    sought = Q()
    if filters.min_cost_micros is not None:
        sought &= Q(cost_micros__gte=filters.min_cost_micros)
    if filters.max_cost_micros is not None:
        sought &= Q(cost_micros__lte=filters.max_cost_micros)
    if filters.min_latency_ms is not None:
        sought &= Q(latency_ms__gte=filters.min_latency_ms)
    if filters.flag:
        sought &= _FLAGS[RunFlag(filters.flag)]
    if filters.shape is not None:
        sought &= Q(shape=filters.shape)
    if filters.fault is not None:
        sought &= _has_fault(filters.fault)
    return sought


def _has_fault(wanted: FaultName) -> Q:
    if wanted.stage == RUN:
        return Q(error_code=wanted.fault)
    return Q(HasFinding("findings", wanted))
