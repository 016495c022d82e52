"""The ledger's writer in a process of its own, beside the one that serves.

Two threads of one interpreter take turns. A commit is a dozen short calls into the
database, each of which gives up its turn and waits for a busy event loop to get it
back; a process of its own does not wait.

Guarantees: those of `LedgerWriter`. What has been sent is written even if the serving
process is killed; with SQLite a lock makes the next process wait for that. If the
writer process dies, waiting writes raise LedgerUnavailable, and the serving process
goes on with a thread of its own.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import IO, Any, cast

from django.db import DEFAULT_DB_ALIAS, connections

from apps.audit.append import prepare
from apps.audit.errors import LedgerUnavailable
from apps.audit.group_commit import GroupCommitter, Pending, Result
from apps.audit.metrics import GROUP
from apps.audit.sql_dialects import dialect_of
from apps.audit.types import Batch
from apps.audit.writer import (
    MAX_GROUP,
    MAX_WAITING,
    LedgerWriter,
    use_writer,
)
from apps.audit.writer_ipc import (
    Answer,
    Messages,
    pack_answers,
    pack_batch,
    unpack_answers,
    unpack_batch,
)
from apps.core.errors import ConductorError

logger = logging.getLogger(__name__)

READY_S = 15.0
"""How long to wait for the writer, and it for that of the process before."""
LOCK_POLL_S = 0.02
"""How soon it sees that the process before has ended."""
READ_BYTES = 1 << 18
READY = 0
"""The number of the message that says: I may write now."""

_forked: tuple[int, socket.socket] | None = None
"""Process id of the writer and our end of the channel, until it is opened."""


# --- the writer process ---------------------------------------------------------------


def fork_writer() -> None:
    """Start the writer. Call it before this process has threads or an event loop."""
    global _forked
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        theirs.close()
        _forked = pid, ours
        return
    ours.close()
    status = 1
    try:
        # It ends with the serving process, by the end of the channel, not by a signal
        # that a terminal or a supervisor sends to both.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        serve(theirs)
        status = 0
    except Exception:  # the boundary of a process
        logger.exception("ledger: the writer process failed")
    finally:
        os._exit(status)  # the rest of the program is the other process's


def serve(channel: socket.socket) -> None:
    """Write what comes through `channel` until it ends."""
    with _alone(channel):
        _send(channel, [(READY, [])])
        committer = GroupCommitter(partial(_answer, channel))
        inbox = _Inbox(channel)
        while group := inbox.next_group(committer.window_s):
            committer.commit(group)
        committer.close()


class _Inbox:
    """What has been sent and not yet committed."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._messages = Messages()
        self._dialect = dialect_of(connections[DEFAULT_DB_ALIAS])
        self._waiting: deque[Pending] = deque()
        self._is_ended = False

    def next_group(self, window_s: float) -> list[Pending]:
        """Wait for work; an empty list is the end."""
        while not self._waiting and not self._is_ended:
            self._read(0)
        if window_s:
            time.sleep(window_s)
        while not self._is_ended and len(self._waiting) < MAX_GROUP:
            if not self._read(socket.MSG_DONTWAIT):
                break
        count = min(len(self._waiting), MAX_GROUP)
        return [self._waiting.popleft() for _ in range(count)]

    def _read(self, flags: int) -> bool:
        """Take what has come; False if nothing has."""
        try:
            data = self._channel.recv(READ_BYTES, flags)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        self._is_ended = not data
        for message in self._messages.feed(data):
            self._take(*unpack_batch(message))
        return True

    def _take(self, number: int, batch: Batch) -> None:
        try:
            self._waiting.append(Pending(prepare(batch, self._dialect), number))
        except ConductorError as exc:
            _send(self._channel, [(number, exc)])


def _alone(channel: socket.socket) -> Any:
    """Wait until no writer of a former process writes to this SQLite database.

    If the serving process gives up first, so does its writer: it then finds nothing in
    the channel but the end.
    """
    database = connections[DEFAULT_DB_ALIAS]
    if database.vendor != "sqlite":
        return threading.Lock()  # nothing to wait for
    lock = open(f"{database.settings_dict['NAME']}.lock", "w")  # noqa: SIM115
    while not _is_locked(lock) and not _is_at_end(channel):
        time.sleep(LOCK_POLL_S)
    return lock


def _is_locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at_end(channel: socket.socket) -> bool:
    try:
        return not channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def _answer(channel: socket.socket, results: Iterable[tuple[Pending, Result]]) -> None:
    _send(channel, [(cast(int, each.waiter), result) for each, result in results])


def _send(channel: socket.socket, answers: Iterable[Answer]) -> None:
    try:
        channel.sendall(pack_answers(answers))
    except OSError:
        logger.warning("ledger: the serving process is gone; all it sent is written")


# --- the serving process -------------------------------------------------------------


async def open_writer() -> None:
    """Let this process write with its forked writer, if it has one.

    Raises: RuntimeError if another process serves the same database.
    """
    global _forked
    forked, _forked = _forked, None
    if forked is None:
        return
    pid, channel = forked
    writer = RemoteWriter(pid)
    await writer.open(channel)
    use_writer(writer)


class RemoteWriter(asyncio.Protocol):
    """Writes through the writer process. Satisfies `writer.Writer`.

    Belongs to one event loop.
    """

    def __init__(self, pid: int | None = None) -> None:
        """Take the process id of the writer, if it is a child to wait for."""
        self._pid = pid
        self._loop = asyncio.get_running_loop()
        self._messages = Messages()
        self._waiting: dict[int, asyncio.Future[list[int]]] = {}
        self._number = READY
        self._is_closing = False
        self._is_gone = threading.Event()
        self._successor: LedgerWriter | None = None
        self._ready = self._expect()

    async def open(self, channel: socket.socket) -> None:
        """Begin. Raises: RuntimeError if the writer is not ready in time."""
        await self._loop.create_unix_connection(lambda: self, sock=channel)
        try:
            async with asyncio.timeout(READY_S):
                await self._ready
        except TimeoutError as exc:
            self._is_closing = True
            self._transport.abort()
            raise RuntimeError("another process serves this database already") from exc

    @property
    def is_open(self) -> bool:
        """See `Writer`."""
        if self._successor is not None:
            return self._successor.is_open
        return not (self._is_closing or self._is_gone.is_set())

    def post(self, batch: Batch) -> asyncio.Future[list[int]]:
        """See `Writer`."""
        if self._successor is not None:
            return self._successor.post(batch)
        if self._is_closing:
            raise LedgerUnavailable("the ledger is closed", retry_after_s=5)
        if len(self._waiting) >= MAX_WAITING:
            raise LedgerUnavailable("the ledger is overloaded", retry_after_s=5)
        frame = pack_batch(self._number + 1, batch)
        self._number += 1
        self._transport.write(frame)
        return self._expect()

    async def write(self, batch: Batch) -> list[int]:
        """See `Writer`."""
        return await self.post(batch)

    def close(self) -> None:
        """See `Writer`."""
        self._loop.call_soon_threadsafe(self._say_goodbye)
        self._is_gone.wait()
        if self._pid is not None:
            os.waitpid(self._pid, 0)
        if self._successor is not None:
            self._successor.close()

    def _say_goodbye(self) -> None:
        self._is_closing = True
        if not self._is_gone.is_set():
            self._transport.write_eof()

    def _expect(self) -> asyncio.Future[list[int]]:
        future = self._waiting[self._number] = self._loop.create_future()
        return future

    # --- asyncio.Protocol ------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # uvloop's transports are none of asyncio's classes, so no check.
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        """Wake those whose batches are durable or refused."""
        for message in self._messages.feed(data):
            answers = unpack_answers(message)
            if answers[0][0] != READY:
                GROUP.observe(len(answers))
            for number, result in answers:
                self._settle(self._waiting.pop(number), result)

    def connection_lost(self, exc: Exception | None) -> None:
        """End; if it was not meant to end, go on in this process."""
        if not self._is_closing:
            logger.error("ledger: the writer is gone; writing in this process now")
            self._successor = LedgerWriter()
        for future in self._waiting.values():
            error = LedgerUnavailable("the ledger's writer is gone", retry_after_s=5)
            self._settle(future, error)
        self._waiting.clear()
        self._is_gone.set()

    @staticmethod
    def _settle(future: asyncio.Future[list[int]], result: Result) -> None:
        if future.done():
            return  # cancelled meanwhile
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
