"""`/ws/runs/<id>/?after=<seq>`: a run's entries, first replayed, then live.

Every entry of the run with a higher place in the chain than `after` comes exactly once
and in order. Text on its way comes as pieces with offsets. Frames: `event`, `pieces`,
`caught_up`, `end`; see docs/live.md.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import suppress
from itertools import count
from typing import Any
from urllib.parse import parse_qs

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError
from redis.exceptions import RedisError

from apps.accounts.models import Membership
from apps.accounts.selectors import team_list
from apps.audit.types import EntryView
from apps.core.errors import NotFound
from apps.core.redis_outage import redis_outage
from apps.runs.broadcast import group_name, piece_frame
from apps.runs.executor import get_executor
from apps.runs.models import Run
from apps.runs.selectors import access_run, run_entries

logger = logging.getLogger(__name__)
NOT_SIGNED_IN = 4401
NO_SUCH_RUN = 4404
NORMAL = 1000
CHECK_S = 5.0
"""A doorbell that got lost is made up for within this time."""
RECHECK_TICKS = 6
"""Every so many checks a watcher's membership is looked up again: whoever left the team
hears nothing from half a minute later on."""
LONELY = "lonely"
"""The channel layer of sockets that open while Redis is away: nobody rings there, and
they read by the clock."""
MAX_SEQ = 2**63 - 1
"""The largest number the database knows; nothing comes after it."""
KEPT_BACK = frozenset({"messages"})
"""Bodies that pages fetch when somebody wants to read them."""


class RunConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One watcher of one run."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one socket; however it ends, nothing goes on behind it."""
        self._is_connected = self._is_watching = False
        self._ticker: asyncio.Task[None] | None = None
        if redis_outage.is_on:
            self.channel_layer_alias = LONELY
        try:
            await super().__call__(scope, receive, send)
        except RedisError as exc:
            redis_outage.begin(exc)
            if self._is_connected:
                raise
            await self(scope, receive, send)
        finally:
            await self._leave()

    async def connect(self) -> None:
        """Check who is asking, then replay."""
        self._is_connected = True
        self._sent_seq = _after(self.scope["query_string"])
        self._sent_text: dict[tuple[int, int | None, int], int] = {}
        self._reading = asyncio.Lock()
        self._run_id: uuid.UUID = self.scope["url_route"]["kwargs"]["run_id"]
        self._is_ended = False
        await self.accept()
        user = self.scope["user"]
        if not user.is_authenticated:
            await self.close(NOT_SIGNED_IN)
            return
        try:
            self._run = await _access(user, self._run_id)
        except NotFound:
            await self.close(NO_SUCH_RUN)
            return
        await self._watch()
        if await self._read():
            return
        await self._send_frame({"type": "caught_up", "seq": self._sent_seq})
        await self._send_drafts()

    async def run_recorded(self, message: dict[str, Any]) -> None:
        """Send what has been recorded since."""
        await self._read()

    async def run_pieces(self, message: dict[str, Any]) -> None:
        """Pass on text, without what this watcher has had already."""
        pieces = [new for piece in message["pieces"] if (new := self._unseen(piece))]
        if pieces:
            await self._send_frame({"type": "pieces", "pieces": pieces})

    async def _watch(self) -> None:
        # First the doorbell, then the ledger: nothing falls between them. Without Redis
        # nobody rings, and the ledger is read by the clock.
        group = group_name(self._run_id)
        joining = self.channel_layer.group_add(group, self.channel_name)
        await redis_outage.tolerate(joining)
        get_executor().broadcaster.watch(self._run_id)
        self._is_watching = True
        self._ticker = asyncio.create_task(self._check_now_and_then())

    async def _leave(self) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
        if self._is_watching:
            self._is_watching = False
            get_executor().broadcaster.unwatch(self._run_id)
            group = group_name(self._run_id)
            leaving = self.channel_layer.group_discard(group, self.channel_name)
            await redis_outage.tolerate(leaving)

    async def _check_now_and_then(self) -> None:
        for tick in count(1):
            await asyncio.sleep(CHECK_S)
            try:
                if tick % RECHECK_TICKS == 0 and not await self._may_still_read():
                    return
                await self._read()
            except DatabaseError as exc:
                logger.warning("run %s: not read this time: %s", self._run_id, exc)

    async def _may_still_read(self) -> bool:
        """Close the socket of somebody who is no longer a member."""
        if await _is_member(self.scope["user"].pk, self._run.team_id):
            return True
        await self.close(NO_SUCH_RUN)
        return False

    async def _read(self) -> bool:
        """Send new entries; return True if the run is over and the socket closed."""
        async with self._reading:
            if self._is_ended:
                return True
            is_over, entries = await _news(self._run, self._sent_seq)
            for entry in entries:
                self._sent_seq = entry.seq
                await self._send_frame(event_frame(entry))
            if is_over:
                self._is_ended = True
                await self._send_frame({"type": "end"})
                await self.close(NORMAL)
        return self._is_ended

    async def _send_drafts(self) -> None:
        execution = get_executor().find(self._run_id)
        if execution is None:
            return
        drafts = [
            piece_frame(place, 0, "".join(texts))
            for place, texts in execution.drafts.items()
        ]
        await self.run_pieces({"pieces": drafts})

    def _unseen(self, piece: dict[str, Any]) -> dict[str, Any] | None:
        place = (piece["round"], piece["step"], piece["attempt"])
        seen = self._sent_text.get(place, 0)
        end = piece["offset"] + len(piece["text"])
        if piece["offset"] < seen:
            piece = {**piece, "offset": seen, "text": piece["text"][seen - end :]}
            if end <= seen:
                return None
        self._sent_text[place] = max(seen, end)
        return piece if piece["text"] or piece["reasoning"] else None

    async def _send_frame(self, frame: dict[str, Any]) -> None:
        await self.send(text_data=orjson.dumps(frame).decode())


def event_frame(entry: EntryView) -> dict[str, Any]:
    """Return an entry as the websocket sends it."""
    return {
        "type": "event",
        "seq": entry.seq,
        "action": entry.action,
        "at": entry.recorded_at.isoformat().replace("+00:00", "Z"),
        "data": entry.data,
        "bodies": {k: v for k, v in entry.bodies.items() if k not in KEPT_BACK},
    }


def _after(query: bytes) -> int:
    values = parse_qs(query.decode("latin-1")).get("after", ["0"])
    with suppress(ValueError):
        return min(max(0, int(values[0])), MAX_SEQ)
    return 0


@database_sync_to_async  # type: ignore[untyped-decorator]
def _access(user: Any, run_id: uuid.UUID) -> Run:
    """Return a run of any team of the user. Raises: NotFound."""
    for team in team_list(user):
        with suppress(NotFound):
            return access_run(team_id=team.id, run_id=run_id)
    raise NotFound(f"there is no run {str(run_id)!r} in your teams")


@database_sync_to_async  # type: ignore[untyped-decorator]
def _is_member(user_id: uuid.UUID, team_id: uuid.UUID) -> bool:
    members = Membership.objects.for_team(team_id)
    return members.filter(user_id=user_id, user__is_active=True).exists()


@database_sync_to_async  # type: ignore[untyped-decorator]
def _news(run: Run, after_seq: int) -> tuple[bool, list[EntryView]]:
    """Return whether the run is over, and its next entries."""
    # In this order: of a run that is over, no entry can come after the reading.
    is_over = access_run(team_id=run.team_id, run_id=run.id).is_over
    return is_over, run_entries(run, after_seq=after_seq)
