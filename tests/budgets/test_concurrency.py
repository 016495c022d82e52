"""Several processes take from the same budget: each has a writer of its own."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from queue import SimpleQueue
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.errors import StaleWrite
from apps.audit.types import Batch, EntryDraft, RowWrite
from apps.audit.writer import LedgerWriter
from apps.budgets.models import Budget, Reservation, Spend
from apps.budgets.periods import period_start
from apps.budgets.reservations import Hold, Share, settling
from apps.budgets.services import reservations_sweep
from tests.factories import ACTOR, TeamFactory

WRITERS, RUNS, MICROS = 3, 40, 10


@pytest.fixture
def writers(transactional_db: None) -> Iterator[list[LedgerWriter]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(LedgerWriter())) for _ in range(WRITERS)]
    connections.close_all()


def batch(team: Team, *writes: RowWrite) -> Batch:
    draft = EntryDraft("run.tested", "run", uuid.uuid4(), ACTOR, {})
    return Batch(team.id, (draft,), writes)


def budgets(team: Team, limit: int) -> list[Share]:
    now = timezone.now()
    shares = []
    for period in ("day", "month"):
        budget = Budget.objects.create(
            team=team, kind="team", period=period, limit_micros=limit
        )
        starts_on = period_start(period, now)
        assert starts_on is not None
        shares.append(Share(budget.id, starts_on))
    return shares


def open_all(writers: list[LedgerWriter], team: Team, shares: list[Share]) -> list[Any]:
    """Open runs from every writer at once; return the ids of those that began."""
    results: SimpleQueue[tuple[uuid.UUID, Any]] = SimpleQueue()
    for number in range(RUNS):
        for index, writer in enumerate(writers):
            run_id = uuid.uuid4()
            # Not everybody goes through the budgets in the same order.
            order = shares if (number + index) % 2 else shares[::-1]
            hold = Hold(MICROS, tuple(order))
            writes = hold.opening(team.id, run_id, timezone.now())
            writer.submit(batch(team, *writes), _labelled(results, run_id))
    found = [results.get(timeout=60) for _ in range(RUNS * len(writers))]
    assert {type(r) for _, r in found} <= {list, StaleWrite}, found
    return [run_id for run_id, r in found if isinstance(r, list)]


def test_processes_together_set_aside_no_more_than_the_budget(writers):
    team = TeamFactory.create()
    shares = budgets(team, limit=25 * MICROS)
    begun = open_all(writers, team, shares)
    assert len(begun) == 25
    for spend in Spend.objects.for_team(team.id):
        assert spend.reserved_micros == 25 * MICROS


def test_ends_and_a_sweep_at_the_same_time_count_nothing_twice(writers):
    team = TeamFactory.create()
    shares = budgets(team, limit=10**9)
    begun = open_all(writers, team, shares)
    Reservation.objects.for_team(team.id).update(
        touched_at=timezone.now() - timedelta(hours=1)
    )
    sweeper = threading.Thread(target=_sweep)
    results: SimpleQueue[Any] = SimpleQueue()
    for number, run_id in enumerate(begun):
        writers[number % WRITERS].submit(batch(team, *settling(run_id, 7)), results.put)
        if number == len(begun) // 3:
            sweeper.start()
    outcomes = [results.get(timeout=60) for _ in begun]
    sweeper.join()
    assert all(isinstance(outcome, list) for outcome in outcomes)
    for spend in Spend.objects.for_team(team.id):
        assert (spend.spent_micros, spend.reserved_micros) == (7 * len(begun), 0)
    assert not Reservation.objects.for_team(team.id).exists()


def _labelled(
    results: SimpleQueue[tuple[uuid.UUID, Any]], run_id: uuid.UUID
) -> Callable[[Any], None]:
    return lambda result: results.put((run_id, result))


def _sweep() -> None:
    reservations_sweep()
    connections.close_all()
