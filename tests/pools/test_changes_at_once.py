"""Several people change a team's pools at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections

from apps.core.errors import ConductorError, VersionConflict
from apps.pools.models import Pool, Worker
from apps.pools.selectors import pool_versions
from apps.pools.services import pool_update, worker_create, worker_update
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.pools.making import entries, make_pool, make_worker, worker_of

PEOPLE = 6


def at_once(call: Any) -> list[Any]:
    """Let everybody call with their number; return results and errors."""
    barrier = Barrier(PEOPLE)

    def act(number: int) -> Any:
        barrier.wait(10)
        try:
            return call(number)
        except ConductorError as exc:
            return exc
        finally:
            connections.close_all()

    with ThreadPoolExecutor(PEOPLE) as threads:
        return list(threads.map(act, range(PEOPLE)))


def test_one_of_those_who_read_the_same_version_wins(cast: Cast):
    pool = make_pool(cast.team)

    def rename(number: int) -> Pool:
        values = {"name": f"name-{number}"}
        return pool_update(pool=pool, values=values, actor=ACTOR, expected_version=1)

    ends = at_once(rename)
    (winner,) = [end for end in ends if isinstance(end, Pool)]
    assert sum(isinstance(end, VersionConflict) for end in ends) == PEOPLE - 1
    pool.refresh_from_db()
    assert (pool.name, pool.version) == (winner.name, 2)


def test_every_change_without_a_condition_is_a_version_of_its_own(cast: Cast):
    worker = make_worker(cast.team)
    pool = make_pool(cast.team, worker)
    at_once(
        lambda number: worker_update(
            worker=worker, values={"description": f"text {number}"}, actor=ACTOR
        )
    )
    numbers = [row.version for row in pool_versions(cast.team.id, pool.id)]
    assert numbers == list(range(PEOPLE + 1, 0, -1))
    updates = [e for e in entries(cast.team) if e.action == "worker.updated"]
    assert len(updates) == PEOPLE


def test_a_name_is_given_once(cast: Cast):
    ends = at_once(
        lambda _: worker_create(team=cast.team, values=worker_of(), actor=ACTOR)
    )
    assert sum(isinstance(end, Worker) for end in ends) == 1
    assert {end.param for end in ends if isinstance(end, ConductorError)} == {"name"}
