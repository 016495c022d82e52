"""Broadcasts live runs to their watchers, through the channel layer.

The channel layer carries notifications that something was recorded, and pieces of text
that are on their way. What it loses is read from the ledger, so while Redis is away
nothing is sent, nor for a run without watchers. Each process has one feed for each run
that is watched through it, see `run_feed.py`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError

from apps.core.redis_outage import PATIENCE_S, redis_outage
from apps.engine.ports import Progress
from apps.runs.live import watchers
from apps.runs.live.partial_outputs import piece_frame
from apps.runs.live.run_feed import (
    PIECES,
    RECORDED,
    RunFeed,
    Subscriber,
    Texts,
    group_name,
)
from apps.runs.live.watchers import SocketOwner
from apps.runs.models import Run
from apps.runs.types import CallKey, LiveRun, Signal

logger = logging.getLogger(__name__)
FRAME_S = 0.05
"""Pieces of text are gathered this long: at most 20 frames a second per run, and one
before each entry, so that a step's text never follows its end."""
CLOSE_S = 2 * PATIENCE_S
"""Longest wait for a layer that hangs."""


@dataclass(slots=True)
class Piece:
    """Text of one call that goes out with the next frame."""

    offset: int
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)


class BroadcastRun(LiveRun, Protocol):
    """A live run, with what its watchers must see."""

    @property
    def drafts(self) -> Texts:
        """Return the text of the calls in flight."""
        ...


class Broadcaster:
    """Sends the signals of this process's runs to their watchers."""

    def __init__(self, find: Callable[[uuid.UUID], BroadcastRun | None]) -> None:
        """Broadcast what `find` finds: the runs that execute in this process."""
        self._find = find
        self._feeds: dict[uuid.UUID, RunFeed] = {}
        self._living: dict[RunFeed, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None
        # With a shared layer the watchers may sit in other processes.
        self._is_shared = bool(settings.REDIS_URL)

    def enter(self, run: Run, owner: SocketOwner, after_seq: int) -> Subscriber:
        """Subscribe to a run, from behind a place in the chain, until `leave`.

        The subscription is closed before that if its owner loses access.
        """
        feed = self._feeds.get(run.id)
        if feed is None or feed.close_code is not None:
            feed = self._feeds[run.id] = RunFeed(run, partial(self._texts, run.id))
            task = self._living[feed] = feed.open()
            self._keep(task)
        subscriber = Subscriber(feed, owner, after_seq)
        feed.subscribers.add(subscriber)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_at_watchers())
            self._keep(self._looking)
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """Let a watcher go; the last one closes the feed."""
        feed = subscriber.feed
        feed.subscribers.discard(subscriber)
        if feed.subscribers:
            return
        self._living.pop(feed).cancel()
        if self._feeds.get(feed.run.id) is feed:
            del self._feeds[feed.run.id]
        if not self._living and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look_at_watchers(self) -> None:
        """Close, again and again, the sockets that may no longer watch."""
        while True:
            await asyncio.sleep(watchers.CHECK_S)
            owners = {
                subscriber.owner
                for feed in self._living
                for subscriber in feed.subscribers
            }
            try:
                refused = await watchers.refusals(tuple(owners))
            except DatabaseError as exc:
                logger.warning("watchers were not looked at this time: %s", exc)
                continue
            if refused:
                for feed in self._living:
                    feed.send_away(refused)

    def _texts(self, run_id: uuid.UUID) -> Texts:
        run = self._find(run_id)
        return {} if run is None else run.drafts

    def attach(self, run: BroadcastRun) -> None:
        """Follow a run."""
        run.listen(_Broadcast(self, run.id).hear)

    def is_watched(self, run_id: uuid.UUID) -> bool:
        """Return True if the run may have watchers."""
        return self._is_shared or self.is_watched_here(run_id)

    def is_watched_here(self, run_id: uuid.UUID) -> bool:
        """Return True if the run has watchers in this process."""
        # Asked for each token, and a UUID's hash is slow.
        return bool(self._feeds) and run_id in self._feeds

    def send(self, run_id: uuid.UUID, message: dict[str, object]) -> None:
        """Send to the run's watchers without waiting."""
        if redis_outage.is_on:
            return
        self._keep(asyncio.create_task(self._send(run_id, message)))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Close all feeds, and wait until everything has been sent."""
        for task in (self._looking, *self._living.values()):
            if task is not None:
                task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_S)

    async def _send(self, run_id: uuid.UUID, message: dict[str, object]) -> None:
        layer = get_channel_layer()
        await redis_outage.tolerate(layer.group_send(group_name(run_id), message))


class _Broadcast:
    """Follows one run and gathers its pieces into frames."""

    def __init__(self, broadcaster: Broadcaster, run_id: uuid.UUID) -> None:
        self._broadcaster = broadcaster
        self._run_id = run_id
        self._lengths: dict[CallKey, int] = {}
        self._pieces: dict[CallKey, Piece] = {}
        self._timer: asyncio.TimerHandle | None = None

    def hear(self, signal: Signal) -> None:
        if isinstance(signal, Progress):
            if signal.text or signal.reasoning:
                self._gather(signal)
            return
        if self._broadcaster.is_watched(self._run_id):
            self._flush()
            self._broadcaster.send(self._run_id, {"type": RECORDED})

    def _gather(self, progress: Progress) -> None:
        place = (progress.round, progress.step, progress.attempt)
        offset = self._lengths.get(place, 0)
        self._lengths[place] = offset + len(progress.text)
        if not self._broadcaster.is_watched(self._run_id):
            return
        piece = self._pieces.setdefault(place, Piece(offset))
        piece.text.append(progress.text)
        piece.reasoning.append(progress.reasoning)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(FRAME_S, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pieces:
            return
        pieces = [
            piece_frame(
                place, piece.offset, "".join(piece.text), "".join(piece.reasoning)
            )
            for place, piece in self._pieces.items()
        ]
        self._pieces.clear()
        self._broadcaster.send(self._run_id, {"type": PIECES, "pieces": pieces})
