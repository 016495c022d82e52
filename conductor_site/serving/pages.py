"""Django's requests, each in one thread from the first middleware to the answer.

Django's own handler starts a thread for each request and, as soon as one middleware is
synchronous, goes back and forth between it and the event loop. Here views and all
middleware are synchronous, so a request goes to a thread of a fixed number and comes
back: half the processor time of a short answer, and of what the event loop loses to it.
What a view waits for runs on the event loop meanwhile (`apps/web/waiting.py`).
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import django
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.urls import set_script_prefix

from apps.core.errors import ConductorError, PayloadTooLarge
from apps.web.body_limits import body_limit
from apps.web.waiting import SCOPE, SuspendedResponse, Wait, Work
from conductor_site.serving.request_turns import KnownTeams, Turns

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Answer = Callable[[HttpRequest], HttpResponse]

logger = logging.getLogger(__name__)
TELL_S = 1.0
"""Longest wait for a client to take the news that this process stops."""
PAGE_PATIENCE_S = 0.1
"""Pages are made one after the other, by turns of the teams. If one takes longer than
this, because it waits for something, the next one begins."""
THREADS = 32
"""Pages at work at once. More wait for their turn."""
READERS = 4
"""Reads of the REST API at work at once at most. They are short, wait for nothing but
the database and take turns: all but one of them are those that turned out long."""
REST = "/api/"


class PageHandler(ASGIHandler):
    """Serves Django's pages over ASGI from threads that stay."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="page")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="read")
        self._page_turns = Turns(PAGE_PATIENCE_S, most=THREADS)
        self._read_turns = Turns(most=READERS)
        self.known_teams = KnownTeams()

    def load_middleware(self, is_async: bool = False) -> None:
        """Load it for threads, whatever the base class wants."""
        super().load_middleware(is_async=False)

    async def handle(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request. Its thread finishes even if the client has gone."""
        from apps.web import middleware  # once Django is set up

        try:
            body = await _read_body(scope, receive)
        except RequestAborted:
            return
        except PayloadTooLarge:
            await self._tell(middleware.answer_too_large, scope, send)
            return
        try:
            response = await self._answer_in_the_end(scope, body)
        except asyncio.CancelledError:  # the process stops before the thread is done
            await self._tell(middleware.answer_stopping, scope, send)
            raise
        if not response.streaming:
            await self.send_response(response, send)
            return
        async with ThreadSensitiveContext():
            try:
                await self.send_response(response, send)
            finally:
                await asyncio.get_running_loop().run_in_executor(
                    self._threads, response.close
                )

    async def _answer_in_the_end(self, scope: Any, body: IO[bytes]) -> Any:
        """Return a view's response. What the view waits for runs on this loop."""
        wait = Wait()
        scope = {**scope, SCOPE: wait}
        while True:
            response = await self._answer(scope, body)
            work = getattr(response, "work", None)
            if work is None:
                return response
            outcome = await _done(work)
            if not isinstance(response, SuspendedResponse):
                _log_failure(outcome)
                return response
            wait.outcome = outcome
            body = response.request_body
            body.seek(0)

    async def _answer(self, scope: Any, body: IO[bytes]) -> Any:
        is_read = _is_read(scope)
        turns = self._read_turns if is_read else self._page_turns
        threads = self._readers if is_read else self._threads
        requester = self.known_teams.requester_of(scope)
        async with turns.one(requester.key):
            response = await self._in_thread(threads, scope, body)
        requester.team_id = getattr(response, "team_id", None)
        self.known_teams.learn(requester)
        return response

    def _in_thread(
        self, threads: ThreadPoolExecutor, scope: Any, body: IO[bytes]
    ) -> asyncio.Future[Any]:
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        return loop.run_in_executor(threads, context.run, self._respond, scope, body)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one connection; without the thread that the base class gives each."""
        if scope["type"] != "http":
            raise ValueError(f"pages are served over HTTP, not {scope['type']!r}")
        await self.handle(scope, receive, send)

    async def _tell(self, answer: Answer, scope: Any, send: Send) -> None:
        """Answer in place of a view."""
        request = ASGIRequest(scope, io.BytesIO())
        # A client that takes nothing must not keep the process from stopping.
        with suppress(TimeoutError):
            async with asyncio.timeout(TELL_S):
                await self.send_response(answer(request), send)

    def _respond(self, scope: Any, body: IO[bytes]) -> Any:
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        response: Any
        request, response = self.create_request(scope, body)
        if request is None:
            response._resource_closers.append(body.close)
        else:
            response = self.get_response(request)
            response._handler_class = self.__class__
            response.team_id = getattr(request, "principal_team_id", None)
        if request is not None and isinstance(response, SuspendedResponse):
            # Its request is not over: the view's next run reads the body again. Django
            # closes the file after reading all of it at once, as it does for a form.
            response.request_body = io.BytesIO(request.body) if body.closed else body
            signals.request_finished.send(sender=self.__class__)
        elif not response.streaming:
            response.close()  # ends the request; what was rendered stays
        return response


async def _done(work: Work) -> asyncio.Future[Any]:
    """Return the future of some work, done, whatever came of it."""
    outcome = asyncio.ensure_future(_apart(work))
    try:
        await asyncio.wait([outcome])
    finally:
        outcome.cancel()  # changes nothing unless this request is being cancelled
    return outcome


async def _apart(work: Work) -> Any:
    """Do some work; its queries have a thread and a connection of their own."""
    async with ThreadSensitiveContext():
        try:
            return await work()
        finally:
            await sync_to_async(connections.close_all)()


def _log_failure(outcome: asyncio.Future[Any]) -> None:
    """Log what went wrong after a response was made, unless it was meant to."""
    failure = None if outcome.cancelled() else outcome.exception()
    if failure is not None and not isinstance(failure, ConductorError):
        logger.error("work after a view failed", exc_info=failure)


async def _read_body(scope: Any, receive: Receive) -> IO[bytes]:
    """Return a request's body, from its beginning.

    Raises: PayloadTooLarge as soon as more is announced, or there, than a form may
    hold; RequestAborted.
    """
    limit, size, has_more = body_limit(scope["path"]), 0, True
    declared = dict(scope["headers"]).get(b"content-length", b"")
    if declared.isdigit() and int(declared) > limit:
        raise PayloadTooLarge("declared")
    in_memory = settings.FILE_UPLOAD_MAX_MEMORY_SIZE
    with ExitStack() as if_it_fails:
        body = if_it_fails.enter_context(SpooledTemporaryFile(max_size=in_memory))
        while has_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestAborted
            size += body.write(message.get("body", b""))
            if size > limit:
                raise PayloadTooLarge("there")
            has_more = message.get("more_body", False)
        if_it_fails.pop_all()
    body.seek(0)
    return body


def _is_read(scope: Any) -> bool:
    path: str = scope["path"]
    return scope["method"] == "GET" and path.startswith(REST)


def get_page_application() -> PageHandler:
    """Set Django up and return its part of the site."""
    django.setup(set_prefix=False)
    return PageHandler()
