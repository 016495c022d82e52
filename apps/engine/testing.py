"""Fakes for tests of the engine and of what stands on it: scripted and recording.

`run_virtual` runs a coroutine on a loop whose clock jumps to the next timer, so a test
of minutes takes no time and needs no sleep.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from apps.engine.errors import CallFailed
from apps.engine.events import Event
from apps.engine.gate import OpenGate
from apps.engine.messages import estimate_input
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import (
    Ask,
    Call,
    CallEnd,
    Delta,
    PlanRequest,
    Ports,
    Progress,
    ToolCallDelta,
)
from apps.engine.usage import Usage

ResultT = TypeVar("ResultT")


class _VirtualSelector(selectors.DefaultSelector):
    """Never waits: tells its loop to move the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.advanced_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everything waits for something that never happens")
        if not ready and timeout:
            self.advanced_s += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own, starting at 0 seconds."""

    def __init__(self) -> None:
        self._virtual = _VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Return virtual seconds since the loop began."""
        return self._virtual.advanced_s


def run_virtual(main: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run `main` on a virtual clock. Raises: RuntimeError on a deadlock."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


class ScriptedPlanner:
    """Answers with the given plans, one per request; the last one repeats."""

    def __init__(self, *plans: Plan | None, asks: bool = False) -> None:
        self._plans = plans
        self._asks = asks
        self.requests: list[PlanRequest] = []

    @property
    def name(self) -> str:
        return "scripted"

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        self.requests.append(request)
        if self._asks:
            await ask(({"role": "user", "content": "plan"},), request.task.params)
        turn = len(request.rounds) + len(request.rejections)
        return self._plans[min(turn, len(self._plans) - 1)]


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """An answer piece by piece, and how it ends."""

    deltas: tuple[Delta, ...]
    end: CallEnd | CallFailed | None = field(default_factory=CallEnd)
    """None: the stream ends without its end marker. Missing usage is filled in."""


def spoken(*texts: str, end: CallEnd | CallFailed | None = None) -> ScriptedAnswer:
    """Return an answer of these pieces; it is complete unless `end` says otherwise."""
    return ScriptedAnswer(tuple(Delta(text) for text in texts), end or CallEnd())


def calling(*calls: tuple[str, str], text: str = "") -> ScriptedAnswer:
    """Return an answer that calls tools, given as (name, arguments).

    Each call comes in three pieces: its name, then its arguments in halves.
    """
    deltas = [Delta(text)] if text else []
    for index, (name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        pieces = (
            ToolCallDelta(index, f"given_{index}", name),
            ToolCallDelta(index, arguments=arguments[:half]),
            ToolCallDelta(index, arguments=arguments[half:]),
        )
        deltas += [Delta(tool_calls=(piece,)) for piece in pieces]
    return ScriptedAnswer(tuple(deltas), CallEnd(finish_reason="tool_calls"))


Answerer = Callable[[Call, int], str | CallFailed | ScriptedAnswer]


@dataclass
class ScriptedClient:
    """Answers calls by a function of the call and its number for that worker."""

    answer: Answerer = lambda call, number: f"{call.worker} says {number}"
    delay_s: Callable[[Call, int], float] = lambda call, number: 0.1
    price_usage: Callable[[Call, str], Usage] | None = None
    calls: list[Call] = field(default_factory=list)
    closed: int = 0
    """Streams that were left before their end."""
    in_flight: int = 0
    max_in_flight: int = 0

    async def stream(self, call: Call) -> AsyncIterator[Delta | CallEnd]:
        number = sum(1 for c in self.calls if c.worker == call.worker)
        self.calls.append(call)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        is_whole = False
        try:
            answer = _whole(self.answer(call, number))
            gap_s = self.delay_s(call, number) / max(2, len(answer.deltas))
            for delta in answer.deltas:
                await asyncio.sleep(gap_s)
                yield delta
            if not answer.deltas:
                await asyncio.sleep(gap_s)
            is_whole = True
            if isinstance(answer.end, CallFailed):
                raise answer.end
            if answer.end is not None:
                yield self._ended(call, answer, answer.end)
        finally:
            self.in_flight -= 1
            self.closed += not is_whole

    def _ended(self, call: Call, answer: ScriptedAnswer, end: CallEnd) -> CallEnd:
        text = "".join(delta.text for delta in answer.deltas)
        usage = end.usage or self._usage(call, text)
        return replace(end, usage=usage, model=end.model or "scripted")

    def _usage(self, call: Call, text: str) -> Usage:
        if self.price_usage is not None:
            return self.price_usage(call, text)
        read = estimate_input(call.messages)
        limit = call.params.max_tokens
        written = len(text) if limit is None else min(len(text), limit)
        return Usage(read, written)


def _whole(answer: str | CallFailed | ScriptedAnswer) -> ScriptedAnswer:
    if isinstance(answer, ScriptedAnswer):
        return answer
    if isinstance(answer, CallFailed):
        return ScriptedAnswer((), answer)
    half = len(answer) // 2
    return spoken(answer[:half], answer[half:])


@dataclass
class MemoryRecorder:
    """Keeps events in a list, after a delay, in the order they came; may fail."""

    delay_s: float = 0.001
    fails_at: int | None = None
    """Number of the commit (from 0) that raises `error`."""
    error: Exception = field(default_factory=lambda: OSError("disk full"))
    events: list[Event] = field(default_factory=list)
    commits: int = 0
    _arrived: list[tuple[Event, ...]] = field(default_factory=list)

    async def record(self, *events: Event) -> None:
        number, self.commits = self.commits, self.commits + 1
        if number == self.fails_at:
            raise self.error
        self._arrived.append(events)
        try:
            await asyncio.sleep(self.delay_s)
        finally:
            while events in self._arrived:
                self.events.extend(self._arrived.pop(0))


@dataclass
class MemoryProgress:
    """Keeps all signals."""

    pieces: list[Progress] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def emit(self, progress: Progress) -> None:
        self.pieces.append(progress)

    def event(self, event: Event) -> None:
        self.events.append(event)

    @property
    def answer(self) -> str:
        """Return what went out as the answer."""
        return "".join(piece.answer for piece in self.pieces)


def make_plan(*steps: tuple[str, Sequence[int]]) -> Plan:
    """Return a plan from (worker, access) pairs."""
    return Plan(
        tuple(
            PlannedStep(f"subtask {index}", worker, tuple(access))
            for index, (worker, access) in enumerate(steps)
        )
    )


def make_ports(**given: Any) -> Ports:
    """Return ports made of fakes, with `given` ones in their place."""
    fakes: dict[str, Any] = {
        "planner": ScriptedPlanner(make_plan(("a", ()))),
        "client": ScriptedClient(),
        "recorder": MemoryRecorder(),
        "gate": OpenGate(),
        "progress": MemoryProgress(),
    }
    return Ports(**{**fakes, **given})
