"""Whatever runs do and in whatever order, the sums of a budget stay right."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.audit.errors import StaleWrite
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft, RowWrite
from apps.budgets.models import Budget, Reservation, Spend, spend_id
from apps.budgets.reservations import Hold, Kept, Share, settling
from apps.budgets.services import reservations_sweep
from tests.factories import ACTOR, TeamFactory

DAY = date(2030, 1, 31)
LIMIT = 100


@dataclass
class Books:
    """A budget, and what its sums must be."""

    budget: Budget
    held: dict[uuid.UUID, int] = field(default_factory=dict)
    """What each run in progress has set aside; 0 once it was freed."""
    caps: dict[uuid.UUID, int] = field(default_factory=dict)
    spent: int = 0

    @property
    def spend(self) -> uuid.UUID:
        return spend_id(self.budget.id, DAY)

    def commit(self, *writes: RowWrite) -> bool:
        draft = EntryDraft("run.tested", "run", uuid.uuid4(), ACTOR, {})
        batch = Batch(self.budget.team_id, (draft,), writes)
        try:
            with transaction.atomic():
                entries_append(batch=batch)
        except StaleWrite:
            return False
        return True

    def left(self) -> int:
        return LIMIT - self.spent - sum(self.held.values())

    def open(self, micros: int) -> None:
        run_id, hold = uuid.uuid4(), Hold(micros, (Share(self.budget.id, DAY),))
        writes = hold.opening(self.budget.team_id, run_id, timezone.now())
        assert self.commit(*writes) == (micros <= self.left())
        if Reservation.objects.for_team(self.budget.team_id).filter(run_id=run_id):
            self.held[run_id] = self.caps[run_id] = micros

    def end(self, run_id: uuid.UUID, cost: int) -> None:
        assert self.commit(*settling(run_id, cost))
        assert self.commit(*settling(run_id, cost))  # twice is once
        del self.held[run_id]
        self.spent += cost

    def resume(self, run_id: uuid.UUID) -> None:
        freed = {self.spend} if self.held[run_id] == 0 else set()
        kept = Kept(self.caps[run_id], (self.spend,), frozenset(freed))
        writes = kept.opening(self.budget.team_id, run_id, timezone.now())
        fits = not freed or self.caps[run_id] <= self.left()
        assert self.commit(*writes) == fits
        if fits:
            self.held[run_id] = self.caps[run_id]

    def sweep(self) -> None:
        reservations_sweep(now=timezone.now() + timedelta(hours=1))
        self.held = dict.fromkeys(self.held, 0)

    def check(self) -> None:
        spends = Spend.objects.for_team(self.budget.team_id)
        row = spends.filter(id=self.spend).first() or Spend()
        rows = Reservation.objects.for_team(self.budget.team_id)
        assert row.spent_micros == self.spent
        assert row.reserved_micros == sum(self.held.values())
        assert {r.run_id: r.micros for r in rows} == self.held


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["open", "open", "end", "resume", "sweep"]),
        st.integers(0, 60),
        st.integers(0, 9),
    ),
    max_size=25,
)


@pytest.mark.django_db
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(STEPS)
def test_sums_are_right_after_any_history(steps):
    with transaction.atomic():
        books = Books(
            Budget.objects.create(
                team=TeamFactory.create(), kind="team", period="day", limit_micros=LIMIT
            )
        )
        for verb, micros, which in steps:
            runs = sorted(books.held)
            if verb == "open":
                books.open(micros)
            elif verb == "sweep":
                books.sweep()
            elif runs and verb == "end":
                run_id = runs[which % len(runs)]
                books.end(run_id, min(micros, books.caps[run_id]))
            elif runs:
                books.resume(runs[which % len(runs)])
            books.check()
        transaction.set_rollback(True)


@pytest.mark.django_db
def test_a_new_day_begins_with_nothing_spent():
    budget = Budget.objects.create(
        team=TeamFactory.create(), kind="team", period="day", limit_micros=LIMIT
    )
    books = Books(budget)
    books.open(LIMIT)
    books.open(1)  # refused
    tomorrow = Share(budget.id, DAY + timedelta(days=1))
    now = datetime(2030, 2, 1, tzinfo=UTC)
    opening = Hold(LIMIT, (tomorrow,)).opening(budget.team_id, uuid.uuid4(), now)
    assert books.commit(*opening)


@pytest.mark.django_db
def test_one_full_budget_refuses_the_run_in_all_of_them():
    team = TeamFactory.create()
    wide, tight = (
        Budget.objects.create(team=team, kind="team", period=period, limit_micros=limit)
        for period, limit in (("month", 100), ("day", 10))
    )
    hold = Hold(50, (Share(wide.id, DAY.replace(day=1)), Share(tight.id, DAY)))
    books = Books(wide)
    assert not books.commit(*hold.opening(team.id, uuid.uuid4(), timezone.now()))
    assert not Reservation.objects.for_team(team.id).exists()
    assert not Spend.objects.for_team(team.id).exists()


@pytest.mark.django_db
def test_a_lifted_budget_lets_no_new_run_begin_by_its_old_standing():
    budget = Budget.objects.create(
        team=TeamFactory.create(), kind="team", period="day", limit_micros=LIMIT
    )
    books = Books(budget)
    Budget.objects.for_team(budget.team_id).delete()
    hold = Hold(1, (Share(budget.id, DAY),))
    opening = hold.opening(budget.team_id, uuid.uuid4(), timezone.now())
    assert not books.commit(*opening)
