"""Python processes that tests start: as forks of a zygote, or cold.

    process = python_start("-m", "conductor_site", environment=…)
    process.terminate()
    assert process.wait() == 0

Everything else about them is as if `python` had been started: its arguments, its
environment, its own settings and apps.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests.patience import PATIENCE_S, WORK_PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
STDOUT, STDERR = 1, 2
_MAX_MESSAGE_BYTES = 4096


class PythonProcess:
    """A process that a zygote has forked, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        """The exit status; negative: the signal that ended it; None: it runs."""
        self._has_ended = threading.Event()

    def poll(self) -> int | None:
        """Return the exit status if it has ended."""
        return self.returncode

    def wait(self, timeout_s: float = PATIENCE_S) -> int:
        """Return the exit status once it has ended. Raises: TimeoutExpired."""
        if not self._has_ended.wait(timeout_s):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout_s)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it has not ended."""
        if self.returncode is None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return  # that it has ended is on its way

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def ended(self, status: int) -> None:
        """Note how it ended."""
        self.returncode = status
        self._has_ended.set()


class _ZygoteClient:
    """The zygote of this test process."""

    def __init__(self) -> None:
        self._connection, other = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        with other:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "tests.processes.zygote", str(other.fileno())],
                cwd=ROOT,
                # A library with threads of its own could not be forked.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=[other.fileno()],
            )
        self._lock = threading.Lock()
        self._answered = threading.Condition()
        self._started: PythonProcess | None = None
        self._running: dict[int, PythonProcess] = {}
        threading.Thread(target=self._listen, daemon=True, name="zygote").start()

    def start(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        files: list[int],
    ) -> PythonProcess:
        """Fork a process."""
        request = {
            "arguments": arguments,
            "environment": dict(environment),
            "folder": str(ROOT),
        }
        with self._lock, self._answered:
            socket.send_fds(self._connection, [json.dumps(request).encode()], files)
            has_answer = self._answered.wait_for(
                lambda: self._started is not None, PATIENCE_S
            )
            assert has_answer, "the zygote does not answer"
            process, self._started = self._started, None
        assert process is not None
        return process

    def close(self) -> None:
        """End the zygote; what it has forked goes on."""
        self._connection.shutdown(socket.SHUT_RDWR)
        self._popen.wait(PATIENCE_S)

    def _listen(self) -> None:
        while message := self._connection.recv(_MAX_MESSAGE_BYTES):
            answer = json.loads(message)
            with self._answered:
                if "started" in answer:
                    process = PythonProcess(answer["started"])
                    self._running[process.pid] = self._started = process
                    self._answered.notify()
                else:
                    self._running.pop(answer["ended"]).ended(answer["status"])


_zygote: _ZygoteClient | None = None


def _get_zygote() -> _ZygoteClient:
    global _zygote
    if _zygote is None:
        _zygote = _ZygoteClient()
        atexit.register(_zygote.close)
    return _zygote


def python_start(
    *arguments: str,
    environment: Mapping[str, str],
    stdout: IO[Any] | None = None,
    stderr: IO[Any] | None = None,
) -> PythonProcess:
    """Start Python with `-m` and a module, `-c` and code, or a file, and arguments.

    `stdout`, `stderr`: open files; None: those of this process.
    """
    with Path(os.devnull).open("rb") as nothing:
        files = [
            nothing.fileno(),
            stdout.fileno() if stdout else STDOUT,
            stderr.fileno() if stderr else STDERR,
        ]
        return _get_zygote().start(arguments, environment, files)


def python_run(
    *arguments: str, environment: Mapping[str, str], patience_s: float = PATIENCE_S
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; return its status and what it printed."""
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        process = python_start(
            *arguments, environment=environment, stdout=out, stderr=err
        )
        status = process.wait(patience_s)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(arguments, status, *texts)


def python_output(
    *arguments: str, environment: Mapping[str, str], patience_s: float = PATIENCE_S
) -> str:
    """Return what Python prints with these arguments; it must succeed."""
    done = python_run(*arguments, environment=environment, patience_s=patience_s)
    assert done.returncode == 0, done.stderr
    return done.stdout


def database_fill(models_url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Fill the database of `environment` and return the key and the session made.

    The first process on a machine runs all migrations for the ones after it, and on
    PostgreSQL that takes most of a minute on a busy machine.
    """
    prepare = ("-m", "tests.runs.prepare", models_url)
    known: dict[str, str] = json.loads(
        python_output(*prepare, environment=environment, patience_s=WORK_PATIENCE_S)
    )
    return known
