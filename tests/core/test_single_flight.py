"""Questions that are asked once for all who ask at the same time."""

import asyncio

import pytest

from apps.core.single_flight import SingleFlight


class Library:
    def __init__(self, failure=None):
        self.asked = []
        self.open = asyncio.Event()
        self.failure = failure

    async def ask(self, key):
        self.asked.append(key)
        await self.open.wait()
        if self.failure:
            raise self.failure
        return key * 2


async def waiting(library, *keys):
    flights = SingleFlight(library.ask)
    tasks = [asyncio.create_task(flights.get(key)) for key in keys]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return flights, tasks


async def test_the_same_question_is_asked_once():
    library = Library()
    _, tasks = await waiting(library, "a", "a", "b")
    library.open.set()
    assert await asyncio.gather(*tasks) == ["aa", "aa", "bb"]
    assert sorted(library.asked) == ["a", "b"]


async def test_a_later_question_is_asked_anew():
    library = Library()
    library.open.set()
    flights = SingleFlight(library.ask)
    await flights.get("a")
    await flights.get("a")
    assert library.asked == ["a", "a"]


async def test_a_failure_reaches_everybody():
    library = Library(failure=LookupError("gone"))
    _, tasks = await waiting(library, "a", "a")
    library.open.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(r) for r in results] == ["gone", "gone"]


async def test_who_leaves_takes_nothing_from_the_others():
    library = Library()
    _, (first, second) = await waiting(library, "a", "a")
    first.cancel()
    library.open.set()
    assert await second == "aa"
    with pytest.raises(asyncio.CancelledError):
        await first
