"""What needs a person: each with the number that its own list shows."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from apps.alerts.models import Alert
from apps.alerts.types import AlertKind
from apps.console.budget_rows import BudgetRow
from apps.console.insight_rows import runs_address
from apps.console.pool_rows import ConductorRow, WorkerRow
from apps.governance.approvals.pending import approvals_waiting
from apps.governance.reviews.reads import review_items
from apps.governance.selectors import policies_in_force
from apps.pools.selectors import pool_list
from apps.pools.types import HealthState
from apps.runs.selectors import RunFlag, run_list, suspension_of
from apps.runs.types import RunFilters
from apps.web.run_addresses import DaySpan

MOST = 1_000
"""Counted up to here; from there on a number reads "1,000+"."""
LOOKBACK_DAYS = 7


@dataclass(frozen=True, slots=True)
class TeamNeed:
    """Something that waits for a person."""

    text: str
    number: int
    url: str
    """Of the list that shows as many."""
    is_bad: bool = False
    """True: something does not work. False: something waits."""
    told_by: AlertKind | None = None
    """The kind of alerts that say the same."""
    is_counted: bool = True
    """False: the number, 0 or 1, only tells whether it is so."""

    @property
    def is_more(self) -> bool:
        """Say whether there may be more than were counted."""
        return self.number >= MOST


@dataclass(frozen=True, slots=True)
class TeamState:
    """What other parts of the page have read of a team."""

    team_id: uuid.UUID
    workers: Sequence[WorkerRow]
    conductors: Sequence[ConductorRow]
    budgets: Sequence[BudgetRow]
    alerts: QuerySet[Alert]
    """Those that wait for the reader, as in the bell."""
    now: datetime
    """In UTC."""


def needs_of(state: TeamState) -> list[TeamNeed]:
    """Return what needs a person, what does not work first.

    What an open alert says is not said a second time.
    """
    alerted = set(state.alerts.order_by().values_list("kind", flat=True).distinct())
    needs = [*_alerts(state), *_broken(state), *_waiting(state)]
    return [need for need in needs if need.number and need.told_by not in alerted]


def is_failing(row: ConductorRow) -> bool:
    """Say whether the last test of a conductor failed."""
    return row.test is not None and not row.test.result.ok


def _alerts(state: TeamState) -> Iterable[TeamNeed]:
    url = f"{reverse('console:alert_list')}?state=waiting"
    number = _count(state.alerts)
    yield TeamNeed(ngettext("open alert", "open alerts", number), number, url, True)


def _broken(state: TeamState) -> Iterable[TeamNeed]:
    team_id = state.team_id
    workers, pools = reverse("console:worker_list"), reverse("console:pool_list")
    policy = reverse("console:policy")
    failing = sum(row.health.state == HealthState.FAILING for row in state.workers)
    unreadable = sum(not each.is_readable for each in policies_in_force(team_id))
    stopped = int(suspension_of(team_id) is not None)
    no_pool = int(not pool_list(team_id).exists())
    conductors = sum(map(is_failing, state.conductors))
    yield TeamNeed(
        gettext("All runs are stopped"),
        stopped,
        reverse("console:team"),
        is_bad=True,
        is_counted=False,
    )
    yield TeamNeed(
        ngettext(
            "policy that cannot be read", "policies that cannot be read", unreadable
        ),
        unreadable,
        policy,
        is_bad=True,
    )
    yield TeamNeed(
        ngettext("failing worker", "failing workers", failing),
        failing,
        f"{workers}?health={HealthState.FAILING}",
        is_bad=True,
        told_by=AlertKind.WORKER,
    )
    yield TeamNeed(
        ngettext(
            "conductor that failed its last test",
            "conductors that failed their last test",
            conductors,
        ),
        conductors,
        reverse("console:conductor_list"),
        is_bad=True,
    )
    yield TeamNeed(
        gettext("No pool yet, so nothing runs"),
        no_pool,
        pools,
        is_bad=True,
        is_counted=False,
    )


def _waiting(state: TeamState) -> Iterable[TeamNeed]:
    span = DaySpan(
        state.now.date() - timedelta(days=LOOKBACK_DAYS - 1), state.now.date()
    )
    since = datetime.combine(span.first, time(), UTC)
    filters = RunFilters(flag=RunFlag.UNPLANNED, since=since)
    near = sum(row.level != "fine" for row in state.budgets)
    plans = _count(approvals_waiting(state.team_id))
    reviews = _count(review_items(state.team_id))
    unplanned = _count(run_list(team_id=state.team_id, filters=filters))
    yield TeamNeed(
        ngettext("plan waiting for approval", "plans waiting for approval", plans),
        plans,
        reverse("playground:approval_list"),
    )
    yield TeamNeed(
        ngettext("run waiting for review", "runs waiting for review", reviews),
        reviews,
        reverse("playground:review_list"),
    )
    yield TeamNeed(
        ngettext(
            "run answered without a plan in the last %(days)d days",
            "runs answered without a plan in the last %(days)d days",
            unplanned,
        )
        % {"days": LOOKBACK_DAYS},
        unplanned,
        runs_address(flag=RunFlag.UNPLANNED, period=span.text),
        told_by=AlertKind.PLANS,
    )
    yield TeamNeed(
        ngettext("budget used up, or nearly so", "budgets used up, or nearly so", near),
        near,
        reverse("console:budget_list"),
        told_by=AlertKind.BUDGET,
    )


def _count(rows: QuerySet[Any]) -> int:
    return rows[:MOST].count()
