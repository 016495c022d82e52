"""The whole site as processes: servers, models, web processes, workers, a beat."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import (
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import psycopg

from tests.faults.checker import Verdict, check
from tests.faults.history import Accepted
from tests.faults.members import POLL_S, READY_S, ROOT, Member
from tests.faults.witness import Witness
from tests.patience import eventually
from tests.processes.ports import ReservedPort, reserved_port
from tests.services import Postgres, Redis, postgres, redis

PREPARED = "prepared"
"""Database that all others are copies of."""
LEDGER_S = 120
"""Longest a verification of the ledger takes."""
SETTINGS = {"WEB_NOTICE_S": "0", "WEB_DRAIN_S": "2", "WORKER_DRAIN_S": "2"}
"""Who is asked to stop does so before all of its runs have ended."""


@dataclass
class FaultySite:
    """A running site and what is needed to hurt it."""

    servers: Servers
    webs: list[Member]
    workers: list[Member]
    beats: list[Member]
    witness: Witness
    folder: Path
    """Where the logs are, and the history if there is something wrong with it."""
    calls_before: int
    """Calls that the models had counted when it began."""

    @property
    def members(self) -> list[Member]:
        """Return all processes of the site itself."""
        return [*self.webs, *self.workers, *self.beats]

    @property
    def urls(self) -> list[str]:
        """Return the addresses of the web processes."""
        return [web.url for web in self.webs]

    async def settled(self, patience_s: float) -> None:
        """Return when no run is unfinished, or when patience is over."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + patience_s
        while loop.time() < give_up_at:
            if not await asyncio.to_thread(self.witness.unfinished):
                return
            await asyncio.sleep(POLL_S * 10)

    async def verify_ledger(self) -> str:
        """Return what is wrong with the ledger; empty: nothing."""
        done = await asyncio.to_thread(
            _python, self.witness.url, "manage.py", "audit_verify"
        )
        return done.stderr.decode() if done.returncode else ""

    async def judged(
        self, accepted: Sequence[Accepted], keyed_jobs: frozenset[str]
    ) -> Verdict:
        """Read everything and judge it."""
        history = await asyncio.to_thread(
            self.witness.history,
            tuple(accepted),
            keyed_jobs,
            await _counted(self.servers.models_url) - self.calls_before,
            await self.verify_ledger(),
        )
        verdict = check(history)
        if verdict.defects:
            found = "\n".join([*verdict.defects, *history.lines])
            (self.folder / "history.txt").write_text(found)
        return verdict


@dataclass(frozen=True)
class Servers:
    """What several sites use one after the other, each with a database of its own."""

    database: Postgres
    redis: Redis
    models_url: str
    key: str
    session: str
    """A cookie header of a member who is signed in."""

    def new_database(self) -> str:
        """Make a database with a team and the witness's triggers; return its name."""
        name = f"site_{uuid.uuid4().hex}"
        make = f"CREATE DATABASE {name} TEMPLATE {PREPARED}"
        with psycopg.connect(self.database.url, autocommit=True) as connection:
            connection.execute(make)
        return name


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Start PostgreSQL, Redis and models; end and remove them afterwards."""
    with ExitStack() as stack:
        database = stack.enter_context(postgres())
        broker = stack.enter_context(redis())
        models_url = stack.enter_context(_models(folder))
        prepared = database.create_database(PREPARED)
        done = _python(prepared, "-m", "tests.faults.prepare", models_url)
        assert done.returncode == 0, done.stderr.decode()
        Witness(prepared).install()
        yield Servers(database, broker, models_url, **json.loads(done.stdout))


@asynccontextmanager
async def faulty_site(
    servers: Servers,
    folder: Path,
    *,
    webs: int = 2,
    workers: int = 1,
    sabotage: str = "",
) -> AsyncIterator[FaultySite]:
    """Start a site's processes on a fresh database; end them afterwards.

    `sabotage`: what is switched off in the site's processes, see `sabotage.py`.
    """
    database = servers.new_database()
    settings = {**SETTINGS, "BACKGROUND_RUNS": "workers" if workers else "here"}
    site = FaultySite(
        servers,
        [_web(n, folder, sabotage, settings) for n in range(1, webs + 1)],
        [_worker(n, folder, sabotage, settings) for n in range(1, workers + 1)],
        [_beat(folder, settings)] if workers else [],
        Witness(servers.database.url_of(database)),
        folder,
        await _counted(servers.models_url),
    )
    async with AsyncExitStack() as stack:
        for member in site.members:
            # A beat has no lease: it works from its first moment on.
            is_up = partial(bool) if member in site.beats else site.witness.has_lease
            await member.connect(database, servers.database, servers.redis, is_up)
            stack.push_async_callback(member.close)
            member.start()
        for member in site.members:
            await member.ready()
        yield site


def _web(number: int, folder: Path, sabotage: str, settings: dict[str, str]) -> Member:
    port = ReservedPort()
    command = _command(["conductor_site", "--port", str(port.number)], sabotage)
    return Member(f"web{number}", command, folder, port, settings)


def _worker(
    number: int, folder: Path, sabotage: str, settings: dict[str, str]
) -> Member:
    command = _command(["conductor_site.worker"], sabotage)
    return Member(f"worker{number}", command, folder, settings=settings)


def _beat(folder: Path, settings: dict[str, str]) -> Member:
    command = _command(["conductor_site.worker", "--beat"], "")
    return Member("beat", command, folder, settings=settings)


def _command(module: list[str], sabotage: str) -> list[str]:
    if sabotage:
        return [sys.executable, "-m", "tests.faults.sabotage", sabotage, *module]
    return [sys.executable, "-m", *module]


@contextmanager
def _models(folder: Path) -> Iterator[str]:
    with reserved_port() as port, (folder / "models.log").open("wb") as log:
        command = [sys.executable, "-m", "apps.simulator", "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{port}"
        try:
            assert eventually(partial(_answers, f"{url}/healthz"), READY_S)
            yield f"{url}/v1"
        finally:
            process.terminate()
            process.wait()


def _answers(url: str) -> bool:
    with suppress(httpx.TransportError):
        httpx.get(url)
        return True
    return False


async def _counted(models_url: str) -> int:
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{models_url}/stats")
    return int(answer.json()["total"])


def _python(database_url: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url, "REDIS_URL": ""},
        check=False,
        capture_output=True,
        timeout=LEDGER_S,
    )
