"""Work that takes turns: in order, one at a time, and never behind a long one."""

from __future__ import annotations

import asyncio
import uuid
from itertools import pairwise
from typing import Any

import pytest

from conductor_site.serving.request_turns import (
    KNOWN_S,
    MAX_KNOWN,
    Entrance,
    KnownTeams,
    Turns,
)

FOREVER_S = 3_600.0


class Work:
    """Something that takes a turn and goes on until it is let go."""

    def __init__(self, turns: Turns, key: str = "") -> None:
        self.has_begun = False
        self.let_go = asyncio.Event()
        self.task = asyncio.create_task(self._do(turns, key))

    async def _do(self, turns: Turns, key: str) -> None:
        async with turns.one(key):
            self.has_begun = True
            await self.let_go.wait()


async def settle() -> None:
    """Let everything happen that needs no time."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_at_a_time_in_order() -> None:
    turns = Turns(FOREVER_S)
    works = [Work(turns) for _ in range(3)]
    for number, work in enumerate(works):
        await settle()
        assert [each.has_begun for each in works] == [n <= number for n in range(3)]
        work.let_go.set()
        await work.task


async def test_a_long_one_keeps_nobody_waiting() -> None:
    turns = Turns(patience_s=0)
    long = Work(turns)
    await settle()
    short = Work(turns)
    await settle()
    assert short.has_begun
    for work in (long, short):
        work.let_go.set()
        await work.task


async def test_a_turn_that_ran_out_is_not_given_back_twice() -> None:
    turns = Turns(patience_s=0)
    long = Work(turns)
    await settle()
    long.let_go.set()
    await long.task
    turns.patience_s = FOREVER_S
    first, second = Work(turns), Work(turns)
    await settle()
    assert (first.has_begun, second.has_begun) == (True, False)
    for work in (first, second):
        work.let_go.set()
        await work.task


@pytest.mark.parametrize("is_waiting", [False, True])
async def test_who_is_cancelled_takes_no_turn_along(*, is_waiting: bool) -> None:
    turns = Turns(FOREVER_S)
    works = [Work(turns) for _ in range(3)]
    await settle()
    works.pop(int(is_waiting)).task.cancel()
    for work in works:
        await settle()
        assert work.has_begun
        work.let_go.set()
        await work.task


async def test_turns_go_round_among_those_who_ask() -> None:
    """T2: who asks for many keeps another waiting for the one that is at work."""
    turns = Turns(FOREVER_S)
    flood = [Work(turns, "flood") for _ in range(5)]
    await settle()
    other = [Work(turns, "other") for _ in range(2)]
    await settle()
    expected = [flood[0], other[0], flood[1], other[1], flood[2], flood[3], flood[4]]
    for number, work in enumerate(expected):
        await settle()
        begun = [each for each in (*flood, *other) if each.has_begun]
        assert set(begun) == set(expected[: number + 1])
        work.let_go.set()
        await work.task


async def test_long_work_is_bounded_and_whoever_waits_is_let_in_by_turns() -> None:
    """T2: otherwise a flood of long work would queue before all others."""
    turns = Turns(patience_s=0, most=2)
    flood = [Work(turns, "flood") for _ in range(4)]
    await settle()
    other = Work(turns, "other")
    await settle()
    assert [each.has_begun for each in flood] == [True, True, False, False]
    for work, begins in ((flood[0], other), (flood[1], flood[2]), (other, flood[3])):
        assert not begins.has_begun
        work.let_go.set()
        await work.task
        await settle()
        assert begins.has_begun
    for work in flood:
        work.let_go.set()
        await work.task


class Coming:
    """Some who want to go in, and how many are in after each turn of the loop."""

    def __init__(self, entrance: Entrance, keys: str) -> None:
        self.entered: list[str] = []
        self.tasks = [asyncio.create_task(self._enter(entrance, key)) for key in keys]

    async def _enter(self, entrance: Entrance, key: str) -> None:
        await entrance.enter(key)
        self.entered.append(key)

    async def turns(self) -> list[int]:
        seen = []
        while not all(task.done() for task in self.tasks):
            await asyncio.sleep(0)
            seen.append(len(self.entered))
        return seen


@pytest.mark.parametrize(
    ("most", "order"), [(1, "fcdfffff"), (3, "fffcdfff"), (8, "ffffffcd")]
)
async def test_a_few_go_in_at_each_turn_of_the_loop_by_turns_of_the_teams(
    most: int, order: str
) -> None:
    """T2: a flood of requests is no reason for a long turn of the loop."""
    coming = Coming(Entrance(most), "ffffffcd")
    seen = [0, *await coming.turns()]
    assert "".join(coming.entered) == order
    assert all(after - before <= most for before, after in pairwise(seen))


async def test_who_comes_alone_goes_in_at_once() -> None:
    entrance = Entrance()
    for _ in range(3):
        entering = entrance.enter("calm")
        with pytest.raises(StopIteration):
            entering.send(None)  # it does not wait, not even for a turn of the loop
        await asyncio.sleep(0)


async def test_who_gives_up_at_the_entrance_holds_nobody_up() -> None:
    entrance = Entrance(most=1)
    coming = Coming(entrance, "ffff")
    await asyncio.sleep(0)
    coming.tasks[1].cancel()
    coming.tasks[3].cancel()
    await coming.turns()
    assert coming.entered == ["f", "f"]
    later = Coming(entrance, "c")
    await later.turns()
    assert later.entered == ["c"]


class Clock:
    def __init__(self) -> None:
        self.now = 1.0

    def __call__(self) -> float:
        return self.now


def connection(
    path: str = "/", address: str = "192.0.2.1", **headers: str
) -> dict[str, Any]:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"path": path, "client": (address, 1), "headers": raw}


def learn(known_teams: KnownTeams, scope: dict[str, Any]) -> uuid.UUID:
    """Let a connection turn out to be of some team, and return it."""
    requester = known_teams.requester_of(scope)
    requester.team_id = uuid.uuid4()
    known_teams.learn(requester)
    return requester.team_id


def test_a_session_counts_for_its_team_once_that_is_known() -> None:
    """T2: pages, sockets and REST alike."""
    known_teams = KnownTeams()
    page = connection(cookie="sessionid=one")
    assert known_teams.requester_of(page).key == "192.0.2.1"
    team_id = learn(known_teams, page)
    for path in ("/runs/", "/ws/runs/1/", "/api/v1/runs/"):
        scope = connection(path, "192.0.2.9", cookie="a=b; sessionid=one")
        assert known_teams.requester_of(scope).key == team_id
    assert (
        known_teams.requester_of(connection(cookie="sessionid=two")).key == "192.0.2.1"
    )


def test_a_key_counts_for_its_team_once_that_is_known() -> None:
    known_teams = KnownTeams()
    for signed in ({"authorization": "Bearer cdk_1"}, {"x-api-key": "cdk_1"}):
        scope = connection("/v1/chat/completions", **signed)
        assert known_teams.requester_of(scope).key == "192.0.2.1"
        assert learn(known_teams, scope) == known_teams.requester_of(scope).key


def test_headers_that_are_not_looked_at_make_no_other_asker() -> None:
    """T2: a flood gets no line for each word it sends along."""
    known_teams = KnownTeams()
    page = connection("/runs/", cookie="sessionid=one")
    team_id = learn(known_teams, page)
    for word in ("Bearer a", "Bearer b"):
        more = connection("/runs/", cookie="sessionid=one", authorization=word)
        assert known_teams.requester_of(more).key == team_id


def test_strangers_of_one_network_share_a_line() -> None:
    known_teams = KnownTeams()
    keys = {
        known_teams.requester_of(
            connection("/v1/models", each, authorization=f"Bearer {n}")
        ).key
        for n, each in enumerate(("2001:db8::1", "2001:db8::2", "2001:db8::3"))
    }
    assert keys == {"2001:db8::/64"}


def test_a_team_is_forgotten_in_time_and_when_too_many_are_known() -> None:
    clock = Clock()
    known_teams = KnownTeams(clock)
    first = connection(cookie="sessionid=first")
    learn(known_teams, first)
    clock.now += KNOWN_S
    assert known_teams.requester_of(first).key == "192.0.2.1"
    learn(known_teams, first)
    for number in range(MAX_KNOWN):
        learn(known_teams, connection(cookie=f"sessionid={number}"))
    assert known_teams.requester_of(first).key == "192.0.2.1"


def test_who_turns_out_to_be_of_no_team_is_not_remembered() -> None:
    known_teams = KnownTeams()
    scope = connection("/v1/models", authorization="Bearer revoked")
    known_teams.learn(known_teams.requester_of(scope))
    assert known_teams.requester_of(scope).key == "192.0.2.1"
