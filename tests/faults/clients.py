"""Clients that behave well: they wait, ask again elsewhere, and keep what they hear."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from tests.faults.history import Accepted

CHAT, BACKGROUND, REST, CANCELLED = "chat", "background", "rest", "cancelled"
KINDS = (CHAT, BACKGROUND, REST, CANCELLED)
KEYED = frozenset({CHAT, BACKGROUND})
"""Ways of asking that are safe to repeat."""
POLL_S = 0.5
MAX_WAIT_S = 2.0
"""Between two tries, unless the site says `Retry-After`."""
TIMEOUT = httpx.Timeout(45.0, connect=2.0)
PLANS = (
    # Workers of each step, and what each may read: from 0.4 to 4 seconds.
    ((0, 1, 2, 0), '[[], [], "all", [2]]'),
    ((1, 2, 3, 3), '["all", "all", "all", "all"]'),
    ((2, 2, 3, 3, 0), '[[], [], [0], [1], "all"]'),
    ((3, 3, 3, 3, 3), '["all", "all", "all", "all", "all"]'),
    ((2,), "[[]]"),
)


@dataclass(frozen=True, slots=True)
class Job:
    """Something that a client wants done once."""

    name: str
    kind: str
    at_s: float
    """When it is asked for, from the start."""
    plan: int

    @property
    def prompt(self) -> str:
        """Return a question that brings its own plan."""
        workers, access = PLANS[self.plan]
        subtasks = [f"Part {n}." for n in range(len(workers))]
        return (
            f"{self.name} <<plan\nmodel_id = {list(workers)}\nsubtasks = {subtasks}\n"
            f"access_list = {access}>>"
        )


def jobs_of(seed: int, count: int, per_s: float) -> list[Job]:
    """Return `count` jobs of all kinds, in the order in which they are asked for."""
    chance = random.Random(seed)
    # Mostly what may be repeated: after a lost answer nothing else can be told apart.
    kinds = chance.choices(KINDS, weights=(5, 5, 3, 1), k=count)
    times = sorted(chance.uniform(0, count / per_s) for _ in range(count))
    return [
        Job(f"job-{n:04}", kind, at_s, chance.randrange(len(PLANS)))
        for n, (kind, at_s) in enumerate(zip(kinds, times, strict=True))
    ]


@dataclass
class Heard:
    """What all clients together have been told."""

    accepted: dict[uuid.UUID, Accepted] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    """Of answers. 0: the connection broke, or nothing came in time."""
    unkind: Counter[str] = field(default_factory=Counter)
    """Answers of 5xx other than a 503 that says when to come back."""
    answers: list[str] = field(default_factory=list)
    """Each of them in a line: when, for which job, from where."""
    ended: set[str] = field(default_factory=set)
    """Jobs whose client has heard how they ended."""

    def note(
        self, url: str, path: str, headers: Mapping[str, str], answer: str
    ) -> None:
        """Keep an answer as a line."""
        key = headers.get("Idempotency-Key", "")
        at = datetime.now(UTC).time()
        self.answers.append(f"{at} {url}{path} {key} {answer}".replace("\n", " "))

    def accept(self, run_id: uuid.UUID, *, is_answered: bool = False) -> None:
        """Note a run; what is known of it stays known."""
        before = self.accepted.get(run_id)
        is_answered = is_answered or (before is not None and before.is_answered)
        self.accepted[run_id] = Accepted(run_id, is_answered)


class Clients:
    """Asks for the jobs at their times and follows each to its end."""

    def __init__(self, urls: Sequence[str], key: str, seed: int) -> None:
        self.heard = Heard()
        self._urls = urls
        self._chance = random.Random(seed)
        self._headers = {"Authorization": f"Bearer {key}"}

    async def work(self, jobs: Sequence[Job]) -> None:
        """Return when every client knows how its job has ended."""
        async with (
            httpx.AsyncClient(headers=self._headers, timeout=TIMEOUT) as http,
            asyncio.TaskGroup() as group,
        ):
            for job in jobs:
                group.create_task(self._follow(http, job))

    async def _follow(self, http: httpx.AsyncClient, job: Job) -> None:
        await asyncio.sleep(job.at_s)
        match job.kind:
            case "chat":
                await self._chat(http, job)
            case "background":
                await self._background(http, job)
            case _:
                await self._rest(http, job)
        self.heard.ended.add(job.name)

    async def _chat(self, http: httpx.AsyncClient, job: Job) -> None:
        body = {
            "model": "conductor-ultra",
            "messages": [{"role": "user", "content": job.prompt}],
        }
        answer = await self._until_taken(
            http, "POST", "/v1/chat/completions", body, key=job.name
        )
        run_id = uuid.UUID(answer.headers["x-conductor-run-id"])
        self.heard.accept(run_id, is_answered=answer.is_success)

    async def _background(self, http: httpx.AsyncClient, job: Job) -> None:
        body = {"model": "conductor-ultra", "input": job.prompt, "background": True}
        answer = await self._until_taken(
            http, "POST", "/v1/responses", body, key=job.name
        )
        name = answer.json()["id"]
        run_id = uuid.UUID(name.removeprefix("resp_"))
        self.heard.accept(run_id)
        while (status := answer.json()["status"]) in {"queued", "in_progress"}:
            await asyncio.sleep(POLL_S)
            answer = await self._until_taken(http, "GET", f"/v1/responses/{name}")
        self.heard.accept(run_id, is_answered=status == "completed")

    async def _rest(self, http: httpx.AsyncClient, job: Job) -> None:
        body = {"model": "conductor-ultra", "prompt": job.prompt}
        begun = await self._until_known(http, "/api/v1/runs/", body)
        if begun is None:
            return  # it may have begun or not: the database knows, the client does not
        run_id = uuid.UUID(begun.json()["id"])
        self.heard.accept(run_id)
        if job.kind == CANCELLED:
            path = f"/api/v1/runs/{run_id}/cancel/"
            await self._until_taken(http, "POST", path, {})
        state = "running"
        while state == "running":
            await asyncio.sleep(POLL_S)
            told = await self._until_taken(http, "GET", f"/api/v1/runs/{run_id}/")
            state = told.json()["state"]
        self.heard.accept(run_id, is_answered=state == "completed")

    # --- asking ----------------------------------------------------------------------

    async def _until_taken(
        self,
        http: httpx.AsyncClient,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str = "",
    ) -> httpx.Response:
        """Ask one process after another until one has an answer."""
        headers = {"Idempotency-Key": key} if key else {}
        tries = 0
        while True:
            answer = await self._ask(http, method, path, body, headers)
            if answer is not None and answer.status_code not in {429, 500, 503}:
                assert answer.is_success or answer.status_code == 502, answer.text
                return answer
            tries += 1
            await asyncio.sleep(self._pause_s(answer, tries))

    async def _until_known(
        self, http: httpx.AsyncClient, path: str, body: Any
    ) -> httpx.Response | None:
        """Ask until it is taken; None: once, without ever hearing what came of it."""
        tries = 0
        while True:
            answer = await self._ask(http, "POST", path, body, {})
            if answer is None or answer.status_code == 500:
                return None
            if answer.status_code not in {429, 503}:
                assert answer.is_success, answer.text
                return answer
            tries += 1
            await asyncio.sleep(self._pause_s(answer, tries))

    async def _ask(
        self,
        http: httpx.AsyncClient,
        method: str,
        path: str,
        body: Any,
        headers: dict[str, str],
    ) -> httpx.Response | None:
        url = self._chance.choice(self._urls)
        heard = self.heard
        try:
            answer = await http.request(
                method, f"{url}{path}", json=body, headers=headers
            )
        except httpx.TransportError as exc:
            heard.statuses[0] += 1
            heard.note(url, path, headers, repr(exc))
            return None
        heard.statuses[answer.status_code] += 1
        heard.note(url, path, headers, f"{answer.status_code} {answer.text[:200]}")
        if answer.status_code == 500 or (
            answer.status_code == 503 and "retry-after" not in answer.headers
        ):
            heard.unkind[f"{answer.status_code} {path.split('?')[0][:20]}"] += 1
        return answer

    def _pause_s(self, answer: httpx.Response | None, tries: int) -> float:
        longest = min(MAX_WAIT_S, 0.1 * 2**tries)
        if answer is not None and "retry-after" in answer.headers:
            longest = float(answer.headers["retry-after"])
        return self._chance.uniform(longest / 2, longest)
