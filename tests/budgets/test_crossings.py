"""Marks that a budget crosses: each is on record once for each period."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime

import pytest
from django.db import connections

from apps.accounts.models import Team
from apps.budgets.crossings import budget_crossings_record
from apps.budgets.models import Budget, Spend, spend_id
from apps.budgets.periods import period_start
from tests.budgets.test_services import put, recorded
from tests.conftest import Cast
from tests.factories import issue_key

NOON = datetime(2030, 3, 15, 12, tzinfo=UTC)
NEXT_DAY = datetime(2030, 3, 16, 12, tzinfo=UTC)
DAY_AFTER = datetime(2030, 3, 17, 12, tzinfo=UTC)
THREADS, KEYS = 2, 15


def budget_of(team: Team, period: str = "day", limit: int = 100) -> Budget:
    return Budget.objects.create(
        team=team, kind="team", period=period, limit_micros=limit
    )


def spend(budget: Budget, micros: int, now: datetime = NOON) -> None:
    """Let so much be spent in the period that a moment lies in."""
    starts_on = period_start(budget.period, now)
    assert starts_on is not None
    Spend.objects.for_team(budget.team_id).update_or_create(
        id=spend_id(budget.id, starts_on),
        defaults={
            "team_id": budget.team_id,
            "budget": budget,
            "starts_on": starts_on,
            "spent_micros": micros,
        },
    )


def look(now: datetime = NOON) -> list[int]:
    return list(budget_crossings_record(now))


def percents(cast: Cast) -> list[int]:
    return [facts["percent"] for facts in recorded(cast, "budget.crossed")]


@pytest.mark.parametrize(
    ("micros", "marks"),
    [(0, []), (79, []), (80, [80]), (99, [80]), (100, [100]), (250, [100])],
)
def test_the_highest_mark_that_is_reached_is_recorded(cast, micros, marks):
    spend(budget_of(cast.team), micros)
    assert look() == marks
    assert percents(cast) == marks


def test_the_record_says_which_budget_and_how_much(cast):
    spend(budget_of(cast.team, "month", 10_000_000), 8_500_000)
    look()
    assert recorded(cast, "budget.crossed") == [
        {
            "percent": 80,
            "kind": "team",
            "period": "month",
            "starts_on": "2030-03-01",
            "limit_usd": "10.00",
            "spent_usd": "8.50",
        }
    ]


def test_each_mark_is_recorded_once_in_a_period(cast):
    budget = budget_of(cast.team)
    for micros, marks in ((85, [80]), (95, []), (100, [100]), (180, [])):
        spend(budget, micros)
        assert look() == marks
        assert look() == []
    assert percents(cast) == [80, 100]


def test_the_next_day_has_its_own_marks(cast):
    budget = budget_of(cast.team)
    spend(budget, 100)
    look()
    spend(budget, 85, NEXT_DAY)
    assert look(NEXT_DAY) == [80]
    assert percents(cast) == [100, 80]


def test_yesterday_is_still_looked_at_and_no_day_before(cast):
    """A run that began before midnight ends after it."""
    spend(budget_of(cast.team), 100)
    assert look(DAY_AFTER) == []
    assert look(NEXT_DAY) == [100]


def test_a_month_counts_on_its_last_days_and_into_the_next(cast):
    spend(budget_of(cast.team, "month"), 100)
    assert look(datetime(2030, 4, 2, 12, tzinfo=UTC)) == []
    assert look(datetime(2030, 4, 1, 12, tzinfo=UTC)) == [100]


def test_two_threads_at_once_record_each_mark_once(cast):
    for number in range(KEYS):
        key = issue_key(cast.team, name=f"Key {number}").row
        budget = put(cast, kind="key", period="day", api_key_id=str(key.id))
        spend(budget, budget.limit_micros)
    begin = threading.Barrier(THREADS, timeout=30)
    found: list[list[int]] = []

    def look_at_once() -> None:
        begin.wait()
        found.append(look())
        connections.close_all()

    threads = [threading.Thread(target=look_at_once) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(found) == THREADS
    assert Counter(mark for each in found for mark in each) == {100: KEYS}
    assert percents(cast) == [100] * KEYS


def test_a_process_that_comes_second_passes_over_what_the_first_recorded(cast):
    """The second one has read the row before the first has changed it."""
    for team in (cast.team, cast.other_team):
        spend(budget_of(team), 100)
    second = budget_crossings_record(NOON)
    assert next(second) == 100  # of one of both; it knows of the other already
    assert look() == [100]
    assert list(second) == []
