"""The list of a team's runs, for however many there are.

Every filter either goes by an index or looks at a bounded number of rows, so that no
list takes longer than a moment: text is searched among the newest runs only.
"""

from __future__ import annotations

import uuid

from django.db.models import Q, QuerySet

from apps.core.ids import first_id
from apps.runs.models import Run
from apps.runs.types import RunFilters
from apps.runs.usage.report import ID_SLACK

SEARCHED = 50_000
"""Runs that a search looks at: the newest of those that the other filters leave."""


def run_list(*, team_id: uuid.UUID, filters: RunFilters) -> QuerySet[Run]:
    """Return a team's runs, newest first.

    All filters but state and time are looked for in the newest SEARCHED runs of the
    state and the time asked for.
    """
    runs = Run.objects.for_team(team_id).order_by("-id")
    if filters.state:
        runs = runs.filter(state=filters.state)
    # Ids tell when, to the millisecond, but for a clock that was put right.
    if filters.since:
        runs = runs.filter(id__gte=first_id(filters.since - ID_SLACK))
    if filters.until:
        runs = runs.filter(id__lt=first_id(filters.until + ID_SLACK))
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


def runs_sought(filters: RunFilters) -> Q:
    """Return the condition of all filters but state and time; empty: there is none."""
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
    if filters.min_cost_micros is not None:
        sought &= Q(cost_micros__gte=filters.min_cost_micros)
    if filters.max_cost_micros is not None:
        sought &= Q(cost_micros__lte=filters.max_cost_micros)
    return sought
