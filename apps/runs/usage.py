"""What a team used, by day, worker, member or key, summed from rows of runs and steps.

Rows of every grouping add up to the team's whole cost: what is no worker's (planning,
and calls that were cut off) has a row of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from apps.accounts.models import ApiKey, User
from apps.runs.models import Run, RunState, Step
from apps.runs.types import UsageGroup, UsageRow

PLANNING = "Planning and cut-off calls"
NOBODY = "Nobody any more"
NO_KEY = "Without a key"
_RUN_SUMS: Mapping[str, Any] = {
    "runs": Count("id"),
    "failed": Count("id", filter=Q(state=RunState.FAILED)),
    "prompt": Sum("prompt_tokens", default=0),
    "completion": Sum("completion_tokens", default=0),
    "cost": Sum("cost_micros", default=0),
    "unknown": Count("id", filter=Q(has_unknown_cost=True)),
}
_STEP_SUMS: Mapping[str, Any] = {
    "runs": Count("run_id", distinct=True),
    "failed": Count("id", filter=Q(state="failed")),
    "prompt": Sum("prompt_tokens", default=0),
    "completion": Sum("completion_tokens", default=0),
    "cost": Sum("cost_micros", default=0),
    "unknown": Count("id", filter=Q(cost_micros=None)),
}


def usage_rows(
    team_id: uuid.UUID, group: UsageGroup, since: datetime, until: datetime
) -> list[UsageRow]:
    """Return a team's usage of runs that began from `since` to before `until`."""
    runs = Run.objects.for_team(team_id).filter(
        created_at__gte=since, created_at__lt=until
    )
    return _GROUPS[group](team_id, runs)


def _by_day(team_id: uuid.UUID, runs: QuerySet[Run]) -> list[UsageRow]:
    days = runs.annotate(day=TruncDate("created_at", tzinfo=UTC)).values("day")
    sums = days.annotate(**_RUN_SUMS).order_by("day")
    return [_row(each["day"].isoformat(), None, each) for each in sums]


def _by_member(team_id: uuid.UUID, runs: QuerySet[Run]) -> list[UsageRow]:
    sums = _dearest_first(runs.values("user_id").annotate(**_RUN_SUMS))
    users = User.objects.in_bulk([each["user_id"] for each in sums if each["user_id"]])
    names = {user.id: user.get_full_name() for user in users.values()}
    return [
        _row(names.get(each["user_id"], NOBODY), each["user_id"], each) for each in sums
    ]


def _by_key(team_id: uuid.UUID, runs: QuerySet[Run]) -> list[UsageRow]:
    sums = _dearest_first(runs.values("api_key_id").annotate(**_RUN_SUMS))
    keys = dict(ApiKey.objects.for_team(team_id).values_list("id", "name"))
    return [
        _row(keys.get(each["api_key_id"], NO_KEY), each["api_key_id"], each)
        for each in sums
    ]


def _by_worker(team_id: uuid.UUID, runs: QuerySet[Run]) -> list[UsageRow]:
    steps = Step.objects.for_team(team_id).filter(run__in=runs)
    done = steps.exclude(state="skipped").values("worker")
    rows = [
        _row(each["worker"], None, each)
        for each in _dearest_first(done.annotate(**_STEP_SUMS))
    ]
    whole = runs.aggregate(**_RUN_SUMS)
    rest = UsageRow(
        label=PLANNING,
        id=None,
        runs=whole["runs"],
        failed=0,
        prompt_tokens=whole["prompt"] - sum(r.prompt_tokens for r in rows),
        completion_tokens=whole["completion"] - sum(r.completion_tokens for r in rows),
        cost_micros=whole["cost"] - sum(r.cost_micros for r in rows),
        has_unknown_cost=False,
    )
    is_any = rest.prompt_tokens or rest.completion_tokens or rest.cost_micros
    return [*rows, rest] if is_any else rows


_GROUPS: Mapping[str, Callable[[uuid.UUID, QuerySet[Run]], list[UsageRow]]] = {
    "day": _by_day,
    "member": _by_member,
    "key": _by_key,
    "worker": _by_worker,
}


def _dearest_first(sums: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(sums, key=lambda each: each["cost"], reverse=True)


def _row(label: str, id: uuid.UUID | None, sums: Mapping[str, Any]) -> UsageRow:
    return UsageRow(
        label=label,
        id=id,
        runs=sums["runs"],
        failed=sums["failed"],
        prompt_tokens=sums["prompt"],
        completion_tokens=sums["completion"],
        cost_micros=sums["cost"],
        has_unknown_cost=bool(sums["unknown"]),
    )
