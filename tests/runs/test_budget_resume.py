"""Runs under a budget that outlive their process."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.budgets.models import Budget, Reservation
from apps.budgets.selectors import budget_list
from apps.budgets.services import budget_create, reservations_sweep
from apps.pools.models import Worker
from apps.runs.models import RunState
from tests.factories import ACTOR, PriceFactory
from tests.runs.asking import planned
from tests.runs.test_resume import LATER, SLOW, ended, house, left  # noqa: F401


@pytest.fixture
def budget(house) -> Budget:  # noqa: F811
    """A budget for everybody, and a price for every model."""
    team = house.cast.team
    for worker in Worker.objects.for_team(team.id).filter(name__in=(LATER, SLOW)):
        PriceFactory.create(worker=worker)
    values = {"kind": "team", "period": "month", "limit_usd": "1.00"}
    return budget_create(team=team, values=values, actor=ACTOR)


def stands(budget: Budget) -> tuple[int, int]:
    (status,) = budget_list(budget.team_id)
    return status.spent_micros, status.reserved_micros


def quicken(budget: Budget) -> None:
    """Let the worker that never answers answer at once."""
    Worker.objects.for_team(budget.team_id).filter(name=SLOW).update(model=LATER)


def test_a_run_left_behind_keeps_what_it_set_aside(budget, left):  # noqa: F811
    left()
    assert stands(budget)[0] == 0 < stands(budget)[1]


def test_a_resumed_run_is_settled_once(budget, left, house):  # noqa: F811
    run = left()
    quicken(budget)
    assert ended(house, run).state == RunState.COMPLETED
    run.refresh_from_db()
    assert stands(budget) == (run.cost_micros, 0)
    assert not Reservation.objects.for_team(run.team_id).exists()


def test_a_resumed_run_sets_aside_anew_what_was_freed(
    budget,
    left,  # noqa: F811
    house,  # noqa: F811
):
    run = left()
    reservations_sweep(now=timezone.now() + timedelta(minutes=5))
    assert stands(budget) == (0, 0)
    stage = house.open()
    house.watch(stage, run, "step.started", "run.resumed")
    (row,) = Reservation.objects.for_team(run.team_id)
    assert row.micros == stands(budget)[1] > 0


def test_a_resumed_run_ends_if_its_budget_was_spent_meanwhile(
    budget,
    left,  # noqa: F811
    house,  # noqa: F811
):
    run = left()
    reservations_sweep(now=timezone.now() + timedelta(minutes=5))
    Budget.objects.for_team(run.team_id).update(limit_micros=1)
    assert ended(house, run).error_code == "insufficient_quota"
    run.refresh_from_db()
    assert stands(budget) == (run.cost_micros, 0)


def test_a_run_given_up_at_resume_is_settled(budget, left, house):  # noqa: F811
    run = left()
    Worker.objects.for_team(budget.team_id).update(is_enabled=False)
    assert ended(house, run).state == RunState.FAILED
    run.refresh_from_db()
    assert stands(budget) == (run.cost_micros, 0)


def test_other_runs_take_what_was_freed(budget, left, house):  # noqa: F811
    left()
    reservations_sweep(now=timezone.now() + timedelta(minutes=5))
    quicken(budget)
    stage = house.open()
    other = stage.start(planned([2]))
    house.watch(stage, other, "end")
    other.refresh_from_db()
    assert other.state == RunState.COMPLETED
