"""The process's way in: API, websockets, pages, static files, and its lifespan.

`/v1` goes to the gateway before Django sees it. Opening the process opens the run
executor and takes up interrupted runs; closing it leaves no call half recorded.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
django_application = get_asgi_application()

# These need the app registry that the line above has filled.
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.staticfiles.finders import (  # noqa: E402
    AppDirectoriesFinder,
    FileSystemFinder,
)
from servestatic import ServeStaticASGI  # noqa: E402

from apps.audit.scribe import open_scribe  # noqa: E402
from apps.gateway.app import create_app  # noqa: E402
from apps.runs.executor import close_executor, open_executor  # noqa: E402
from apps.runs.routing import websocket_urlpatterns  # noqa: E402
from apps.runs.services import runs_resume  # noqa: E402
from apps.web.sockets import SecondFactorSockets  # noqa: E402

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

SWITCH_INTERVAL_S = 0.0002
"""How soon a waiting thread gets its turn."""
GC_THRESHOLDS = (10_000, 20, 50)
"""A busy loop makes thousands of short-lived objects a millisecond; at the usual 700
the collector looks at them many times each."""
gateway = create_app()
pages = ServeStaticASGI(django_application, autorefresh=settings.DEBUG)
if settings.IS_PRODUCTION:
    pages.add_files(str(settings.STATIC_ROOT), prefix=settings.STATIC_URL)
else:  # straight from the source folders: no collectstatic on a laptop
    for finder in (FileSystemFinder(), AppDirectoriesFinder()):
        for storage in finder.storages.values():
            pages.add_files(storage.location, prefix=settings.STATIC_URL)
rest = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(SecondFactorSockets(URLRouter(websocket_urlpatterns)))
        ),
    }
)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Route one connection."""
    if scope["type"] == "http" and scope["path"].startswith("/v1"):
        await gateway(scope, receive, send)
    elif scope["type"] == "lifespan":
        await _lifespan(receive, send)
    else:
        await rest(scope, receive, send)


@cache
def _spare_the_collector() -> None:
    """Keep full collections from stopping all streams for tens of milliseconds.

    What has been loaded by now stays for good, so no collection looks at it again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


async def _lifespan(receive: Receive, send: Send) -> None:
    await receive()
    # Django's threads, and the ledger's writer where it is one, share the interpreter
    # with a busy event loop; at the usual 5 ms a full loop starves them.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    _spare_the_collector()
    await open_scribe()
    executor = await open_executor()
    await runs_resume(executor)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await close_executor()
    await send({"type": "lifespan.shutdown.complete"})
