"""The table of workers: which of them, in which order. Both live in the address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.console.pool_pages.health_words import state_word
from apps.console.pool_rows import WorkerRow
from apps.pools.selectors import worker_values
from apps.pools.types import HealthState

COLUMNS = {
    "name": gettext_noop("Worker"),
    "health": gettext_noop("Health"),
    "latency": gettext_noop("Answers in"),
    "price": gettext_noop("Price per million tokens"),
    "context": gettext_noop("Context"),
}
NUMBERS = frozenset({"latency", "context"})
"""Columns of numbers."""
_WORST_FIRST = (
    HealthState.FAILING,
    HealthState.RESTING,
    HealthState.DEGRADED,
    HealthState.UNTESTED,
    HealthState.HEALTHY,
    HealthState.DISABLED,
)


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """The head of a column, which is a link that sorts by it."""

    label: str
    query: str
    """Of the address that sorts by it; once more, the other way round."""
    direction: str
    """ascending or descending; empty: the table is sorted by another one."""
    is_number: bool


@dataclass(frozen=True, slots=True)
class WorkerTable:
    """Workers as they were asked for."""

    rows: Sequence[WorkerRow]
    heads: Sequence[ColumnHead]
    health: str
    """The state that is shown; empty: all."""

    @property
    def health_word(self) -> str:
        """Return the word for that state."""
        return state_word(HealthState(self.health)).lower()


def worker_table(rows: Sequence[WorkerRow], asked: QueryDict) -> WorkerTable:
    """Return the table that an address asks for; what makes no sense is ignored."""
    health = asked.get("health", "")
    if health in set(HealthState):
        rows = [row for row in rows if row.health.state == health]
    else:
        health = ""
    sort = asked.get("sort", "name")
    column, is_reversed = sort.removeprefix("-"), sort.startswith("-")
    if column not in COLUMNS:
        column, is_reversed = "name", False
    heads = [_head(name, column, is_reversed, health) for name in COLUMNS]
    return WorkerTable(_sorted(rows, column, is_reversed), heads, health)


def _head(name: str, column: str, is_reversed: bool, health: str) -> ColumnHead:
    query = QueryDict(mutable=True)
    is_turned = name == column and not is_reversed
    query["sort"] = f"-{name}" if is_turned else name
    if health:
        query["health"] = health
    direction = "descending" if is_reversed else "ascending"
    return ColumnHead(
        _(COLUMNS[name]),
        query.urlencode(),
        direction if name == column else "",
        name in NUMBERS,
    )


def _sorted(
    rows: Iterable[WorkerRow], column: str, is_reversed: bool
) -> list[WorkerRow]:
    """Return rows in order; those without a value come last, either way."""
    value = _VALUES[column]
    known = [row for row in rows if value(row) is not None]
    unknown = [row for row in rows if value(row) is None]
    return [*sorted(known, key=value, reverse=is_reversed), *unknown]


def _price(row: WorkerRow) -> Decimal | None:
    """Return what a million tokens in and one out cost together."""
    price = worker_values(row.worker)["price"]
    if price is None:
        return None
    return Decimal(price["input_usd"]) + Decimal(price["output_usd"])


_VALUES: Mapping[str, Callable[[WorkerRow], Any]] = {
    "name": lambda row: row.worker.name.lower(),
    "health": lambda row: _WORST_FIRST.index(row.health.state),
    "latency": lambda row: row.health.latency_ms,
    "price": _price,
    "context": lambda row: row.worker.context_tokens,
}
