"""Measures what the flood of one team costs another: pages, REST, `/v1`, sockets.

One process, SQLite, two teams. The calm team asks one thing after the other; the
flooding one keeps many requests open meanwhile, with one key and session or with 40 of
each. Calm and flood take turns, and what counts is the ratio of the calm team's medians
in each round. Runs call a model that answers after 100 ms, so that the figure of `/v1`
is about a run as people have it.

`python -m bench.fairness` measures every case, `python -m bench.fairness 'REST*' page`
those with such names, and keeps the figures of the others.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import operator
import os
import random
import secrets
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import uvloop

from bench.figures import keep, kept, say
from bench.generator import Client, connect
from bench.servers import ROOT, base_url, folder, manage, prepare, upstream, web
from bench.watcher import Watcher

ASKED, ROUNDS = 20, 5
PAUSE_S = 0.05
"""Longest pause of the calm team."""
START_S = 1.0
"""Until the flood is there."""
GO, STILL, DONE = b"go\n", b"still\n", b"done\n"
"""The command to the flood's process, and its answer."""
MEMBERS = 40
"""Of the flooding team, with a session and a key each."""
MAKE_VISITORS = """
import sys
from django.test import Client
from apps.accounts.models import Membership, Role, Team, User
from apps.accounts.services import api_key_issue
from apps.audit.types import Actor
actor = Actor(type="service", id="bench", display="bench")
def visitor(slug, number, **limits):
    team = Team.objects.get(slug=slug)
    person = User.objects.create_user(email=f"{slug}-{number}@example.org")
    Membership.objects.create(team=team, user=person, role=Role.OWNER)
    client = Client()
    client.force_login(person)
    _, key = api_key_issue(
        team=team, name=f"bench {number}", actor=actor, created_by=person, **limits
    )
    print("visitor", key, client.cookies["sessionid"].value)
visitor("bench", 0)
for number in range(MEMBERS):
    visitor("other", number)
visitor("other", "limited", requests_per_minute=1)
"""
NO_RUN = "01a20480-0000-7000-8000-000000000000"
CHAT = "/v1/chat/completions"
STATUSES = {
    "no address": {404},
    "no JSON": {400},
    "unknown key": {401, 429},
    "over its rate": {200, 429},
}
"""How floods are answered that are refused; all others with 200."""


@dataclass(frozen=True)
class Case:
    """What a calm team asks, and what the other one floods the process with."""

    name: str
    calm: str
    flood: str
    open: int = 40
    members: int = 1


CASES = (
    Case("page", "page", "page"),
    Case("page, 40 sessions", "page", "page", members=MEMBERS),
    Case("REST", "REST", "REST"),
    Case("REST, 40 keys", "REST", "REST", members=MEMBERS),
    Case("/v1", "/v1", "/v1"),
    Case("/v1, 40 keys", "/v1", "/v1", members=MEMBERS),
    Case("/v1, 200 open", "/v1", "/v1", open=200),
    Case("/v1, 40 streams", "/v1", "stream"),
    Case("/v1, 200 streams", "/v1", "stream", open=200),
    Case("/v1, 200 without an address", "/v1", "no address", open=200),
    Case("/v1, 200 without JSON", "/v1", "no JSON", open=200),
    Case("/v1, 200 with an unknown key", "/v1", "unknown key", open=200),
    Case("/v1, 200 over their rate", "/v1", "over its rate", open=200),
    Case("socket", "socket", "socket"),
    Case("socket, 40 sessions", "socket", "socket", members=MEMBERS),
)


class Visitor:
    """One member's program and browser."""

    def __init__(self, url: str, key: str, session: str) -> None:
        self._url = url
        self._host = urlsplit(url).netloc
        self._key, self._cookie = key, f"sessionid={session}"
        self._free: list[Client] = []

    async def ask(self, kind: str) -> None:
        """Ask for one thing and wait for all of it."""
        if kind == "socket":
            await self._open_socket()
            return
        client = await self._connected()
        status, body = await client.send(self._request(kind))
        if status not in STATUSES.get(kind, {200}):
            raise RuntimeError(f"{kind}: {status} {body[:200]!r}")
        self._free.append(client)

    async def _connected(self) -> Client:
        """Return a connection that is free; the server closes idle ones after 5 s."""
        while self._free:
            client = self._free.pop()
            if not client.transport.is_closing():
                return client
        return await connect(self._url)

    def _request(self, kind: str) -> bytes:
        key, question = self._key, [{"role": "user", "content": "Hello"}]
        body: dict[str, Any] = {"model": "worker/a", "messages": question}
        match kind:
            case "page":
                return self._encoded("GET /workers/", f"cookie: {self._cookie}")
            case "REST":
                return self._encoded("GET /api/v1/runs/", f"authorization: {key}")
            case "stream":
                body |= {"model": "worker/clock", "stream": True}
            case "no address":
                return self._encoded("POST /v1/nothing", f"authorization: {key}")
            case "unknown key":
                key = f"Bearer {self._key[7:-20]}{secrets.token_hex(10)}"
        raw = b"{" if kind == "no JSON" else orjson.dumps(body)
        return self._encoded(f"POST {CHAT}", f"authorization: {key}", raw)

    def _encoded(self, line: str, signed: str, body: bytes = b"") -> bytes:
        head = (
            f"{line} HTTP/1.1\r\nhost: {self._host}\r\n{signed}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    async def _open_socket(self) -> None:
        """Open a websocket; it is closed, as there is no such run."""
        host, _, port = self._host.partition(":")
        loop = asyncio.get_running_loop()
        _, watcher = await loop.create_connection(
            lambda: Watcher(self._host, NO_RUN, self._cookie), host, int(port)
        )
        await watcher.ended
        if not watcher.was_accepted:
            raise RuntimeError("a websocket was refused")


async def timed(kind: str, visitor: Visitor) -> list[float]:
    """Ask one after the other; return how long each took, in ms.

    With a pause before each, of random length and about as long as an answer takes.
    Without it each request would come just after one of the flood has begun.
    """
    times, took_s = list[float](), 0.0
    for _ in range(ASKED):
        await asyncio.sleep(random.uniform(0, min(2 * took_s, PAUSE_S)))
        began = time.perf_counter()
        await visitor.ask(kind)
        took_s = time.perf_counter() - began
        times.append(1000 * took_s)
    return times


class Flood:
    """So many requests at once, each visitor its part of them; begins and ends."""

    def __init__(self, kind: str, at_once: int, visitors: list[Visitor]) -> None:
        self._kind = kind
        self._visitors = list(itertools.islice(itertools.cycle(visitors), at_once))
        self._is_on = False
        self._under_way: list[asyncio.Task[None]] = []

    async def obey(self) -> None:
        """Begin and end as the lines on standard input say, and answer each one."""
        lines = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
        )
        while word := await lines.readline():
            await (self.begin() if word == GO else self.end())
            sys.stdout.buffer.write(DONE)
            sys.stdout.buffer.flush()

    async def begin(self) -> None:
        """Keep the requests open from now on."""
        self._is_on = True
        self._under_way = [
            asyncio.create_task(self._again(each)) for each in self._visitors
        ]
        await asyncio.wait(self._under_way, timeout=START_S)

    async def end(self) -> None:
        """Wait until none is open. Raises what has gone wrong."""
        self._is_on = False
        await asyncio.gather(*self._under_way)

    async def _again(self, visitor: Visitor) -> None:
        while self._is_on:
            await visitor.ask(self._kind)


async def measured(case: Case, calm: Visitor, job: dict[str, Any]) -> dict[str, float]:
    """Return the medians of the calm team without and with the flood."""
    # A process of its own: it must not keep the calm client waiting.
    flood = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.fairness", "--flood", json.dumps(job)),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    async def tell(word: bytes) -> None:
        assert flood.stdin and flood.stdout
        flood.stdin.write(word)
        if await flood.stdout.readline() != DONE:
            raise RuntimeError(f"the flood of {case.name} has ended by itself")

    quiet, beside = [], []
    await tell(STILL)
    await calm.ask(case.calm)
    for _ in range(ROUNDS):
        quiet.append(statistics.median(await timed(case.calm, calm)))
        await tell(GO)
        beside.append(statistics.median(await timed(case.calm, calm)))
        await tell(STILL)
    flood.terminate()
    await flood.wait()
    return {
        "calm_ms": statistics.median(quiet),
        "flooded_ms": statistics.median(beside),
        # Of each round by itself: a machine is not always equally fast.
        "ratio": statistics.median(map(operator.truediv, beside, quiet)),
    }


def make_visitors(env: dict[str, str], path: Path) -> list[tuple[str, str]]:
    """Make a second team with the same pool, and people; return keys and sessions.

    First the calm one's, then those of the flood, last one whose rate is one a minute.
    """
    manage(env, "team_create", "Other", "--slug", "other")
    manage(env, "pool_import", str(path / "pool.yaml"), "--team", "other")
    make = MAKE_VISITORS.replace("MEMBERS", str(MEMBERS))
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--command", make],
        cwd=ROOT,
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
    )
    words = [line.split() for line in done.stdout.splitlines()]
    return [
        (f"Bearer {line[1]}", line[2])
        for line in words
        if line[:1] == ["visitor"] and len(line) == 3
    ]


async def compare(
    url: str, visitors: list[tuple[str, str]], cases: list[Case]
) -> dict[str, Any]:
    """Measure each case."""
    calm, *flood, limited = visitors
    found = {}
    for case in cases:
        loud = [limited] if case.flood == "over its rate" else flood[: case.members]
        job = {"url": url, "kind": case.flood, "open": case.open, "visitors": loud}
        found[case.name] = await measured(case, Visitor(url, *calm), job)
        say(f"  {case.name}: {found[case.name]}")
    return found


def main() -> None:
    """Measure, and keep the figures; or be the flood."""
    if sys.argv[1:2] == ["--flood"]:
        job = json.loads(sys.argv[2])
        loud = [Visitor(job["url"], *each) for each in job["visitors"]]
        uvloop.run(Flood(job["kind"], job["open"], loud).obey())
        return
    wanted = sys.argv[1:]
    cases = [
        case
        for case in CASES
        if not wanted or any(fnmatch(case.name, pattern) for pattern in wanted)
    ]
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        path = stack.enter_context(folder())
        env = {"DATABASE_URL": f"sqlite:///{path / 'bench.sqlite3'}"}
        prepare(env, path, base_url(model_server))
        visitors = make_visitors(env, path)
        url, _ = stack.enter_context(web(env, path))
        found = uvloop.run(compare(url, visitors, cases))
    before = (kept("fairness") or {}).get("kinds", {}) if wanted else {}
    known = {**before, **found}
    kinds = {case.name: known[case.name] for case in CASES if case.name in known}
    keep("fairness", {"kinds": kinds, "rounds": ROUNDS})


if __name__ == "__main__":
    main()
