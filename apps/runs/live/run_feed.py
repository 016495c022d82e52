"""State shared by all websockets of this process that watch one run.

A feed hears the run's signals and reads its new entries from the ledger once for all
subscribers; every frame is encoded once. It keeps no queues: each subscriber knows what
it has had and takes what is new when it can. So no subscriber gets an entry twice, and
neither a lost signal nor a slow socket costs one.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import DatabaseError

from apps.audit.types import EntryView
from apps.core.redis_outage import LOST, PATIENCE_S, redis_outage
from apps.engine import events as ev
from apps.runs.live.partial_outputs import Had, PartialOutputs, Wanted, place_of
from apps.runs.live.watchers import SocketOwner
from apps.runs.models import Run
from apps.runs.records.history import run_entries
from apps.runs.types import CallKey

logger = logging.getLogger(__name__)
CHECK_S = 5.0
"""Within this time the feed makes up for a lost signal."""
KEPT_BACK = frozenset({"messages"})
"""Bodies that pages fetch on demand."""
END = '{"type":"end"}'
NORMAL, FAULT, RESTART = 1000, 1011, 1012
"""Close codes. Source: RFC 6455, section 7.4, and the registry it set up."""
ENDS_OF_CALLS = frozenset(each.action for each in ev.CallOutcome.__args__)
RECORDED, PIECES = "run.recorded", "run.pieces"
Message = Mapping[str, Any]
Texts = Mapping[CallKey, Iterable[str]]


def group_name(run_id: uuid.UUID) -> str:
    """Return the channel layer's group for those who watch a run."""
    return f"run.{run_id.hex}"


class RunFeed:
    """One run as this process's sockets see it, while there are any."""

    def __init__(self, run: Run, texts: Callable[[], Texts]) -> None:
        """Watch `run`; `texts` returns what this process knows of its live text."""
        self.run = run
        self.is_read = False
        """The ledger has been read at least once."""
        self.is_over = False
        """The run has ended, and every entry of it is here."""
        self.close_code: int | None = None
        """Set once nothing more will come, although the run may go on."""
        self.subscribers: set[Subscriber] = set()
        self.frames: list[str] = []
        """All entries so far, as the websocket sends them."""
        self.seqs: list[int] = []
        """Their places in the chain."""
        self.drafts = PartialOutputs()
        self._encoded: dict[Wanted, str] = {}
        self._texts = texts
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self.version = 0
        """Grows with every change."""
        self._news = asyncio.Event()

    def open(self) -> asyncio.Task[None]:
        """Begin to listen, and return what goes on until it is cancelled."""
        self.drafts.begin(self._texts())
        task = asyncio.create_task(self._live())
        task.add_done_callback(self._close)
        return task

    async def news(self, after_version: int) -> None:
        """Return as soon as something has changed since a version."""
        if self.version == after_version:
            await self._news.wait()

    def pieces(self, wanted: Wanted) -> str:
        """Return a frame with the text that a watcher has not had."""
        frame = self._encoded.get(wanted)
        if frame is None:
            pieces = self.drafts.pieces(wanted)
            frame = self._encoded[wanted] = encode({"type": "pieces", "pieces": pieces})
        return frame

    def _close(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            self.close_code = RESTART
        else:
            self.close_code = FAULT
            logger.error("run %s: no news", self.run.id, exc_info=task.exception())
        self._tell()

    def _tell(self) -> None:
        self.version += 1
        self._news.set()
        self._news.clear()

    # --- what is signalled -----------------------------------------------------------

    async def _live(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._check_now_and_then())
            group.create_task(self._take_in())

    async def _listen(self) -> None:
        """Receive the run's signals; without Redis, poll by the clock."""
        layer, group = get_channel_layer(), group_name(self.run.id)
        while True:
            if (channel := await _join(layer, group)) is not None:
                try:
                    # First the subscription, then the ledger: no entry falls between.
                    self._inbox.put_nowait({"type": RECORDED})
                    while True:
                        self._inbox.put_nowait(await layer.receive(channel))
                finally:
                    await redis_outage.tolerate(layer.group_discard(group, channel))
            self._inbox.put_nowait({"type": RECORDED})
            await asyncio.sleep(CHECK_S)

    async def _check_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            self._inbox.put_nowait({"type": RECORDED})

    async def _take_in(self) -> None:
        while True:
            message = await self._inbox.get()
            if message["type"] == PIECES:
                self._add(message["pieces"])
                continue
            try:
                await self._read()
            except DatabaseError as exc:
                logger.warning("run %s: not read this time: %s", self.run.id, exc)

    def _add(self, pieces: Iterable[Message]) -> None:
        for piece in pieces:
            if self.drafts.has_gap_before(piece):
                self.drafts.begin(self._texts())
            self.drafts.add(piece)
        self._encoded.clear()
        self._tell()

    async def _read(self) -> None:
        if self.is_over:
            return
        is_over, entries = await _news(self.run, self.seqs[-1] if self.seqs else 0)
        for entry in entries:
            self.seqs.append(entry.seq)
            self.frames.append(encode(event_frame(entry)))
            if entry.action in ENDS_OF_CALLS:
                self.drafts.forget(place_of(entry.data))
        self.is_over, self.is_read = is_over, True
        self._tell()

    def send_away(self, refused: Mapping[SocketOwner, int]) -> None:
        """Close the seats whose owners may no longer watch."""
        for subscriber in self.subscribers:
            subscriber.close_code = refused.get(subscriber.owner, subscriber.close_code)
        self._tell()


class Subscriber:
    """One watcher: what it has had of the run."""

    def __init__(self, feed: RunFeed, owner: SocketOwner, after_seq: int) -> None:
        self.feed = feed
        self.owner = owner
        self.close_code: int | None = None
        """Set once there is nothing more to take."""
        self._after_seq = after_seq
        self._next: int | None = None
        """Which of the feed's entries comes next; None: the replay has not begun."""
        self._had: dict[CallKey, Had] = {}

    def take(self) -> Iterator[str]:
        """Yield the frames that are new for this watcher, up to the last one."""
        feed = self.feed
        self.close_code = self.close_code or feed.close_code
        if self.close_code is not None or not feed.is_read:
            return
        is_first = self._next is None
        if self._next is None:
            self._next = bisect_right(feed.seqs, self._after_seq)
        while self._next < len(feed.frames):
            self._next += 1
            yield feed.frames[self._next - 1]
        if feed.is_over:
            yield END
            self.close_code = NORMAL
            return
        if is_first:
            yield encode({"type": "caught_up", "seq": self._seq})
            self._had = feed.drafts.reasoning_so_far()
        if wanted := feed.drafts.new_for(self._had):
            yield feed.pieces(wanted)

    @property
    def _seq(self) -> int:
        """Return the place in the chain up to which everything has been sent."""
        return self.feed.seqs[self._next - 1] if self._next else self._after_seq


def encode(frame: Mapping[str, Any]) -> str:
    """Return a frame as the websocket sends it."""
    return orjson.dumps(frame).decode()


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


async def _join(layer: Any, group: str) -> str | None:
    """Return a channel on which a group is heard; None while Redis is away."""
    if redis_outage.is_on:
        return None
    try:
        async with asyncio.timeout(PATIENCE_S):
            channel = str(await layer.new_channel())
            await layer.group_add(group, channel)
    except LOST as exc:
        redis_outage.begin(exc)
        return None
    return channel


@database_sync_to_async  # type: ignore[untyped-decorator]
def _news(run: Run, after_seq: int) -> tuple[bool, list[EntryView]]:
    """Return whether the run is over, and its next entries."""
    # In this order: of a run that is over, no entry can come after the reading.
    going_on = Run.objects.for_team(run.team_id).filter(id=run.id, finished_at=None)
    is_over = not going_on.exists()
    return is_over, run_entries(run, after_seq=after_seq)
