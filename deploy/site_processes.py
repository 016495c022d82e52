"""Starts and stops the processes of a site on this machine, for the demo."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0
HEALTH_TIMEOUT_S = 2.0
LOOK_INTERVAL_S = 0.1
STOPPING = (signal.SIGINT, signal.SIGTERM)


def manage(*arguments: str) -> list[str]:
    """Return the command line of `manage.py` with these arguments."""
    return [sys.executable, "manage.py", *arguments]


def start(
    arguments: list[str], environment: dict[str, str], log: IO[bytes] | None = None
) -> subprocess.Popen[bytes]:
    """Start a Python process; `log` takes what it prints.

    It has a session of its own: Ctrl-C reaches only whoever calls `stop`.
    """
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def wait_until_ready(url: str, processes: list[subprocess.Popen[bytes]]) -> bool:
    """Return True once an address answers; False, and print why, if it does not."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline:
        if any(process.poll() is not None for process in processes):
            print("A process ended while starting; its messages:")
            return False
        try:
            with urllib.request.urlopen(url, timeout=HEALTH_TIMEOUT_S):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(LOOK_INTERVAL_S)
    print(f"{url} did not answer within {READY_TIMEOUT_S:.0f} s")
    return False


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """End processes, the last one first, and wait for each."""
    ignore_signals()
    for process in reversed(processes):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def ignore_signals() -> None:
    """Ignore Ctrl-C and SIGTERM from here on."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def is_free(port: int) -> bool:
    """Say whether a port of this machine can be listened on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def any_free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
