"""`/ws/comparisons/<id>/`: the answers of a comparison while they are written.

Frames: `pieces`, as of a run, each with its `column`; `news` when the page of a column
has changed; `caught_up`; `end`. Nothing else is sent, so that nobody who has yet to
vote learns more than the texts: of a blind comparison, `pieces` hold the text of the
answer alone, without names of workers, under one key for every column; it is a little
late, and `news` come when a column ends.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson
from channels.db import database_sync_to_async

from apps.accounts.principal import Principal
from apps.comparisons.hidden_names import NameMask, name_mask
from apps.comparisons.selectors import access_comparison, comparison_view
from apps.comparisons.types import AnswerRun, ComparisonView
from apps.core.errors import NotAllowed, NotFound
from apps.engine.events import PlanAccepted
from apps.runs.consumers import (
    NOT_SIGNED_IN,
    Receive,
    Send,
    found_for_member,
    while_connected,
)
from apps.runs.execution.executor import get_executor
from apps.runs.live.run_feed import NORMAL, Subscriber
from apps.runs.live.watchers import NO_SUCH_RUN, SocketOwner
from apps.runs.models import Run
from apps.runs.selectors import run_view

Frame = dict[str, Any]


async def watch_comparison(scope: Any, receive: Receive, send: Send) -> None:
    """Serve one watcher of one comparison."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})
    user, wanted = scope["user"], scope["url_route"]["kwargs"]["comparison_id"]
    if not user.is_authenticated:
        await send({"type": "websocket.close", "code": NOT_SIGNED_IN})
        return
    try:
        view, mask, principal = await _access(scope, wanted)
    except (NotFound, NotAllowed):
        await send({"type": "websocket.close", "code": NO_SUCH_RUN})
        return
    owner = SocketOwner(user.pk, scope["session"].session_key or "", principal.team_id)
    broadcaster = get_executor().broadcaster
    columns = [
        _Column(broadcaster.enter(each.run, owner, 0), each, mask)
        for each in view.answers
    ]
    try:
        close_code = await while_connected(_send_all(columns, send), receive)
    finally:
        for column in columns:
            broadcaster.leave(column.subscriber)
    if close_code is not None:
        await send({"type": "websocket.close", "code": close_code})


async def _send_all(columns: Sequence[_Column], send: Send) -> int:
    """Send what all columns have; return the close code once that is all."""
    work = [asyncio.create_task(_send_column(each, send)) for each in columns]
    try:
        for done in asyncio.as_completed(work):
            close_code = await done
            if close_code != NORMAL:
                return close_code
    finally:
        for task in work:
            task.cancel()
    await _send(send, {"type": "end"})
    return NORMAL


async def _send_column(column: _Column, send: Send) -> int:
    feed = column.subscriber.feed
    while True:
        version = feed.version
        async for frame in column.frames():
            await _send(send, frame)
        if (close_code := column.subscriber.close_code) is not None:
            return close_code
        await feed.news(version)


async def _send(send: Send, frame: Frame) -> None:
    await send({"type": "websocket.send", "text": orjson.dumps(frame).decode()})


class _Column:
    """One answer, as a watcher hears of it."""

    def __init__(
        self, subscriber: Subscriber, column: AnswerRun, mask: NameMask | None
    ) -> None:
        """Follow a column; `mask` hides names of workers. None: nothing is hidden."""
        self.subscriber = subscriber
        self._run = column.run
        self._column = column.answer.position
        self._blind = None if mask is None else BlindText(mask)
        self._place: tuple[int, int] | None = None
        """Round and step that write the answer. None: not known yet."""

    async def frames(self) -> AsyncIterator[Frame]:
        """Yield what is new, up to the last frame."""
        for text in self.subscriber.take():
            frame = orjson.loads(text)
            if frame["type"] == "event":
                if self._blind is None:
                    yield {"type": "news", "column": self._column}
                elif frame["action"] == PlanAccepted.action:
                    self._place = await _answering_place(self._run)
            elif frame["type"] == "pieces":
                if pieces := self._pieces(frame["pieces"]):
                    yield {"type": "pieces", "pieces": pieces}
            elif frame["type"] == "caught_up":
                yield {"type": "caught_up"}
            else:  # the run has ended
                yield {"type": "news", "column": self._column}

    def _pieces(self, pieces: Sequence[Frame]) -> list[Frame]:
        if self._blind is None:
            return [{**each, "column": self._column} for each in pieces]
        found = [
            self._blind.piece((*self._place, each["attempt"]), each)
            for each in pieces
            if self._place and (each["round"], each["step"]) == self._place
        ]
        return [{**each, "column": self._column} for each in found if each]


class BlindText:
    """The text of an answer as it grows, with nothing that tells who writes it."""

    def __init__(self, mask: NameMask) -> None:
        self._mask = mask
        self._call: tuple[int, ...] = ()
        self._attempt = 0
        """How many calls have begun to write the answer."""
        self._begin()

    def _begin(self) -> None:
        self._kept, self._dropped, self._end = "", 0, 0
        """The end of the text; how much came before it; how much of it is settled."""
        self._sent = 0

    def piece(self, call: tuple[int, ...], piece: Frame) -> Frame | None:
        """Take a piece in; return what can be sent now, if there is something."""
        if call != self._call:
            self._call = call
            self._begin()
            self._attempt += 1
        at = piece["offset"] - self._dropped
        self._kept = self._kept[: max(at, 0)] + piece["text"][max(-at, 0) :]
        fresh, self._end = self._mask.continued(self._kept, self._end)
        self._drop_settled()
        offset = self._sent
        self._sent += len(fresh)
        if not fresh:
            return None
        return {
            "round": 0,
            "step": None,
            "attempt": self._attempt,
            "offset": offset,
            "text": fresh,
            "reasoning": "",
        }

    def _drop_settled(self) -> None:
        """Forget what is settled, but for one character: whether a name
        can begin there depends on it."""
        count = max(0, self._end - 1)
        self._kept = self._kept[count:]
        self._dropped += count
        self._end -= count


@database_sync_to_async  # type: ignore[untyped-decorator]
def _access(
    scope: Any, comparison_id: uuid.UUID
) -> tuple[ComparisonView, NameMask | None, Principal]:
    """Return a comparison as the scope's user may see it. Raises: NotFound.

    With it comes what hides names. None: nothing is hidden.
    """
    comparison, principal = found_for_member(
        scope,
        lambda team_id: access_comparison(team_id=team_id, comparison_id=comparison_id),
    )
    view = comparison_view(comparison, principal.actor)
    run_ids = [each.run.id for each in view.answers]
    mask = None if view.is_revealed else name_mask(comparison.team_id, run_ids)
    return view, mask, principal


@database_sync_to_async  # type: ignore[untyped-decorator]
def _answering_place(run: Run) -> tuple[int, int] | None:
    final = run_view(run).final_step
    return None if final is None else (final.round, final.index)
