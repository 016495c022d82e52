"""A process stands still in the middle of a transaction: its locks are let go."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.db.utils import ConnectionHandler

from apps.audit import group_commit as committer_module
from apps.audit.append import append, prepare
from apps.audit.errors import StaleWrite
from apps.audit.group_commit import GroupCommitter, Pending, Result
from apps.audit.sql_dialects import dialect_of
from apps.audit.types import Batch
from apps.runs.coordination.leases import LEASE_S
from conductor_site.databases import database_of, limit_standstills
from tests.audit.examples import draft, guard
from tests.faults.chaos import BEYOND_LEASE_S
from tests.faults.members import POLL_S
from tests.faults.scenes import (
    PATIENCE_S,
    RECOVERY_S,
    ask,
    chain,
    left_by,
    owned_by,
    restarted,
    unharmed,
)
from tests.faults.site import FaultySite, Servers

HERE = "standstill"
LOCK_RUN = "SELECT id FROM runs_run WHERE id = %s FOR UPDATE"
LOCK_HEADS = "SELECT seq FROM audit_chainhead FOR UPDATE"
WAITING = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE application_name = %s AND wait_event_type = 'Lock'"
)
Figure = Callable[..., None]


@pytest.mark.asyncio(loop_scope="module")
async def test_g3_who_freezes_in_a_transaction_blocks_its_team_for_seconds(
    site: FaultySite, figure: Figure
) -> None:
    victim, other = site.webs
    await ask(site, victim, chain(1), "first")  # the team's chain has a head now
    with psycopg.connect(site.witness.url) as rival:
        rival.execute(LOCK_HEADS)
        late = asyncio.create_task(ask(site, victim, chain(1), "frozen"))
        await waits_for_a_lock(site, victim.name)
        victim.freeze()
        rival.rollback()  # the frozen process has the lock now
    frozen_at = time.monotonic()
    await ask(site, other, chain(1), "others")
    blocked_s = round(time.monotonic() - frozen_at, 1)
    await asyncio.sleep(BEYOND_LEASE_S - blocked_s)
    victim.wake()
    await ask(site, other, chain(1), "frozen")
    await asyncio.gather(late, return_exceptions=True)
    await unharmed(site)
    figure(others_blocked_by_a_frozen_process_s=blocked_s)
    assert blocked_s < LEASE_S  # without a limit they wait until it wakes


@pytest.mark.asyncio(loop_scope="module")
async def test_g3_a_locked_run_keeps_no_other_from_being_taken_up(
    site: FaultySite, figure: Figure
) -> None:
    victim, other = site.webs
    names = ("locked", "free")
    lost = [asyncio.create_task(ask(site, victim, chain(4), name)) for name in names]
    locked, free = await owned_by(site, victim, len(names))
    victim.freeze()
    with psycopg.connect(site.witness.url) as rival:
        rival.execute(LOCK_RUN, [locked])
        await victim.kill()
        seconds = await left_by(site, victim, [free])
    await asyncio.gather(*lost, return_exceptions=True)
    for name in names:
        await ask(site, other, chain(4), name)
    await restarted(victim)
    await unharmed(site)
    figure(recovered_beside_a_locked_run_s=seconds)
    assert seconds <= RECOVERY_S


async def waits_for_a_lock(site: FaultySite, process: str) -> None:
    """Return when a connection of this process waits for somebody's lock."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if await asyncio.to_thread(_count, site.witness.url, WAITING, process):
                return
            await asyncio.sleep(POLL_S)


def _count(url: str, query: str, *values: object) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query, values).fetchone()
    assert row is not None
    return int(row[0])


class Stage:
    """A committer on a database of its own that stands still in its first commit."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.team = uuid.uuid4()
        self.tries = 0
        self.meanwhile = ""
        """What somebody else does once the locks are free."""

    def append(self, connection: Any, group: Any) -> Any:
        """Add to the ledger; the first time, stand still before the commit."""
        self.tries += 1
        appended = append(connection, group)
        if self.tries == 1:
            self._stand_still(connection.connection.info.backend_pid)
        return appended

    def _stand_still(self, pid: int) -> None:
        give_up_at = time.monotonic() + PATIENCE_S
        alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        while _count(self.url, alive, pid):
            assert time.monotonic() < give_up_at, "the transaction stays open"
            time.sleep(POLL_S)
        if self.meanwhile:
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(self.meanwhile)

    def commit(self) -> Result:
        """Write one entry, if the probe's row is there, and return what came of it."""
        told: list[Result] = []
        dialect = dialect_of(connections[HERE])
        batch = Batch(self.team, (draft(),), (guard("mine"),))
        committer = GroupCommitter(
            lambda results: told.extend(result for _, result in results), HERE
        )
        committer.commit([Pending(prepare(batch, dialect), 1)])
        committer.close()
        (result,) = told
        return result

    @property
    def entries(self) -> int:
        """Return how many entries the team has."""
        query = "SELECT count(*) FROM audit_entry WHERE team_id = %s"
        return _count(self.url, query, self.team)


@pytest.fixture
def stage(
    shared_servers: Servers,
    django_db_blocker: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stage]:
    url = shared_servers.database.url_of(shared_servers.new_database())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE audit_probe (name text, count integer)")
        connection.execute("INSERT INTO audit_probe VALUES ('mine', 0)")
    stage = Stage(url)
    monkeypatch.setattr(committer_module, "append", stage.append)
    with connected(url), django_db_blocker.unblock():
        yield stage


@contextmanager
def connected(url: str) -> Iterator[None]:
    """Give Django the database at `url`, as a site has it, under the name HERE."""
    settings = database_of(url, Path())
    limit_standstills(settings)
    whole = ConnectionHandler({"default": settings}).settings["default"]
    connections.settings[HERE] = whole
    try:
        yield
    finally:
        connections[HERE].close_pool()  # type: ignore[attr-defined]
        del connections[HERE], connections.settings[HERE]


def test_g6_a_commit_that_stood_still_is_made_again(stage: Stage) -> None:
    assert stage.commit() == [1]
    assert (stage.tries, stage.entries) == (2, 1)


def test_g4_what_others_took_while_it_stood_still_is_not_written(stage: Stage) -> None:
    stage.meanwhile = "UPDATE audit_probe SET name = 'theirs'"
    assert isinstance(stage.commit(), StaleWrite)
    assert (stage.tries, stage.entries) == (2, 0)
