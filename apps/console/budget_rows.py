"""Budgets as the pages show them: bars, words, and which one binds."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.budgets.models import Budget, BudgetKind
from apps.budgets.selectors import target_label
from apps.budgets.types import BudgetStatus
from apps.pools.models import Conductor, Worker
from apps.pools.selectors import models_without_price

NEARLY = 80
"""Per cent; from here on a budget is pointed out."""
PERIOD_WORDS = {"run": _("per run"), "day": _("per day"), "month": _("per month")}


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A budget with the shares of its bar, in per cent."""

    status: BudgetStatus
    period: str
    spent: int
    reserved: int
    level: str
    """fine, near or full."""
    is_binding: bool
    """True: of all budgets that a run of this target is under, the least is left."""

    @property
    def budget(self) -> Budget:
        """Return the budget itself."""
        return self.status.budget

    @property
    def target(self) -> str:
        """Return the name of whom it is for, in the reader's language."""
        return target_words(self.budget)

    @property
    def bar_end(self) -> int:
        """Return where reserved begins: after what is spent."""
        return min(self.spent, 100)


def target_words(budget: Budget) -> str:
    """Return the name of whom a budget is for, in the reader's language."""
    is_team = budget.kind == BudgetKind.TEAM
    return gettext("Whole team") if is_team else target_label(budget)


def budget_rows(statuses: Sequence[BudgetStatus]) -> list[BudgetRow]:
    """Return the rows of all budgets of a team, in the order given."""
    return [_row(status, _is_binding(status, statuses)) for status in statuses]


def unpriced_links(team_id: uuid.UUID) -> list[tuple[str, str]]:
    """Return the models for which budgets refuse runs: name, address of the field."""
    return [
        (model.name, f"{_page_of(model)}#id_price.input_usd")
        for model in models_without_price(team_id)
    ]


def rows_by_key(rows: Iterable[BudgetRow]) -> dict[uuid.UUID, list[BudgetRow]]:
    """Return the budgets of API keys, by key; a rotated key's hold for the next."""
    found: dict[uuid.UUID, list[BudgetRow]] = {}
    for row in rows:
        for key_id in row.status.key_ids:
            found.setdefault(key_id, []).append(row)
    return found


def _page_of(model: Worker | Conductor) -> str:
    name = "console:worker" if isinstance(model, Worker) else "console:conductor"
    return reverse(name, args=[model.id])


def _row(status: BudgetStatus, is_binding: bool) -> BudgetRow:
    limit = max(status.budget.limit_micros, 1)
    spent = _share(status.spent_micros, limit)
    reserved = min(_share(status.reserved_micros, limit), 100 - spent)
    return BudgetRow(
        status=status,
        period=gettext(PERIOD_WORDS.get(status.budget.period, status.budget.period)),
        spent=spent,
        reserved=reserved,
        level=_level(spent + reserved, status.left_micros),
        is_binding=is_binding,
    )


def _is_binding(status: BudgetStatus, statuses: Sequence[BudgetStatus]) -> bool:
    rivals = [s for s in statuses if _covers(s.budget, status.budget)]
    least = min(rival.left_micros for rival in rivals)
    return len(rivals) > 1 and status.left_micros == least


def _covers(other: Budget, budget: Budget) -> bool:
    """Say whether a run under `budget` is surely under `other` as well."""
    if other.kind == BudgetKind.TEAM:
        return True
    if other.api_key_id is not None:
        return other.api_key_id == budget.api_key_id
    maker = None if budget.api_key is None else budget.api_key.created_by_id
    return other.user_id in {budget.user_id, maker} - {None}


def _share(micros: int, limit: int) -> int:
    """Return a share in whole per cent; something is never shown as nothing."""
    return min(100, max(1 if micros else 0, micros * 100 // limit))


def _level(used: int, left_micros: int) -> str:
    if left_micros <= 0:
        return "full"
    return "near" if used >= NEARLY else "fine"
