"""A place for one process of the site: ended, frozen, cut off, and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import httpx
import psutil

from tests.faults.proxy import FaultProxy
from tests.processes.ports import ReservedPort
from tests.services import Service

ROOT = Path(__file__).resolve().parent.parent.parent
READY_S = 60.0
"""Longest a process takes to answer, on a machine with much to do."""
POLL_S = 0.05
STOP_S = 20.0
"""Longest it takes to end, whether asked or killed."""


class Member:
    """A web process, a worker or a beat, behind proxies of its own."""

    def __init__(
        self,
        name: str,
        command: list[str],
        folder: Path,
        port: ReservedPort | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`port`: where it answers HTTP. None: nowhere.

        `settings`: environment variables of its own.
        """
        self.place = name
        self._port = port
        self.lives = 0
        """How often it has been started."""
        self.busy = asyncio.Lock()
        """Held while a fault is at it: one at a time."""
        self._command = command
        self._log = folder / f"{name}.log"
        self._environment = {
            **os.environ,
            "CONDUCTOR_VAR_DIR": str(folder),
            "PYTHONFAULTHANDLER": "1",  # SIGABRT makes it say where it stands
            **settings,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.database: FaultProxy
        self.redis: FaultProxy

    @property
    def name(self) -> str:
        """Return the name of this life, which its database connections bear."""
        return f"{self.place}-{self.lives}"

    @property
    def url(self) -> str:
        """Return its address."""
        assert self._port is not None
        return f"http://127.0.0.1:{self._port.number}"

    @property
    def is_running(self) -> bool:
        """Say whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    async def connect(
        self, name: str, server: Service, redis: Service, is_up: Callable[[str], bool]
    ) -> None:
        """Open its proxies to the database `name` and to Redis.

        `is_up` says of a process's name whether that life is at work.
        """
        self._database_name = name
        self._is_up = is_up
        self.database = FaultProxy(lambda: ("127.0.0.1", server.port))
        self.redis = FaultProxy(lambda: ("127.0.0.1", redis.port))
        for proxy in (self.database, self.redis):
            await proxy.open()

    def start(self) -> None:
        """Begin another life."""
        assert not self.is_running
        self.lives += 1
        server = f"postgresql://postgres@127.0.0.1:{self.database.port}"
        database = f"{server}/{self._database_name}"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env={
                    **self._environment,
                    "DATABASE_URL": f"{database}?application_name={self.name}",
                    "REDIS_URL": f"redis://127.0.0.1:{self.redis.port}/0",
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Of its own, so that all its children can be meant at once.
                start_new_session=True,
            )

    async def ready(self) -> None:
        """Return when it is at work. Raises: AssertionError if it ends instead."""
        async with asyncio.timeout(READY_S):
            while not await self._works():
                assert self.is_running, self._last_words()
                await asyncio.sleep(POLL_S)

    async def _works(self) -> bool:
        if self._port is None:
            return await asyncio.to_thread(self._is_up, self.name)
        async with httpx.AsyncClient() as client:
            with suppress(httpx.TransportError):
                await client.get(f"{self.url}/healthz")
                return True
        return False

    async def kill(self, *, alone: bool = False) -> None:
        """End it by SIGKILL; `alone`: its children hear of it by themselves."""
        assert self._process is not None
        self._send(signal.SIGKILL, alone=alone)
        await asyncio.to_thread(self._process.wait, STOP_S)

    def freeze(self, *, alone: bool = False) -> None:
        """Stop it in its tracks (SIGSTOP), as a host does that has other things to do.

        `alone`: without its children.
        """
        self._send(signal.SIGSTOP, alone=alone)

    def wake(self) -> None:
        """Let it go on."""
        self._send(signal.SIGCONT)

    async def stop(self) -> None:
        """Ask it to end (SIGTERM). Raises: AssertionError if it does not."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(self._process.wait, STOP_S)
        except subprocess.TimeoutExpired:
            self._send(signal.SIGABRT, alone=True)
            await asyncio.to_thread(self._process.wait, STOP_S)
            raise AssertionError(f"did not stop: {self._last_words()}") from None

    async def close(self) -> None:
        """End it and whatever it has begun, and close its proxies."""
        if self._process is not None:
            children = self._family()
            for process in children:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            await asyncio.to_thread(psutil.wait_procs, children, STOP_S)
            await asyncio.to_thread(self._process.wait, STOP_S)
        for proxy in (self.database, self.redis):
            await proxy.close()
        if self._port is not None:
            self._port.close()

    def _send(self, number: signal.Signals, *, alone: bool = False) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            if alone:
                self._process.send_signal(number)
            else:
                os.killpg(self._process.pid, number)

    def _family(self) -> list[psutil.Process]:
        assert self._process is not None
        try:
            parent = psutil.Process(self._process.pid)
            return [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _last_words(self) -> str:
        return f"{self.name}: {self._log.read_text(errors='replace')[-6000:]}"
