"""A process that has imported what the site needs, and forks the processes of tests.

A Python process of the site spends half of its start on importing packages that know
no settings. This one imports them once; a fork of it then reads settings and apps as
any new process does. Run by `tests/processes/python.py`, which sends one request for
each process: arguments, environment and the files for standard input, output and error.
It answers with the process's id and, when that has ended, with its status.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import Any

MAX_REQUEST_BYTES = 1_000_000
PRELOADED = (
    "aiohttp",
    "allauth.core.internal.cryptokit",
    "apps.engine.conduct",
    "apps.llm.chat",
    "asyncio",
    "click",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "cryptography.hazmat.primitives.ciphers.aead",
    "cryptography.x509",
    "django.core.management",
    "django.db.backends.base.base",
    "django.forms",
    "django.template",
    "django.test",
    "httpx",
    "httpx_aiohttp",
    "jsonschema_rs",
    "limits",
    "markdown_it",
    "opentelemetry.trace",
    "orjson",
    "phonenumbers",
    "prometheus_client",
    "psutil",
    "psycopg",
    "pydantic",
    "redis.asyncio",
    "sqlparse",
    "starlette.applications",
    "stdnum",
    "structlog",
    "urllib3",
    "uvicorn",
    "uvloop",
    "yaml",
)
"""What the site imports and what reads no settings while it is imported."""


class Request:
    """A process to be started."""

    def __init__(self, document: dict[str, Any], files: list[int]) -> None:
        self.arguments: list[str] = document["arguments"]
        """What comes after `python`: `-m` and a module, `-c` and code, or a file."""
        self.environment: dict[str, str] = document["environment"]
        self.folder: str = document["folder"]
        self.files = files

    def apply(self) -> None:
        """Make this process the one that was requested, but for running it."""
        for number, file in enumerate(self.files):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)

    def run(self) -> None:
        """Do what `python <arguments>` does."""
        kind, *rest = self.arguments
        if kind == "-m":
            sys.argv = rest
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        elif kind == "-c":
            sys.argv = [kind, *rest[1:]]
            exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = self.arguments
            runpy.run_path(kind, run_name="__main__")


class Zygote:
    """Forks until the other side closes the connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._waker, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._waking = waking
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)

    def serve(self) -> Request | None:
        """Return in each child, with its request; return None at the end."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._connection, selectors.EVENT_READ)
            selector.register(self._waker, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj == self._waker:
                        os.read(self._waker, 4096)
                        self._report_ended()
                        continue
                    request = self._receive()
                    if request is None or self._fork(request) == 0:
                        return request

    def _receive(self) -> Request | None:
        message, files, _, _ = socket.recv_fds(self._connection, MAX_REQUEST_BYTES, 3)
        return Request(json.loads(message), files) if message else None

    def _fork(self, request: Request) -> int:
        assert threading.active_count() == 1
        pid = os.fork()
        if pid:
            for file in request.files:
                os.close(file)
            self._send({"started": pid})
            return pid
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for file in (self._waker, self._waking):
            os.close(file)
        self._connection.close()
        return 0

    def _report_ended(self) -> None:
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                self._send({"ended": pid, "status": os.waitstatus_to_exitcode(status)})

    def _send(self, message: dict[str, int]) -> None:
        with suppress(OSError):  # the tests have ended
            self._connection.send(json.dumps(message).encode())


def main() -> None:
    """Import, then fork on request; in a fork, run what was requested."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    connection = socket.socket(fileno=int(sys.argv[1]))
    request = Zygote(connection).serve()
    if request is not None:
        request.apply()
        request.run()


if __name__ == "__main__":
    main()
