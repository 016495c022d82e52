"""Watchers of one run share a feed; whatever is not signalled costs them no entry.

Time stands still here: no clock makes up for a signal, unless a test says so.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer

from apps.audit.types import Actor, EntryView
from apps.core.redis_outage import redis_outage
from apps.runs.live import run_feed
from apps.runs.live.partial_outputs import piece_frame
from apps.runs.live.run_feed import PIECES, RECORDED, RunFeed, Subscriber, group_name
from apps.runs.live.watchers import SocketOwner
from apps.runs.models import Run
from apps.runs.types import CallKey

PLACE = (0, 0, 1)
TOKENS = 500
NEVER = 3600.0
OWNER = SocketOwner(uuid.uuid4(), "session", uuid.uuid4())


class Ledger:
    """Entries that a test lets appear; the reading of them can be held up."""

    def __init__(self):
        self.entries, self.is_over = [], False
        self.may_be_read = asyncio.Event()
        self.may_be_read.set()

    def add(self, action="step.started"):
        self.entries.append(entry(len(self.entries) + 1, action))

    async def news(self, run, after_seq):
        await self.may_be_read.wait()
        return self.is_over, [e for e in self.entries if e.seq > after_seq]


def entry(seq, action):
    data = dict(zip(("round", "step", "attempt"), PLACE, strict=True))
    about = ("success", "run", uuid.uuid4(), datetime.now(UTC))
    who = Actor("service", "test", "test")
    return EntryView(seq, uuid.uuid4(), action, *about, who, {}, data, {}, "", "")


@dataclass
class Stage:
    """What a scene has to play with."""

    feed: RunFeed
    ledger: Ledger
    layer: InMemoryChannelLayer
    texts: dict[CallKey, list[str]]
    """What the process that executes the run knows of its live text."""

    @property
    def text(self):
        return "".join(self.texts[PLACE])


class Watcher:
    """A seat with somebody on it."""

    def __init__(self, feed, after_seq=0):
        self.subscriber = Subscriber(feed, OWNER, after_seq)
        self.frames = []

    def has_news(self):
        return bool(self.subscriber.feed.drafts.new_for({}))

    def look(self):
        self.frames += map(json.loads, self.subscriber.take())

    @property
    def seqs(self):
        return [f["seq"] for f in self.frames if f["type"] == "event"]

    @property
    def text(self):
        """The text of the one call; a gap or an overlap is a failure."""
        whole = ""
        for frame in self.frames:
            for piece in frame.get("pieces", ()):
                assert piece["offset"] == len(whole)
                whole += piece["text"]
        return whole


@pytest.fixture
def on_stage(monkeypatch):
    """Run a test's coroutine in a feed whose layer holds one signal at a time."""

    def run_in_room(scene, check_s=NEVER):
        monkeypatch.setattr(run_feed, "CHECK_S", check_s)

        async def play():
            ledger = Ledger()
            texts: dict[CallKey, list[str]] = {PLACE: []}
            layer = InMemoryChannelLayer(capacity=1)
            monkeypatch.setattr(run_feed, "_news", ledger.news)
            monkeypatch.setattr(run_feed, "get_channel_layer", lambda: layer)
            feed = RunFeed(Run(id=uuid.uuid4()), lambda: texts)
            task = feed.open()
            await until(feed, lambda: feed.is_read)
            await scene(Stage(feed, ledger, layer, texts))
            task.cancel()
            await asyncio.wait([task])

        async_to_sync(play)()

    return run_in_room


async def until(feed, is_so):
    """Return once it is so, looking whenever something has changed."""
    async with asyncio.timeout(10):
        while not is_so():
            await feed.news(feed.version)


async def write(stage, count):
    """Send `count` tokens, faster than anybody can listen: the layer drops most."""
    group = group_name(stage.feed.run.id)
    for _ in range(count):
        offset = len(stage.text)
        text = f"{offset} "
        stage.texts[PLACE].append(text)
        piece = piece_frame(PLACE, offset, text)
        await stage.layer.group_send(group, {"type": PIECES, "pieces": [piece]})


async def ring(stage):
    group = group_name(stage.feed.run.id)
    await stage.layer.group_send(group, {"type": RECORDED})


def test_entries_whose_signals_were_dropped_come_with_the_next_signal(on_stage):
    async def scene(stage):
        watcher = Watcher(stage.feed)
        for _ in range(TOKENS):
            stage.ledger.add()
        await ring(stage)
        await until(stage.feed, lambda: stage.feed.frames)
        watcher.look()
        assert watcher.seqs == list(range(1, TOKENS + 1))

    on_stage(scene)


def test_text_whose_signals_were_dropped_is_made_up_for(on_stage):
    async def scene(stage):
        watcher = Watcher(stage.feed)
        groups = stage.layer.groups
        stage.layer.groups = {}  # nothing gets through
        await write(stage, TOKENS)
        watcher.look()
        assert watcher.text == ""
        stage.layer.groups = groups
        await write(stage, 1)
        await until(stage.feed, watcher.has_news)
        watcher.look()
        assert watcher.text == stage.text

    on_stage(scene)


def test_a_room_that_is_held_up_by_the_ledger_loses_nothing(on_stage):
    async def scene(stage):
        watcher = Watcher(stage.feed)
        stage.ledger.may_be_read.clear()
        await ring(stage)
        for _ in range(TOKENS):
            stage.ledger.add()
        await write(stage, TOKENS)  # into a feed that waits for the ledger
        stage.ledger.may_be_read.set()
        await until(stage.feed, lambda: stage.feed.frames)
        await write(stage, 1)
        await until(stage.feed, lambda: watcher.look() or watcher.text == stage.text)
        assert watcher.seqs == list(range(1, TOKENS + 1))

    on_stage(scene)


def test_a_signal_lost_for_good_is_made_up_for_by_the_clock(on_stage):
    async def scene(stage):
        watcher = Watcher(stage.feed)
        stage.ledger.add()
        stage.ledger.is_over = True
        await until(stage.feed, lambda: stage.feed.is_over)
        watcher.look()
        assert watcher.seqs == [1] and watcher.frames[-1] == {"type": "end"}

    on_stage(scene, check_s=0.001)


def test_a_feed_ends_as_always_where_its_layer_cannot_be_left(on_stage, monkeypatch):
    async def refused(group, channel):
        raise RuntimeError("read() called while another coroutine is already waiting")

    feeds = []

    async def scene(stage):
        feeds.append(stage.feed)
        monkeypatch.setattr(stage.layer, "group_discard", refused)

    on_stage(scene)
    redis_outage.end()
    assert [feed.close_code for feed in feeds] == [run_feed.RESTART]


def test_slow_watcher_gets_at_once_what_others_got_in_many_frames(on_stage):
    async def scene(stage):
        quick, slow = Watcher(stage.feed), Watcher(stage.feed)
        for each in (quick, slow):
            each.look()
        for _ in range(5):
            stage.ledger.add()
            await ring(stage)
            await write(stage, 1)
            await until(stage.feed, lambda: quick.look() or quick.text == stage.text)
        slow.look()
        assert quick.seqs == slow.seqs == [1, 2, 3, 4, 5]
        assert quick.text == slow.text
        assert [f["type"] for f in slow.frames].count("pieces") == 1

    on_stage(scene)


def test_watchers_in_step_get_the_very_same_frame(on_stage):
    async def scene(stage):
        watchers = [Watcher(stage.feed) for _ in range(3)]
        for each in watchers:
            each.look()
        await write(stage, 1)
        await until(stage.feed, watchers[0].has_news)
        (first,), *others = [list(each.subscriber.take()) for each in watchers]
        assert all(frame is first for (frame,) in others)

    on_stage(scene)


def test_text_on_record_is_not_sent_as_pieces(on_stage):
    async def scene(stage):
        await write(stage, 1)
        stage.ledger.add("step.completed")
        await ring(stage)
        await until(stage.feed, lambda: stage.feed.frames)
        early, late = Watcher(stage.feed), Watcher(stage.feed)
        early.look()
        version = stage.feed.version
        await write(stage, 1)  # came later than its entry
        await stage.feed.news(version)
        for each in (early, late):
            each.look()
            assert (each.seqs, each.text) == ([1], "")

    on_stage(scene)
