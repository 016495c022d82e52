"""The writer in a process of its own: same promises, over a channel."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections

from apps.audit import writer_process
from apps.audit.errors import LedgerUnavailable, NotCanonical, StaleWrite
from apps.audit.models import Entry
from apps.audit.types import Batch, EntryDraft
from apps.audit.verify import verify_team
from apps.audit.writer_process import RemoteWriter, serve
from tests.audit.examples import ALICE, RUN, batch, draft, guard

pytestmark = pytest.mark.django_db(transaction=True)


THREADS: list[threading.Thread] = []


@pytest.fixture(autouse=True)
def _no_writer_is_left() -> Iterator[None]:
    yield
    while THREADS:
        THREADS.pop().join()


@asynccontextmanager
async def remote_writer() -> AsyncIterator[tuple[RemoteWriter, Callable[[], None]]]:
    """Serve in a thread, which is as far away as a process for the channel.

    The second value cuts the channel, as the death of the writer process would.
    """
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=_serve, args=(theirs,))
    thread.start()
    THREADS.append(thread)
    writer = RemoteWriter()
    await writer.open(ours)
    try:
        yield writer, lambda: theirs.shutdown(socket.SHUT_RDWR)
    finally:
        await asyncio.to_thread(writer.close)


def _serve(channel: socket.socket) -> None:
    with channel:
        serve(channel)
    connections.close_all()


async def outcomes(writer: RemoteWriter, batches: list[Batch]) -> list[Any]:
    futures = [writer.post(each) for each in batches]
    return await asyncio.gather(*futures, return_exceptions=True)


def test_write_returns_the_seqs() -> None:
    team = uuid.uuid4()

    async def write() -> list[Any]:
        async with remote_writer() as (writer, _):
            return [
                await writer.write(batch(team, draft(bodies={"text": "hello"}))),
                await writer.write(batch(team, draft(), draft())),
            ]

    assert asyncio.run(write()) == [[1], [2, 3]]
    assert verify_team(team).fault is None


def test_many_at_once_are_all_written_in_order() -> None:
    teams = [uuid.uuid4() for _ in range(3)]

    async def write() -> list[Any]:
        async with remote_writer() as (writer, _):
            return await outcomes(writer, [batch(t) for t in teams * 400])

    seqs = asyncio.run(write())
    assert seqs == [[i // 3 + 1] for i in range(1200)]


def test_draft_without_bodies_or_context_travels() -> None:
    plain = EntryDraft("run.created", "run", RUN, ALICE, {"round": 1})

    async def write() -> list[int]:
        async with remote_writer() as (writer, _):
            return await writer.write(batch(uuid.uuid4(), plain))

    assert asyncio.run(write()) == [1]


def test_refused_batch_fails_alone(probe: None) -> None:
    team = uuid.uuid4()
    batches = [
        batch(team),
        batch(team, draft(data={"cost": 0.1})),
        batch(team, writes=(guard("nobody"),)),
        batch(team),
    ]

    async def write() -> list[Any]:
        async with remote_writer() as (writer, _):
            return await outcomes(writer, batches)

    first, uneven, stale, last = asyncio.run(write())
    assert (first, last) == ([1], [2])
    assert isinstance(uneven, NotCanonical)
    assert isinstance(stale, StaleWrite)


def test_what_was_sent_is_written_before_it_closes() -> None:
    team = uuid.uuid4()

    async def write() -> None:
        async with remote_writer() as (writer, _):
            for _ in range(300):
                writer.post(batch(team))

    asyncio.run(write())
    assert Entry.objects.for_team(team).count() == 300


def test_closed_writer_refuses() -> None:
    async def write() -> None:
        async with remote_writer() as (writer, _):
            await asyncio.to_thread(writer.close)
            writer.post(batch(uuid.uuid4()))

    with pytest.raises(LedgerUnavailable):
        asyncio.run(write())


def test_overloaded_writer_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_process, "MAX_WAITING", 2)

    async def write() -> None:
        async with remote_writer() as (writer, _):
            for _ in range(3):
                writer.post(batch(uuid.uuid4()))

    with pytest.raises(LedgerUnavailable, match="overloaded"):
        asyncio.run(write())


def test_death_of_the_writer_is_told_and_made_up_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    team = uuid.uuid4()

    async def write() -> tuple[Any, list[int]]:
        async with remote_writer() as (writer, cut):
            cut()
            lost = (await outcomes(writer, [batch(team)]))[0]
            return lost, await writer.write(batch(team))

    lost, seqs = asyncio.run(write())
    assert isinstance(lost, LedgerUnavailable)
    assert seqs[0] in (1, 2)  # the lost one may have been written, or not
    assert "writing in this process now" in caplog.text
    assert verify_team(team).fault is None


def test_second_process_of_a_database_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite is held by one process")
    monkeypatch.setattr(writer_process, "READY_S", 0.2)

    async def open_two() -> None:
        async with remote_writer(), remote_writer():
            pass

    with pytest.raises(RuntimeError, match="another process serves this database"):
        asyncio.run(open_two())


def test_writer_of_a_process_that_gave_up_does_not_wait_on() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite is held by one process")
    ours, theirs = socket.socketpair()
    with Path(f"{connection.settings_dict['NAME']}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=_serve, args=(theirs,))
        thread.start()
        ours.close()
        thread.join(5)
        is_waiting = thread.is_alive()
    thread.join()
    assert not is_waiting


def test_lock_lies_beside_the_database() -> None:
    async def open_one() -> None:
        async with remote_writer():
            pass

    asyncio.run(open_one())
    if connection.vendor == "sqlite":
        assert Path(f"{connection.settings_dict['NAME']}.lock").exists()
