"""Finds the models that runs use and whose price nobody has set.

While a budget binds a run, one such model in its pool is enough to refuse it: nobody
could say what the run may cost.
"""

from __future__ import annotations

import datetime as dt
import uuid
from typing import TypeVar

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from apps.pools.models import Conductor, Price, TierPlanner, Worker, WorkerKind

ModelT = TypeVar("ModelT", Worker, Conductor)


def models_without_price(team_id: uuid.UUID) -> list[Worker | Conductor]:
    """Return the models of a team's pools that have no price, workers first, by name.

    Of conductors only those that plan for a tier; of workers those that answer.
    """
    asked = [each for each in TierPlanner if each.has_conductor]
    workers = Worker.objects.for_team(team_id).filter(
        is_enabled=True, kind=WorkerKind.CHAT, pools__isnull=False
    )
    conductors = Conductor.objects.for_team(team_id).filter(
        pools__tiers__planner__in=asked
    )
    return [
        *_unpriced(team_id, workers, "worker"),
        *_unpriced(team_id, conductors, "conductor"),
    ]


def _unpriced(
    team_id: uuid.UUID, rows: QuerySet[ModelT], side: str
) -> QuerySet[ModelT]:
    today = timezone.now().astimezone(dt.UTC).date()
    prices = Price.objects.for_team(team_id).filter(
        valid_from__lte=today, **{side: OuterRef("pk")}
    )
    return rows.filter(~Exists(prices)).distinct().order_by("name")
