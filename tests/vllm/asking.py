"""Clients that ask for what never ends, and leave only when they are told to.

So whatever a test does to a call, it does in the middle of it, however fast or slow the
machine is.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from apps.engine import events as ev
from apps.runs.models import Run
from apps.runs.records.history import run_events
from tests.vllm.conftest import CHAT, Stage, body, eventually
from tests.vllm.server import ENDLESS_TOKENS, KEY, PATIENCE_S, SEATS, VllmServer

ENDLESS = {"type": "string", "minLength": 1_000_000}
"""More than `ENDLESS_TOKENS` hold: a model goes on while it may. Much more than that
takes the server minutes to prepare, which nothing ends."""
ENDLESS_PLAN = {
    "type": "object",
    "properties": {"reasoning": ENDLESS},
    "required": ["reasoning"],
    "additionalProperties": False,
}


class Asking:
    """A client of the site that reads its answer in the background."""

    def __init__(self, portal: BlockingPortal, stage: Stage, **fields: Any) -> None:
        self._stage = stage
        self._body = body("What is there?", stream=True, **fields)
        self._reading = portal.start_task_soon(self._read)

    def answer(self) -> str:
        """Return the whole answer once it is there."""
        return self._reading.result(PATIENCE_S)

    def is_answered(self) -> bool:
        return self._reading.done()

    def leave(self) -> bool:
        """Close the connection; say whether that was before the answer was whole."""
        is_left = self._reading.cancel()
        wait([self._reading], PATIENCE_S)
        return is_left and self._reading.cancelled()

    async def _read(self) -> str:
        async with self._stage.client() as client:
            return (await client.post(CHAT, json=self._body)).text


@contextmanager
def asking(stage: Stage, **fields: Any) -> Iterator[Asking]:
    with start_blocking_portal() as portal:
        yield Asking(portal, stage, **fields)


@contextmanager
def occupied(vllm: VllmServer, calls: int) -> Iterator[None]:
    """Keep the server busy with so many calls: from before the start to the end."""
    with start_blocking_portal() as portal:
        busy = [portal.start_task_soon(keep_busy, vllm) for _ in range(calls)]
        try:
            wanted = (min(calls, SEATS), max(calls - SEATS, 0))
            assert eventually(lambda: running_and_waiting(vllm) == wanted)
            yield
        finally:
            for each in busy:
                each.cancel()


async def keep_busy(vllm: VllmServer) -> None:
    """Ask for one endless answer after the other. Raises: HTTPStatusError."""
    asked = {
        "model": "worker-1",
        "messages": [{"role": "user", "content": "Go on."}],
        "max_tokens": ENDLESS_TOKENS,
        "ignore_eos": True,
    }
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(headers=headers, timeout=None) as client:
        while True:
            answer = await client.post(f"{vllm.url}{CHAT}", json=asked)
            answer.raise_for_status()


def running_and_waiting(vllm: VllmServer) -> tuple[int, int]:
    load = vllm.load()
    return load.running, load.waiting


def is_planning(stage: Stage) -> bool:
    return stage.vllm.load().running == 1


def is_freed(stage: Stage) -> bool:
    """Say whether the server is done with all calls."""
    return eventually(lambda: stage.vllm.load().running == 0)


def only_run(stage: Stage) -> Run:
    return Run.objects.for_team(stage.site.cast.team.id).get()


def newest_run(stage: Stage) -> Run:
    return Run.objects.for_team(stage.site.cast.team.id).latest("created_at")


def events_of(run: Run) -> list[ev.Event]:
    return [each.event for each in run_events(run)]
