from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DatabaseError

from apps.audit import group_commit
from apps.audit import writer as writer_module
from apps.audit.errors import LedgerUnavailable, NotCanonical, StaleWrite
from apps.audit.group_commit import (
    CROWD,
    CROWD_WINDOW_S,
    MAX_WINDOW_S,
    Result,
    window_after,
)
from apps.audit.models import Content, Entry
from apps.audit.selectors import entry_list
from apps.audit.types import Batch, RowWrite
from apps.audit.verify import verify_team
from apps.audit.writer import LedgerWriter, Writer, close_writer, get_writer
from tests.audit.examples import (
    INSERT_PROBE,
    append,
    batch,
    draft,
    execute,
    guard,
)

pytestmark = pytest.mark.django_db(transaction=True)


def outcomes(writer: Writer, batches: list[Batch]) -> list[Any]:
    """Return seqs or errors of batches that were written concurrently."""

    async def write_all() -> list[Any]:
        writes = [writer.write(one) for one in batches]
        return await asyncio.gather(*writes, return_exceptions=True)

    return asyncio.run(write_all())


@pytest.fixture
def held(writer: LedgerWriter) -> Iterator[Callable[[], None]]:
    """Keep the writer busy, so that what is queued meanwhile forms one group."""
    release = threading.Event()
    started = threading.Event()

    def hold(_: Result) -> None:
        started.set()
        release.wait()

    writer.submit(batch(uuid.uuid4()), hold)
    started.wait()
    yield release.set
    release.set()


def submit_all(writer: LedgerWriter, batches: list[Batch]) -> list[Result]:
    """Queue batches; the list fills as they are done."""
    results: list[Result] = [[] for _ in batches]
    for index, one in enumerate(batches):
        writer.submit(one, lambda result, at=index: results.__setitem__(at, result))  # type: ignore[misc]
    return results


def named(name: str, *, parent: str | None = None) -> tuple[RowWrite, ...]:
    sql = "INSERT INTO audit_probe (name, count, parent) VALUES (%s, %s, %s)"
    return (RowWrite(sql, (name, 1, parent)),)


def fail_commits(
    monkeypatch: pytest.MonkeyPatch, times: int, *, is_done: bool = False
) -> None:
    """Break the writer's connection in its next commits, before or after they count."""
    commit = group_commit._commit
    left = [times]

    def broken(connection: BaseDatabaseWrapper) -> None:
        if threading.current_thread().name != "ledger-writer" or not left[0]:
            commit(connection)
            return
        left[0] -= 1
        if is_done:
            commit(connection)
        raise OperationalError("the connection was lost")

    monkeypatch.setattr(group_commit, "_commit", broken)


def test_write_returns_the_seqs(writer: LedgerWriter, team: uuid.UUID) -> None:
    assert outcomes(writer, [batch(team, draft(), draft())]) == [[1, 2]]
    assert outcomes(writer, [batch(team)]) == [[3]]


def test_entry_is_readable_elsewhere_when_write_returns(
    writer: LedgerWriter, team: uuid.UUID
) -> None:
    outcomes(writer, [batch(team, draft(bodies={"prompt": "hello"}))])
    assert entry_list(team)[0].bodies == {"prompt": "hello"}


def test_many_waiters_of_many_teams_are_all_served(writer: LedgerWriter) -> None:
    teams = [uuid.uuid4() for _ in range(5)]
    batches = [batch(teams[n % 5], draft(), draft()) for n in range(200)]
    seqs = outcomes(writer, batches)
    for index, team_id in enumerate(teams):
        assert sorted(chain.from_iterable(seqs[index::5])) == list(range(1, 81))
        assert verify_team(team_id).is_intact


def test_what_waits_is_committed_together(
    writer: LedgerWriter, held: Callable[[], None], team: uuid.UUID
) -> None:
    submit_all(writer, [batch(team) for _ in range(50)])
    held()
    writer.close()
    assert len({e.recorded_at for e in entry_list(team)}) == 1


def test_guilty_batch_fails_alone(
    writer: LedgerWriter, held: Callable[[], None], team: uuid.UUID, probe: None
) -> None:
    names = ["a", "b", "a", "c", "b", "d"]
    batches = [batch(team, draft(n, bodies={"b": n}), writes=named(n)) for n in names]
    results = submit_all(writer, batches)
    held()
    writer.close()
    assert [r for r in results if isinstance(r, list)] == [[1], [2], [3], [4]]
    assert [type(results[2]), type(results[4])] == [IntegrityError, IntegrityError]
    assert [e.action for e in entry_list(team)] == ["a", "b", "c", "d"]
    assert verify_team(team).is_intact and Content.objects.for_team(team).count() == 4


@pytest.mark.parametrize(
    "write",
    [
        RowWrite("UPDATE no_such_table SET a = %s", (1,)),
        RowWrite("UPDATE audit_probe SET count = %s WHERE name = %s", (1,)),
        RowWrite("UPDATE audit_probe SET name = %s", ("\ud800",)),
        RowWrite(INSERT_PROBE, ("big", 2**70)),
        RowWrite(INSERT_PROBE, ("odd", object())),
        guard("gone"),
    ],
    ids=["table", "count", "surrogate", "overflow", "type", "stale"],
)
def test_unfit_write_fails_alone_and_at_once(
    writer: LedgerWriter,
    held: Callable[[], None],
    team: uuid.UUID,
    probe: None,
    write: RowWrite,
) -> None:
    results = submit_all(
        writer, [batch(team), batch(team, writes=(write,)), batch(team)]
    )
    held()
    writer.close()
    assert (results[0], results[2]) == ([1], [2])
    assert isinstance(
        results[1], (StaleWrite, DatabaseError, ValueError, OverflowError)
    )


def test_failing_commit_is_never_acknowledged(
    writer: LedgerWriter, team: uuid.UUID, probe: None
) -> None:
    orphan = batch(team, draft(bodies={"a": "b"}), writes=named("x", parent="nobody"))
    assert isinstance(outcomes(writer, [orphan])[0], IntegrityError)
    assert not Entry.objects.for_team(team).exists()
    assert not Content.objects.for_team(team).exists()
    assert outcomes(writer, [batch(team)]) == [[1]]


def test_lost_connection_is_survived(
    writer: LedgerWriter, team: uuid.UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_commits(monkeypatch, 2)
    assert outcomes(writer, [batch(team)]) == [[1]]
    assert verify_team(team).entries == 1


def test_commit_that_counted_though_the_connection_broke_is_not_repeated(
    writer: LedgerWriter, team: uuid.UUID, probe: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_commits(monkeypatch, 1, is_done=True)
    assert outcomes(writer, [batch(team, draft(), draft(), writes=named("a"))]) == [
        [1, 2]
    ]
    assert verify_team(team).entries == 2


def test_outage_reaches_every_waiter_and_ends(
    writer: LedgerWriter, team: uuid.UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_commits(monkeypatch, 10_000)
    results = outcomes(writer, [batch(team) for _ in range(10)])
    assert {type(result) for result in results} == {LedgerUnavailable}
    monkeypatch.undo()
    assert not Entry.objects.for_team(team).exists()
    assert outcomes(writer, [batch(team)]) == [[1]]


def test_unfit_draft_is_refused_before_it_is_queued(
    writer: LedgerWriter, team: uuid.UUID
) -> None:
    with pytest.raises(NotCanonical):
        writer.submit(batch(team, draft(data={"cost": 0.1})), lambda _: None)


def test_close_writes_what_is_queued(
    writer: LedgerWriter, held: Callable[[], None], team: uuid.UUID
) -> None:
    results = submit_all(writer, [batch(team) for _ in range(300)])
    held()
    writer.close()
    assert results == [[seq] for seq in range(1, 301)]


def test_closed_writer_refuses(writer: LedgerWriter, team: uuid.UUID) -> None:
    writer.close()
    writer.close()
    with pytest.raises(LedgerUnavailable):
        writer.submit(batch(team), lambda _: None)


def test_full_queue_refuses(
    writer: LedgerWriter,
    held: Callable[[], None],
    team: uuid.UUID,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_module, "MAX_WAITING", 3)
    submit_all(writer, [batch(team) for _ in range(3)])
    with pytest.raises(LedgerUnavailable):
        writer.submit(batch(team), lambda _: None)


def test_cancelled_waiter_harms_nobody(
    writer: LedgerWriter, held: Callable[[], None], team: uuid.UUID
) -> None:
    async def cancel_one() -> list[int]:
        first = asyncio.create_task(writer.write(batch(team)))
        second = asyncio.create_task(writer.write(batch(team)))
        await asyncio.sleep(0)
        first.cancel()
        held()
        return await second

    assert asyncio.run(cancel_one()) == [2]


def test_failing_callback_harms_nobody(
    writer: LedgerWriter, team: uuid.UUID, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Result) -> None:
        raise RuntimeError("the caller's own fault")

    writer.submit(batch(team), fail)
    assert outcomes(writer, [batch(team)]) == [[2]]
    assert "a callback failed" in caplog.text


def test_waiter_whose_loop_is_gone_harms_nobody(
    writer: LedgerWriter, held: Callable[[], None], team: uuid.UUID
) -> None:
    async def leave() -> None:
        task = asyncio.create_task(writer.write(batch(team)))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(leave())
    held()
    assert outcomes(writer, [batch(team)]) == [[2]]


def test_process_has_one_writer(transactional_db: None, team: uuid.UUID) -> None:
    first = get_writer()
    assert first is get_writer()
    close_writer()
    assert get_writer() is not first
    assert outcomes(get_writer(), [batch(team)]) == [[1]]
    close_writer()
    close_writer()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="a setting of SQLite")
def test_commits_survive_a_power_loss(
    writer: LedgerWriter, team: uuid.UUID, probe: None
) -> None:
    sql = "INSERT INTO audit_probe SELECT %s, synchronous, NULL FROM pragma_synchronous"
    outcomes(writer, [batch(team, writes=(RowWrite(sql, ("here",)),))])
    full = 2
    assert execute("SELECT count FROM audit_probe") == [(full,)]


def test_eight_threads_leave_no_gap(writer: LedgerWriter, team: uuid.UUID) -> None:
    rounds = 15

    def ambient() -> None:
        for _ in range(rounds):
            append(team, draft(bodies={"a": "ambient"}))
        connections.close_all()

    def grouped() -> None:
        outcomes(writer, [batch(team, draft(), draft()) for _ in range(rounds)])
        connections.close_all()

    threads = [threading.Thread(target=t) for t in (ambient, grouped) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report = verify_team(team)
    assert (report.fault, report.entries) == (None, 4 * rounds * 3)


@pytest.mark.parametrize(
    ("size", "waited_s", "window_s"),
    [
        (1, 0.0, 0.0),
        (CROWD, 0.0, CROWD_WINDOW_S),
        (1, 0.0005, 0.0),
        (1, 0.006, 0.006),
        (CROWD, 3.0, MAX_WINDOW_S),
    ],
)
def test_batches_are_gathered_in_a_crowd_and_where_others_hold_the_chain(
    size: int, waited_s: float, window_s: float
) -> None:
    assert window_after(size, waited_s) == window_s
