"""The process that trains, and what it says: lines of `protocol.py`.

Guarantees: reading never waits, a line is of bounded length, and whatever is no message
ends the training with an error. Two trainers never work in one folder: each holds a
lock on it, which ends with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import queue
import signal
import subprocess  # nosec B404
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import IO

from django.conf import settings

from apps.core.errors import ConductorError
from apps.training.conductor.environment import (
    require_environment,
    training_environment,
)
from apps.training.conductor.protocol import (
    ProtocolError,
    SiteMessage,
    TrainerMessage,
    line_of,
    trainer_message,
)
from apps.training.conductor.trainer_faults import process_fault
from apps.training.conductor.training_folder import read_job

MAX_LINE = 32 << 20
"""Bytes: the plans of one iteration are a line."""
MAX_WAITING = 64
"""Lines that were read and not handled; then the trainer has to wait."""
LOCK = "trainer.lock"
END_S = 10.0
"""How long a trainer has to end by itself."""


class TrainerFailed(ConductorError):
    """The trainer did not do its part; the message has nothing that it printed."""

    code = "trainer_failed"
    http_status = 409


class TrainerLost(TrainerFailed):
    """The trainer is gone; started again, it goes on."""


class FolderInUse(Exception):
    """A trainer of a process before this one still works in the folder."""


class TrainerProcess:
    """A trainer at work."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process, self._log = process, log
        self._lines: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING)
        self._closed = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def message(self) -> TrainerMessage | None:
        """Return what it said next; None: nothing yet. Raises: TrainerFailed."""
        try:
            line = self._lines.get_nowait()
        except queue.Empty:
            return None
        if line is None:
            raise TrainerLost(self._fault())
        try:
            return trainer_message(line.decode())
        except (ProtocolError, UnicodeDecodeError):
            # What it said may hold parts of prompts: it is not repeated.
            raise TrainerFailed(
                "the trainer said something that is no message of a training"
            ) from None

    def send(self, message: SiteMessage) -> None:
        """Say something to it. Raises: TrainerLost if it hears nothing any more."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line_of(message).encode())
            self._process.stdin.flush()
        except OSError as exc:
            raise TrainerLost(self._fault()) from exc

    def close(self) -> None:
        """End it, if it has not ended itself."""
        self._closed.set()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._reader.join(END_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):  # it was closed
            while line := self._process.stdout.readline(MAX_LINE + 1):
                self._put(line)
                if len(line) > MAX_LINE:
                    break
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._lines.put(line, timeout=0.2)
                return

    def _fault(self) -> str:
        try:
            return process_fault(self._process.wait(END_S), self._log)
        except subprocess.TimeoutExpired:
            return "the trainer closed its end, and did not end"


@contextmanager
def trainer_process(folder: Path, log: Path) -> Iterator[TrainerProcess]:
    """Start a trainer in a folder, or let it go on there; on leaving it is ended.

    What it prints is added to the file `log`.
    Raises: NoTrainingEnvironment; FolderInUse.
    """
    require_environment(read_job(folder))
    python = settings.CONDUCTOR_TRAINING_PYTHON
    command = [python, "-m", settings.CONDUCTOR_TRAINER, str(folder)]
    with _locked(folder) as lock, log.open("ab") as printed:
        process = subprocess.Popen(  # nosec B603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            cwd=settings.BASE_DIR,
            env=training_environment(),
            pass_fds=(lock.fileno(),),
        )
        trainer = TrainerProcess(process, log)
        try:
            lock.truncate(0)
            lock.write(f"{gethostname()} {process.pid}".encode())
            lock.flush()
            yield trainer
        finally:
            trainer.close()


def orphan_end(folder: Path) -> None:
    """Kill the trainer that holds a folder, if it is on this machine.

    It is the one whose id the lock's file has: the lock ends with it.
    """
    with suppress(OSError, ValueError):
        host, pid = (folder / LOCK).read_text().split()
        if host == gethostname():
            os.kill(int(pid), signal.SIGKILL)


@contextmanager
def _locked(folder: Path) -> Iterator[IO[bytes]]:
    with (folder / LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise FolderInUse(str(folder)) from exc
        lock.truncate(0)  # no id of an earlier trainer, which may be another's by now
        yield lock
