"""What the flood of one team costs another: pages, REST, `/v1`, sockets.

One process, SQLite, two teams. The calm team asks one thing at a time; the flooding
one keeps AT_ONCE requests of the same kind open meanwhile. Calm and flood take turns,
and what counts is the ratio of the calm team's medians. Runs call a model that answers
after 100 ms, so that the figure of `/v1` is about a run as people have it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import connect
from websockets.typing import Origin

from bench.figures import keep, say
from bench.servers import ROOT, base_url, folder, manage, prepare, upstream, web

AT_ONCE = 40
ASKED, ROUNDS = 40, 3
START_S = 3.0
"""Until the flood is there."""
PATIENCE_S = 120
MAKE_SESSIONS = """
from django.test import Client
from apps.accounts.models import Membership, Role, Team, User
for slug in ("bench", "other"):
    person = User.objects.create_user(email=f"{slug}@example.org")
    team = Team.objects.get(slug=slug)
    Membership.objects.create(team=team, user=person, role=Role.OWNER)
    client = Client()
    client.force_login(person)
    print("session", client.cookies["sessionid"].value)
"""
Ask = Callable[["Visitor"], Awaitable[None]]


class Visitor:
    """One team's program and browser."""

    def __init__(self, url: str, key: str, session: str) -> None:
        self.url = url
        self.session = session
        limits = httpx.Limits(max_connections=AT_ONCE)
        self.http = httpx.AsyncClient(
            base_url=url,
            headers={"authorization": f"Bearer {key}"},
            timeout=PATIENCE_S,
            limits=limits,
        )
        self.browser = httpx.AsyncClient(
            base_url=url,
            cookies={"sessionid": session},
            timeout=PATIENCE_S,
            limits=limits,
        )


async def page(visitor: Visitor) -> None:
    """Read a page."""
    (await visitor.browser.get("/workers/")).raise_for_status()


async def rest(visitor: Visitor) -> None:
    """Read a list of the REST API."""
    (await visitor.http.get("/api/v1/runs/")).raise_for_status()


async def run(visitor: Visitor) -> None:
    """Ask a worker through `/v1`."""
    body = {"model": "worker/a", "messages": [{"role": "user", "content": "Hello"}]}
    answer = await visitor.http.post("/v1/chat/completions", json=body)
    answer.raise_for_status()


async def socket(visitor: Visitor) -> None:
    """Open a websocket and read why it is closed: there is no such run."""
    url = visitor.url.replace("http", "ws")
    path = "/ws/runs/01a20480-0000-7000-8000-000000000000/"
    headers = {"cookie": f"sessionid={visitor.session}"}
    async with connect(
        url + path, origin=Origin(visitor.url), additional_headers=headers
    ) as opened:
        await opened.wait_closed()


KINDS: dict[str, Ask] = {"page": page, "REST": rest, "/v1": run, "socket": socket}


async def timed(ask: Ask, visitor: Visitor) -> list[float]:
    """Ask one after the other; return how long each took, in ms."""
    times = []
    for _ in range(ASKED):
        began = time.perf_counter()
        await ask(visitor)
        times.append(1000 * (time.perf_counter() - began))
    return times


async def flooding(ask: Ask, visitor: Visitor) -> None:
    """Keep AT_ONCE requests open until cancelled."""

    async def again() -> None:
        while True:
            await ask(visitor)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(again())


async def measured(kind: str, calm: Visitor, loud: Sequence[str]) -> dict[str, float]:
    """Return the medians of the calm team without and with the flood."""
    quiet, beside = [], []
    ask = KINDS[kind]
    await ask(calm)
    for _ in range(ROUNDS):
        quiet.append(statistics.median(await timed(ask, calm)))
        # A process of its own: it must not keep the calm client waiting.
        command = [sys.executable, "-m", "bench.fairness", kind, *loud]
        flood = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
        await asyncio.sleep(START_S)
        beside.append(statistics.median(await timed(ask, calm)))
        if flood.returncode is not None:
            raise RuntimeError(f"the flood of {kind} has ended by itself")
        flood.terminate()
        await flood.wait()
    calm_ms, flooded_ms = statistics.median(quiet), statistics.median(beside)
    return {
        "calm_ms": calm_ms,
        "flooded_ms": flooded_ms,
        "ratio": flooded_ms / calm_ms,
    }


def sessions(env: dict[str, str]) -> list[str]:
    """Return the cookies of an owner of each team."""
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--command", MAKE_SESSIONS],
        cwd=ROOT,
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    return [line.split()[1] for line in lines if line.startswith("session ")]


def other_team(env: dict[str, str], path: Path) -> str:
    """Make the second team, with the same pool, and return a key of it."""
    manage(env, "team_create", "Other", "--slug", "other")
    manage(env, "pool_import", str(path / "pool.yaml"), "--team", "other")
    return manage(env, "api_key_issue", "--team", "other", "--name", "other")


async def compare(url: str, keys: list[str], cookies: list[str]) -> dict[str, Any]:
    """Measure each kind."""
    calm = Visitor(url, keys[0], cookies[0])
    found = {}
    for name in KINDS:
        found[name] = await measured(name, calm, (url, keys[1], cookies[1]))
        say(f"  {name}: {found[name]}")
    return found


def main() -> None:
    """Measure, and keep the figures; or, with arguments, be the flood."""
    if len(sys.argv) > 1:
        kind, *whose = sys.argv[1:]
        asyncio.run(flooding(KINDS[kind], Visitor(*whose)))
        return
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        path = stack.enter_context(folder())
        env = {"DATABASE_URL": f"sqlite:///{path / 'bench.sqlite3'}"}
        keys = [prepare(env, path, base_url(model_server)), other_team(env, path)]
        cookies = sessions(env)
        url, _ = stack.enter_context(web(env, path))
        found = asyncio.run(compare(url, keys, cookies))
    keep("fairness", {"kinds": found, "rounds": ROUNDS, "at_once": AT_ONCE})


if __name__ == "__main__":
    main()
