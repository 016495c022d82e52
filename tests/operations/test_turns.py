"""Work that takes turns: in order, one at a time, and never behind a long one."""

from __future__ import annotations

import asyncio

import pytest

from conductor_site.turns import Turns

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
    """T2: who asks for many keeps another waiting for one of them."""
    turns = Turns(FOREVER_S)
    flood = [Work(turns, "flood") for _ in range(5)]
    await settle()
    other = [Work(turns, "other") for _ in range(2)]
    await settle()
    expected = [flood[0], flood[1], other[0], flood[2], other[1], flood[3], flood[4]]
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
    for work, begins in ((flood[0], flood[2]), (flood[1], other), (other, flood[3])):
        assert not begins.has_begun
        work.let_go.set()
        await work.task
        await settle()
        assert begins.has_begun
    for work in flood:
        work.let_go.set()
        await work.task
