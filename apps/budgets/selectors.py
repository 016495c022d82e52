"""Reads of budgets. `standings_peek` costs a team without budgets nothing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from django.utils import timezone

from apps.accounts.models import ApiKey
from apps.budgets.models import Budget, BudgetKind, Period, Reservation, Spend, spend_id
from apps.budgets.periods import period_end, period_start
from apps.budgets.types import BudgetStatus, Standing
from apps.core.errors import NotFound
from apps.core.ttl_cache import TtlCache

WHOLE_TEAM = "Whole team"
PERIOD_WORDS = {
    Period.RUN.value: "limit for each run",
    Period.DAY.value: "daily budget",
    Period.MONTH.value: "monthly budget",
}

_standings: TtlCache[uuid.UUID, tuple[Standing, ...]] = TtlCache()
"""By team. A team without budgets is remembered as an empty tuple."""


def budget_list(team_id: uuid.UUID) -> list[BudgetStatus]:
    """Return a team's budgets and where they stand now, in the order they were set."""
    return _statuses(team_id, _budgets(team_id), timezone.now())


def budget_status(budget: Budget) -> BudgetStatus:
    """Return where one budget stands now."""
    return _statuses(budget.team_id, [budget], timezone.now())[0]


def access_budget(team_id: uuid.UUID, budget_id: uuid.UUID) -> Budget:
    """Return a budget of the team. Raises: NotFound for any other one."""
    budgets = Budget.objects.for_team(team_id).select_related("user", "api_key")
    budget = budgets.filter(id=budget_id).first()
    if budget is None:
        raise NotFound(f"there is no budget {str(budget_id)!r} in this team")
    return budget


def budgets_binding(
    team_id: uuid.UUID,
    user_id: uuid.UUID | None = None,
    api_key_id: uuid.UUID | None = None,
) -> list[BudgetStatus]:
    """Return the budgets that a run of this person and key counts for."""
    return [
        status
        for status in budget_list(team_id)
        if status.budget.kind == BudgetKind.TEAM
        or (user_id is not None and status.budget.user_id == user_id)
        or api_key_id in status.key_ids
    ]


def standings_peek(team_id: uuid.UUID) -> tuple[Standing, ...] | None:
    """Return a team's recently read budgets, without touching the database.

    For the event loop: never blocks. None says nothing; ask `standings_read`.
    """
    return _standings.get(team_id)


def standings_read(team_id: uuid.UUID) -> tuple[Standing, ...]:
    """Return a team's budgets as they stand now, and remember them. Blocks."""
    generation = _standings.generation
    now = timezone.now()
    statuses = _statuses(team_id, _budgets(team_id), now)
    found = tuple(_standing(status, now) for status in statuses)
    _standings.put(team_id, found, generation=generation)
    return found


def standings_forget(team_id: uuid.UUID) -> None:
    """Forget what is remembered of a team's budgets, after a change."""
    _standings.drop(lambda key, _: key == team_id)


def reservation_list(team_id: uuid.UUID, run_id: uuid.UUID) -> list[Reservation]:
    """Return what a run has set aside, by budget."""
    rows = Reservation.objects.for_team(team_id).filter(run_id=run_id)
    return list(rows.order_by("spend_id"))


def target_label(budget: Budget) -> str:
    """Return the name of whom a budget is for."""
    if budget.user is not None:
        return budget.user.get_full_name()
    if budget.api_key is not None:
        return budget.api_key.name
    return WHOLE_TEAM


def _budgets(team_id: uuid.UUID) -> list[Budget]:
    budgets = Budget.objects.for_team(team_id).select_related("user", "api_key")
    return list(budgets)


def _statuses(
    team_id: uuid.UUID, budgets: list[Budget], now: datetime
) -> list[BudgetStatus]:
    ids = {
        budget.id: spend_id(budget.id, starts_on)
        for budget in budgets
        if (starts_on := period_start(budget.period, now)) is not None
    }
    spends = Spend.objects.for_team(team_id).in_bulk(list(ids.values())) if ids else {}
    lines = _lines(team_id, budgets)
    statuses = [
        _status(budget, spends.get(ids[budget.id]) if budget.id in ids else None, now)
        for budget in budgets
    ]
    return [
        replace(status, key_ids=lines.get(status.budget.api_key_id, frozenset()))
        for status in statuses
    ]


def _lines(
    team_id: uuid.UUID, budgets: list[Budget]
) -> dict[uuid.UUID | None, frozenset[uuid.UUID]]:
    """Return by key the key itself and those after it: rotating lifts no budget."""
    firsts = {budget.api_key_id for budget in budgets} - {None}
    if not firsts:
        return {}
    rotated = ApiKey.objects.for_team(team_id).exclude(replaced_by=None)
    after = dict(rotated.values_list("id", "replaced_by_id"))
    return {first: frozenset(_line(first, after)) for first in firsts}


def _line(
    key_id: uuid.UUID | None, after: Mapping[uuid.UUID, uuid.UUID | None]
) -> Iterator[uuid.UUID]:
    while key_id is not None:
        yield key_id
        key_id = after.get(key_id)


def _status(budget: Budget, spend: Spend | None, now: datetime) -> BudgetStatus:
    starts_on = period_start(budget.period, now)
    spent = spend.spent_micros if spend else 0
    reserved = spend.reserved_micros if spend else 0
    return BudgetStatus(
        budget=budget,
        target_label=target_label(budget),
        spent_micros=spent,
        reserved_micros=reserved,
        left_micros=max(0, budget.limit_micros - spent - reserved),
        resets_at=period_end(budget.period, starts_on) if starts_on else None,
    )


def _standing(status: BudgetStatus, now: datetime) -> Standing:
    budget = status.budget
    whose = {
        BudgetKind.TEAM.value: "the team",
        BudgetKind.MEMBER.value: f"member {status.target_label!r}",
        BudgetKind.KEY.value: f"API key {status.target_label!r}",
    }
    return Standing(
        budget_id=budget.id,
        user_id=budget.user_id,
        key_ids=status.key_ids,
        period=budget.period,
        limit_micros=budget.limit_micros,
        label=f"the {PERIOD_WORDS[budget.period]} of {whose[budget.kind]}",
        starts_on=period_start(budget.period, now),
        spent_micros=status.spent_micros,
        reserved_micros=status.reserved_micros,
    )
