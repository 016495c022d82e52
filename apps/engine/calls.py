"""One outbound call: metered, timed, watched, and settled however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.messages import ends_in_beginning, estimate_input, estimate_tools
from apps.engine.meter import CallReservation, Meter, StepShare
from apps.engine.ports import Call, CallEnd, Delta, ModelClient, ToolCallPart
from apps.engine.tool_calls import FINISHED, ToolCallAssembly
from apps.engine.usage import Cost, Price, Usage, estimate_tokens

_BILLED_WITHOUT_TEXT = frozenset(
    {
        CallFault.FIRST_BYTE_TIMEOUT,
        CallFault.FIRST_TOKEN_TIMEOUT,
        CallFault.IDLE_TIMEOUT,
        CallFault.TOTAL_TIMEOUT,
        CallFault.CANCELLED,
    }
)
"""The provider was at work when we left, so it will bill the input at least."""


class Target(NamedTuple):
    """What a call to a model costs and how long its answer may be."""

    price: Price | None
    max_output_tokens: int


@dataclass(slots=True)
class Attempt:
    """What one call brought, complete or not."""

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    stop_sequence: str = ""
    """Which of the call's stop sequences ended the text, if the provider says so."""
    refusal: str = ""
    """Why the text ends, if it was refused and somebody says why."""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    latency_ms: int = 0
    first_token_ms: int | None = None
    tool_calls: list[ToolCallPart] = field(default_factory=list)
    """Put together from their pieces, in order; only if tools were offered."""
    vectors: tuple[bytes, ...] = ()
    """Of an embedding worker."""
    written_calls: str = ""
    """Names and arguments of calls as far as they came, for estimates."""

    @property
    def cost_micros(self) -> int | None:
        """Return the cost in micro-dollars, None if the price is unknown."""
        return None if self.cost.has_unknown else self.cost.micros


class AttemptFailed(Exception):
    """A call failed after it had been reserved; carries what it brought and cost."""

    def __init__(self, failure: CallFailed, attempt: Attempt) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.attempt = attempt

    def reason(self) -> BaseException:
        """Return what goes on from here: the failure, or the cancellation itself."""
        if self.failure.fault is CallFault.CANCELLED:
            return asyncio.CancelledError()
        return self.failure


class ModelCalls:
    """Makes the calls of one run, a limited number at a time."""

    def __init__(self, client: ModelClient, limits: Limits, meter: Meter) -> None:
        self._client = client
        self._meter = meter
        self._slots = asyncio.Semaphore(limits.max_in_flight)

    async def call(
        self,
        call: Call,
        target: Target,
        announce: Callable[[], Awaitable[None]],
        on_delta: Callable[[Delta], None],
        share: Callable[[], StepShare | None] = lambda: None,
    ) -> Attempt:
        """Wait for a free slot, announce the call, make it, return its whole answer.

        `announce` makes the call's start durable; if it raises, no call is made.
        `share` says, once there is a slot, what of the run's money is the call's.
        Raises: LimitReached before the announcement; what `announce` raises;
        AttemptFailed, also when cancelled from outside (fault "cancelled"): whoever
        asked then records the attempt and lets the cancellation go on.
        """
        async with self._slots:
            held = self._reserve(call, target, share())
            try:
                await announce()
            except asyncio.CancelledError:
                raise self._settled(_closed(), Attempt(), held, target) from None
            except BaseException:
                self._meter.release(held)
                raise
            return await self._perform(call, target, held, on_delta)

    def _reserve(
        self, call: Call, target: Target, share: StepShare | None
    ) -> CallReservation:
        return self._meter.reserve(
            input_tokens=_estimate_read(call),
            wanted_output=call.params.max_tokens or target.max_output_tokens,
            price=target.price,
            share=share,
        )

    async def _perform(
        self,
        call: Call,
        target: Target,
        held: CallReservation,
        on_delta: Callable[[Delta], None],
    ) -> Attempt:
        if self._meter.is_bound:
            params = replace(call.params, max_tokens=held.output_tokens)
            call = replace(call, params=params)
        loop = asyncio.get_running_loop()
        started = loop.time()
        self._meter.begin(started)
        attempt = Attempt()
        usage: Usage | None = None
        failure: CallFailed | None = None
        try:
            usage = await self._read(call, attempt, on_delta, started)
        except CallFailed as exc:
            failure = _named(exc, call)
        except asyncio.CancelledError:
            failure = _closed()
        ended = loop.time()
        self._meter.end(ended)
        attempt.latency_ms = _ms(ended - started)
        attempt.usage = usage or _estimate(call, attempt, failure, held)
        if failure is not None:
            raise self._settled(failure, attempt, held, target)
        self._settle(attempt, held, target)
        return attempt

    async def _read(
        self,
        call: Call,
        attempt: Attempt,
        on_delta: Callable[[Delta], None],
        started: float,
    ) -> Usage | None:
        loop = asyncio.get_running_loop()
        answer = _Answer(has_tools=bool(call.params.tools))
        end: CallEnd | None = None
        try:
            async with aclosing(self._client.stream(call)) as stream:  # type: ignore[type-var]
                async for item in stream:
                    if isinstance(item, CallEnd):
                        end = item
                        continue
                    if attempt.first_token_ms is None and call.is_streamed:
                        attempt.first_token_ms = _ms(loop.time() - started)
                    on_delta(answer.feed(item))
        finally:
            answer.give(attempt)
        if end is None:
            raise CallFailed(CallFault.INCOMPLETE, "the stream ended without its end")
        attempt.tool_calls = answer.calls.finish()
        attempt.finish_reason = _finish_reason(end, attempt)
        if end.stop_sequence in call.params.stop:
            attempt.stop_sequence = end.stop_sequence
        attempt.model, attempt.vectors = end.model, end.vectors
        attempt.refusal = end.refusal
        return end.usage

    def _settled(
        self,
        failure: CallFailed,
        attempt: Attempt,
        held: CallReservation,
        target: Target,
    ) -> AttemptFailed:
        self._settle(attempt, held, target)
        return AttemptFailed(failure, attempt)

    def _settle(self, attempt: Attempt, held: CallReservation, target: Target) -> None:
        attempt.cost = self._meter.settle(held, attempt.usage, target.price)


class _Answer:
    """Collects what a call brings."""

    __slots__ = ("_has_tools", "_texts", "_thoughts", "calls")

    def __init__(self, *, has_tools: bool) -> None:
        self._has_tools = has_tools
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self.calls = ToolCallAssembly()

    def feed(self, delta: Delta) -> Delta:
        """Take a piece; return what of it counts."""
        if delta.tool_calls:
            if not self._has_tools:  # made up: nobody could answer such a call
                delta = delta._replace(tool_calls=())
            self.calls.feed(delta.tool_calls)
        if delta.text:
            self._texts.append(delta.text)
        if delta.reasoning:
            self._thoughts.append(delta.reasoning)
        return delta

    def give(self, attempt: Attempt) -> None:
        attempt.text, attempt.reasoning = "".join(self._texts), "".join(self._thoughts)
        attempt.written_calls = self.calls.written()


def _finish_reason(end: CallEnd, attempt: Attempt) -> str:
    """Return why the model stopped; not every server tells of calls that it made."""
    if attempt.tool_calls and end.finish_reason == "stop":
        return FINISHED
    if not attempt.tool_calls and end.finish_reason == FINISHED:
        return "stop"
    return end.finish_reason


def _named(failure: CallFailed, call: Call) -> CallFailed:
    """Return the failure by its proper name: providers have none for a prefill."""
    if failure.fault is CallFault.BAD_REQUEST and ends_in_beginning(call.messages):
        return CallFailed(CallFault.PREFILL_REFUSED, failure.message)
    return failure


def _closed() -> CallFailed:
    return CallFailed(CallFault.CANCELLED, "the call was closed by us")


def _estimate(
    call: Call, attempt: Attempt, failure: CallFailed | None, held: CallReservation
) -> Usage:
    """Estimate the usage of a call for which the provider gave none."""
    text = attempt.text + attempt.reasoning + attempt.written_calls + attempt.refusal
    if failure and not text and failure.fault not in _BILLED_WITHOUT_TEXT:
        return Usage()
    written = estimate_tokens(text) if text else 0
    # The model could not write more than it was allowed to.
    return Usage(
        _estimate_read(call), min(written, held.output_tokens), is_estimated=True
    )


def _estimate_read(call: Call) -> int:
    return estimate_input(call.messages) + estimate_tools(call.params.tools)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
