"""`/ws/runs/<id>/?after=<seq>`: a run's entries, first replayed, then live.

Every entry of the run with a higher place in the chain than `after` comes exactly once
and in order. Text on its way comes as pieces with offsets. Frames: `event`, `pieces`,
`caught_up`, `end`; see docs/live.md.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import parse_qs

from channels.db import database_sync_to_async

from apps.accounts.principal import Principal, member_principal
from apps.accounts.rights import READ_RUNS
from apps.accounts.selectors import membership_list
from apps.core.errors import NotAllowed, NotFound
from apps.core.request_context import request_context, request_id_of
from apps.core.requesters import set_team
from apps.runs.execution.executor import get_executor
from apps.runs.live.run_feed import Subscriber
from apps.runs.live.watchers import NO_SUCH_RUN, SocketOwner
from apps.runs.models import Run
from apps.runs.selectors import access_run

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
FoundT = TypeVar("FoundT")
NOT_SIGNED_IN = 4401
MAX_SEQ = 2**63 - 1
"""The largest number the database knows; nothing comes after it."""


async def watch_run(scope: Any, receive: Receive, send: Send) -> None:
    """Serve one watcher of one run; however it ends, nothing goes on behind it."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})
    user, run_id = scope["user"], scope["url_route"]["kwargs"]["run_id"]
    if not user.is_authenticated:
        await send({"type": "websocket.close", "code": NOT_SIGNED_IN})
        return
    try:
        run, principal = await _access(scope, run_id)
    except (NotFound, NotAllowed):
        await send({"type": "websocket.close", "code": NO_SUCH_RUN})
        return
    broadcaster = get_executor().broadcaster
    owner = SocketOwner(user.pk, scope["session"].session_key or "", principal.team_id)
    subscriber = broadcaster.enter(run, owner, _after(scope["query_string"]))
    try:
        close_code = await while_connected(_tell(subscriber, send), receive)
    finally:
        broadcaster.leave(subscriber)
    if close_code is not None:
        await send({"type": "websocket.close", "code": close_code})


async def _tell(subscriber: Subscriber, send: Send) -> int:
    """Send what there is for this watcher; return the close code once that is all."""
    feed = subscriber.feed
    while True:
        version = feed.version
        for frame in subscriber.take():
            await send({"type": "websocket.send", "text": frame})
        if subscriber.close_code is not None:
            return subscriber.close_code
        await feed.news(version)


async def while_connected(telling: Awaitable[int], receive: Receive) -> int | None:
    """Return what `telling` returns; None if the client has gone before."""
    work = asyncio.ensure_future(telling)
    leaving = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        is_told = work.done()
        work.cancel()
        leaving.cancel()
    return await work if is_told else None


async def _disconnected(receive: Receive) -> None:
    """Return when the client has gone; what it says meanwhile is of no interest."""
    while (await receive())["type"] != "websocket.disconnect":
        pass


def _context(scope: Any) -> dict[str, str]:
    """Return the id, the address and the user agent of a socket."""
    headers = dict(scope["headers"])
    given = headers.get(b"x-request-id", b"").decode("latin-1")
    agent = headers.get(b"user-agent", b"").decode("latin-1")
    address, _ = scope.get("client") or ("", 0)
    return request_context(request_id_of(given), address, agent)


def _after(query: bytes) -> int:
    values = parse_qs(query.decode("latin-1")).get("after", ["0"])
    with suppress(ValueError):
        return min(max(0, int(values[0])), MAX_SEQ)
    return 0


def found_for_member(
    scope: Any, find: Callable[[uuid.UUID], FoundT]
) -> tuple[FoundT, Principal]:
    """Return what `find` finds in any team of the scope's user, and the member.

    `find` takes the id of a team. For threads. Raises: NotFound, NotAllowed.
    """
    user = scope["user"]
    for membership in membership_list(user):
        set_team(scope, membership.team_id)  # even if there is no such thing
        with suppress(NotFound):
            found = find(membership.team_id)
            principal = member_principal(
                user, membership.team, membership.role, _context(scope)
            )
            principal.require(READ_RUNS)
            return found, principal
    raise NotFound("there is no such thing in your teams")


@database_sync_to_async  # type: ignore[untyped-decorator]
def _access(scope: Any, run_id: uuid.UUID) -> tuple[Run, Principal]:
    """Return a run of any team of the scope's user, and the user as its member.

    Raises: NotFound, NotAllowed.
    """
    return found_for_member(
        scope, lambda team_id: access_run(team_id=team_id, run_id=run_id)
    )
