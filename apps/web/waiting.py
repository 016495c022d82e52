"""Views that need something slow, and hold no thread while it takes its time.

A view runs in one of a fixed number of threads. What waits for a provider is a
coroutine instead: the view names it and ends, the process's event loop runs it, and the
view runs once more, from its first line, with the outcome. So access is checked again.

Guarantees: the work runs once for a request. Outside of the site's own server, where no
event loop is there to run it, the view waits for it in its thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import IO, Any, TypeVar, cast

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, Any]]
SCOPE = "conductor.wait"
"""Where a request's scope keeps its `Wait`."""


class Wait:
    """What a request waits for, across the runs of its view."""

    def __init__(self) -> None:
        self.outcome: asyncio.Future[Any] | None = None
        """Set, and done, once the work is done."""
        self.kept: dict[str, Any] = {}


class Suspended(Exception):  # no error: it ends the first run of a view
    """A view has to wait; it runs again when `work` is done."""

    def __init__(self, work: Work) -> None:
        super().__init__("the view waits")
        self.work = work


class SuspendedResponse(HttpResponse):
    """Stands for a response that is not there yet. It is never sent."""

    def __init__(self, work: Work) -> None:
        super().__init__(status=202)  # 5xx would be logged as an error
        self.work = work
        self.request_body: IO[bytes]
        """What the next run of the view reads. The server sets it."""


def wait_for(request: HttpRequest, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return what `work` returns; raise what it raises.

    What a view does before this call it does twice, so it must change nothing. One call
    for each request. Raises: Suspended, which views let through.
    """
    wait = _wait_of(request)
    if wait is None:
        return async_to_sync(_done)(work)
    if wait.outcome is None:
        raise Suspended(work)
    outcome: T = wait.outcome.result()
    return outcome


def respond_after(
    request: HttpRequest, response: HttpResponse, work: Work
) -> HttpResponse:
    """Return the response, to be sent when `work` is done, whatever came of it."""
    if _wait_of(request) is None:
        async_to_sync(_done)(work)
    else:
        cast(Any, response).work = work
    return response


def once(request: HttpRequest, name: str, make: Callable[[], T]) -> T:
    """Return what `make` returned in the first run of the request's view."""
    wait = _wait_of(request)
    if wait is None:
        return make()
    if name not in wait.kept:
        wait.kept[name] = make()
    return cast(T, wait.kept[name])


async def _done(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await work()


def _wait_of(request: HttpRequest) -> Wait | None:
    return cast(Wait | None, getattr(request, "scope", {}).get(SCOPE))
