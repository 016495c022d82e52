"""Starts runs below the API, on the loop of a running site, for tests."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from apps.engine import events as ev
from apps.engine.messages import question_of
from apps.engine.ports import Messages, Progress
from apps.runs.execution.executor import get_executor
from apps.runs.services import run_start
from apps.runs.types import RunOrder, RunSummary, Signal
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.patience import PATIENCE_S

ResultT = TypeVar("ResultT")


def on_loop(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Do `work` on the loop of the site and return its result."""
    loop = get_executor().loop
    return asyncio.run_coroutine_threadsafe(work, loop).result(PATIENCE_S)


@dataclass
class Heard:
    """A finished run and what a listener heard of it, in order."""

    summary: RunSummary
    signals: list[Signal] = field(default_factory=list)

    @property
    def pieces_before_the_end(self) -> str:
        """Return the answer's text that went out before its step was complete."""
        ends = [
            place
            for place, signal in enumerate(self.signals)
            if isinstance(signal, ev.StepCompleted)
        ]
        return "".join(
            signal.answer
            for signal in self.signals[: ends[-1]]
            if isinstance(signal, Progress)
        )


def order(cast: Cast, messages: Messages | str, **fields: Any) -> RunOrder:
    """Return an order of the team's: a conversation, or a plain question."""
    is_plain = isinstance(messages, str)
    return RunOrder(
        **{
            "team_id": cast.team.id,
            "actor": ACTOR,
            "prompt": messages if isinstance(messages, str) else question_of(messages),
            "messages": () if is_plain else messages,
            "model": "conductor-ultra",
            "source": "api",
            **fields,
        }
    )


def run(wanted: RunOrder, run_id: uuid.UUID | None = None) -> Heard:
    """Run an order to its end."""

    async def to_end() -> Heard:
        live = await run_start(wanted, run_id)
        signals: list[Signal] = []
        live.listen(signals.append)
        return Heard(await live.finished(), signals)

    return on_loop(to_end())
