"""The process's way in: API, websockets, pages, static files, and its lifespan.

`/v1` goes to the gateway before Django sees it. Opening the process opens the run
executor and takes up interrupted runs; closing it leaves no call half recorded.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any

from conductor_site.serving.pages import get_page_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
django_application = get_page_application()

# These need the app registry that the line above has filled.
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.staticfiles.finders import (  # noqa: E402
    AppDirectoriesFinder,
    FileSystemFinder,
)
from django.urls import re_path  # noqa: E402
from django.utils.module_loading import import_string  # noqa: E402
from servestatic import ServeStaticASGI  # noqa: E402

from apps.comparisons.routing import (  # noqa: E402
    websocket_urlpatterns as comparison_sockets,
)
from apps.core.background.pacing import open_requests  # noqa: E402
from apps.core.ids import new_id  # noqa: E402
from apps.core.logs import log_context  # noqa: E402
from apps.core.request_metrics import (  # noqa: E402
    count_request,
    count_socket,
    route_class,
)
from apps.core.requesters import REQUESTER  # noqa: E402
from apps.gateway.app import create_app  # noqa: E402
from apps.gateway.batches.driver import BatchDriver  # noqa: E402
from apps.gateway.wrong_paths import is_of_api_client  # noqa: E402
from apps.runs.execution.executor import Executor, close_executor  # noqa: E402
from apps.runs.models import ProcessKind  # noqa: E402
from apps.runs.routing import websocket_urlpatterns as run_sockets  # noqa: E402
from apps.web.websocket_middleware import (  # noqa: E402
    BoundedSockets,
    SecondFactorSockets,
    no_such_socket,
)
from conductor_site import health, metrics  # noqa: E402
from conductor_site.runtime import open_runtime  # noqa: E402
from conductor_site.serving.drain import LOOK_S, drain  # noqa: E402
from conductor_site.serving.request_turns import Entrance, Turns  # noqa: E402
from conductor_site.serving.static_files import (  # noqa: E402
    StaticFilesApplication,
    static_files,
)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
_known_teams = django_application.known_teams
_entrance = Entrance()
_openings = Turns()

batches = BatchDriver()
gateway = create_app(wake_batches=batches.wake)
others_files = ServeStaticASGI(django_application, autorefresh=settings.DEBUG)
if settings.IS_PRODUCTION:
    others_files.add_files(str(settings.STATIC_ROOT), prefix=settings.STATIC_URL)
else:  # straight from the source folders: no collectstatic on a laptop
    for finder in (FileSystemFinder(), AppDirectoriesFinder()):
        for storage in finder.storages.values():
            others_files.add_files(storage.location, prefix=settings.STATIC_URL)
pages = (
    others_files
    if settings.DEBUG
    else StaticFilesApplication(static_files(), others_files)
)
_nowhere: Any = no_such_socket  # Django's `re_path` knows of views alone
sockets = URLRouter([*run_sockets, *comparison_sockets, re_path("", _nowhere)])
rest = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(SecondFactorSockets(BoundedSockets(sockets)))
        ),
    }
)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Route one connection."""
    if drain.has_begun and scope["type"] == "http":
        send = health.closing(send)
    if scope["type"] == "http" and scope["path"].startswith("/v1"):
        await _serve_api(scope, receive, send)
    elif scope["type"] == "http" and scope["path"] in health.PATHS:
        await health.health(scope["path"], send)
    elif scope["type"] == "http" and is_of_api_client(scope["path"]):
        await _serve_api(scope, receive, send)
    elif scope["type"] == "http" and scope["path"] == "*":
        await health.server_options(send)
    elif scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "websocket":
        await _serve_socket(scope, receive, send)
    else:
        await _serve_counted(scope, receive, send)


async def _serve_api(scope: Message, receive: Receive, send: Send) -> None:
    requester = scope[REQUESTER] = _known_teams.requester_of(scope)
    with open_requests.one():
        await _entrance.enter(requester.key)
        try:
            await gateway(scope, receive, send)
        finally:
            _known_teams.learn(requester)


async def _serve_socket(scope: Message, receive: Receive, send: Send) -> None:
    log_context.set({"request_id": new_id().hex})
    requester = scope[REQUESTER] = _known_teams.requester_of(scope)
    count_socket(1)
    try:
        async with AsyncExitStack() as turn:
            # Most of a socket's cost comes before its first message: checks of access.
            # One without a message keeps its turn until it is closed.
            await turn.enter_async_context(_openings.one(requester.key))

            async def send_and_let_others(message: Message) -> None:
                await send(message)
                if message["type"] == "websocket.send":
                    _known_teams.learn(requester)
                    await turn.aclose()

            await rest(scope, receive, send_and_let_others)
    finally:
        _known_teams.learn(requester)
        count_socket(-1)


async def _serve_counted(scope: Message, receive: Receive, send: Send) -> None:
    """Serve anything but `/v1`, which counts its requests itself."""
    log_context.set({"request_id": new_id().hex})
    path, began, status = scope["path"], time.perf_counter(), 0

    async def send_and_see(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)
        await send(message)

    serve = metrics.metrics_application if path == metrics.PATH else rest
    try:
        with open_requests.one():
            await serve(scope, receive, send_and_see)
    finally:
        count_request(route_class(path), status, time.perf_counter() - began)


async def _lifespan(receive: Receive, send: Send) -> None:
    await receive()
    if settings.RUN_WAKER:  # loaded now, not with the first queued run
        import_string(settings.RUN_WAKER)
        import_string(settings.TASK_APP)
    async with AsyncExitStack() as stack:
        runtime = open_runtime(ProcessKind.WEB, _close_in_time)
        executor = await stack.enter_async_context(runtime)
        await executor.lease_keeper.sweep()
        batches.open()
        stack.push_async_callback(batches.close)
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def _close_in_time(executor: Executor) -> None:
    """Let runs end before they are given back, unless a second signal hurries."""
    closing = asyncio.create_task(close_executor(drain_s=drain.rest_s))
    while not (closing.done() or drain.is_hurried):
        await asyncio.wait([closing], timeout=LOOK_S)
    if not closing.done():
        await executor.drop_all()
    await closing
