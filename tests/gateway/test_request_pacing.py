"""Who begins while streams are live: one by one, and nobody waits for long."""

from __future__ import annotations

import asyncio
from itertools import count, pairwise

import pytest

from apps.gateway.request_pacing import BUSY_S, MOMENT_S, PATIENCE_S, AdmissionQueue

CROWD = 5


class Crowd:
    """Some who want to go in, seen at each turn of the event loop."""

    def __init__(
        self, admission_queue: AdmissionQueue, teams: str = "f" * CROWD
    ) -> None:
        self.entered: list[int] = []
        self.tasks = [
            asyncio.ensure_future(self._enter(admission_queue, number, team))
            for number, team in enumerate(teams)
        ]

    async def _enter(
        self, admission_queue: AdmissionQueue, number: int, team: str
    ) -> None:
        await admission_queue.enter(team)
        self.entered.append(number)

    async def turns(self) -> list[int]:
        """Return how many are in after each turn, until all tasks have ended."""
        seen = []
        while not all(task.done() for task in self.tasks):
            await asyncio.sleep(0)
            seen.append(len(self.entered))
        return seen


class Clock:
    def __init__(self) -> None:
        self.now = 1.0

    def __call__(self) -> float:
        return self.now


def turnstile_of(turn_s: float) -> AdmissionQueue:
    """Return one with streams, on a clock that moves with each look at it."""
    ticks = count()
    return AdmissionQueue(lambda: True, lambda: next(ticks) * turn_s)


async def test_nobody_waits_while_nothing_is_streamed() -> None:
    crowd = Crowd(AdmissionQueue(lambda: False))
    assert await crowd.turns() == [CROWD]


async def test_they_go_in_one_by_one_and_in_order() -> None:
    crowd = Crowd(turnstile_of(0.0))
    seen = await crowd.turns()
    assert crowd.entered == [0, 1, 2, 3, 4]
    assert all(b - a <= 1 for a, b in pairwise(seen))


async def test_a_busy_loop_keeps_them_waiting_until_their_patience_ends() -> None:
    turn_s = 2 * BUSY_S
    crowd = Crowd(turnstile_of(turn_s))
    waited = (await crowd.turns()).index(2)
    assert waited * turn_s == pytest.approx(PATIENCE_S, abs=CROWD * turn_s)


async def test_who_gives_up_holds_nobody_up() -> None:
    crowd = Crowd(turnstile_of(0.0))
    await asyncio.sleep(0)
    crowd.tasks[1].cancel()
    crowd.tasks[3].cancel()
    await crowd.turns()
    assert crowd.entered == [0, 2, 4]


async def test_the_next_crowd_is_let_in_too() -> None:
    admission_queue = turnstile_of(0.0)
    for _ in range(2):
        crowd = Crowd(admission_queue)
        await crowd.turns()
        assert len(crowd.entered) == CROWD


async def test_another_team_that_has_begun_nothing_for_a_moment_goes_in_at_once():
    """T2: it would wait because of what the first one streams."""
    crowd = Crowd(turnstile_of(2 * BUSY_S), "ffffc")
    await asyncio.sleep(0)
    assert crowd.entered == [0, 4]
    await crowd.turns()
    assert crowd.entered == [0, 4, 1, 2, 3]


async def test_teams_take_turns():
    crowd = Crowd(turnstile_of(0.0), "ffffccc")
    await crowd.turns()
    assert crowd.entered == [0, 4, 1, 5, 2, 6, 3]


async def test_a_moment_is_over_for_the_team_that_let_it_pass():
    clock = Clock()
    admission_queue = AdmissionQueue(lambda: True, clock)
    await Crowd(admission_queue, "c").turns()
    clock.now += MOMENT_S
    crowd = Crowd(admission_queue, "c")
    await asyncio.sleep(0)
    assert crowd.entered == [0]
